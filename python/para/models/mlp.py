"""A multilayer perceptron and a small residual network with batch normalization."""

from onnx import TensorProto

from .builder import Graph


def mlp(layers=2, hidden=64, inputs=16, classes=10, batch="batch"):
    """x [batch, inputs] -> ReLU layers -> cross entropy with `labels` [batch]."""
    g = Graph("mlp")
    x = g.input("x", [batch, inputs])
    labels = g.input("labels", [batch], TensorProto.INT64)
    size = inputs
    for i in range(layers):
        y = g.op("Gemm", x, g.weight(f"layers.{i}.weight", [hidden, size]), g.weight(f"layers.{i}.bias", [hidden], "zeros"), transB=1)
        x, size = g.op("Relu", y), hidden
    logits = g.op("Gemm", x, g.weight("head.weight", [classes, size]), g.weight("head.bias", [classes], "zeros"), transB=1, name="logits")
    g.op("SoftmaxCrossEntropyLoss", logits, labels, name="loss", reduction="mean")
    g.output("loss", [])
    return g


def cnn(layers=2, hidden=16, image=16, classes=10, channels=3, batch="batch"):
    """image [batch, channels, image, image] -> residual blocks with batch statistics -> cross entropy."""
    g = Graph("cnn", opset=17)
    x = g.input("image", [batch, channels, image, image])
    labels = g.input("labels", [batch], TensorProto.INT64)

    def conv(x, name, inner, outer, stride=1):
        window = dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[stride, stride])
        y = g.op("Conv", x, g.weight(f"{name}.conv.weight", [outer, inner, 3, 3]), **window)
        parts = [g.weight(f"{name}.norm.{part}", [outer], start)
                 for part, start in (("weight", "ones"), ("bias", "zeros"), ("running_mean", "zeros"), ("running_var", "ones"))]
        return g.op("BatchNormalization", y, *parts, outputs=3, training_mode=1, momentum=0.9, epsilon=1e-5)[0]

    x = g.op("Relu", conv(x, "stem", channels, hidden))
    for i in range(layers):
        y = g.op("Relu", conv(x, f"blocks.{i}.0", hidden, hidden))
        x = g.op("Relu", g.op("Add", x, conv(y, f"blocks.{i}.1", hidden, hidden)))
    x = g.op("Flatten", g.op("GlobalAveragePool", x), axis=1)
    logits = g.op("Gemm", x, g.weight("head.weight", [classes, hidden]), g.weight("head.bias", [classes], "zeros"), transB=1, name="logits")
    g.op("SoftmaxCrossEntropyLoss", logits, labels, name="loss", reduction="mean")
    g.output("loss", [])
    return g
