"""A multilayer perceptron and a small residual network with batch normalization."""

from onnx import TensorProto

from . import sizes
from .builder import Graph


def _classify(g, x, inner, classes, labels):
    weights = g.weight("head.weight", [classes, inner]), g.weight("head.bias", [classes], "zeros")
    g.op("SoftmaxCrossEntropyLoss", g.op("Gemm", x, *weights, name="logits", transB=1), labels, name="loss", reduction="mean")
    g.output("loss", [])
    return g


def mlp(layers=2, hidden=64, inputs=16, classes=10, batch="batch"):
    """A perceptron: x [batch, inputs] -> ReLU layers -> cross entropy with labels [batch]."""
    sizes.check(dict(batch=batch), layers=layers or 1, hidden=hidden, inputs=inputs, classes=classes)
    g = Graph("mlp")
    x, labels = g.input("x", [batch, inputs], TensorProto.FLOAT), g.input("labels", [batch])
    size = inputs
    for i in range(layers):
        with g.module(f"layers.{i}"):
            x = g.op("Relu", g.op("Gemm", x, g.weight("weight", [hidden, size]), g.weight("bias", [hidden], "zeros"), transB=1))
        size = hidden
    return _classify(g, x, size, classes, labels)


def cnn(layers=2, hidden=16, image=16, classes=10, channels=3, batch="batch"):
    """A residual network: image [batch, channels, image, image] -> blocks with batch statistics -> cross entropy with labels [batch]."""
    sizes.check(dict(batch=batch), layers=layers or 1, hidden=hidden, image=image, classes=classes, channels=channels)
    g = Graph("cnn", opset=17)
    x, labels = g.input("image", [batch, channels, image, image], TensorProto.FLOAT), g.input("labels", [batch])

    def conv(x, name, inner, outer):
        with g.module(name):
            y = g.op("Conv", x, g.weight("conv.weight", [outer, inner, 3, 3]), kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1])
            parts = [g.weight(f"norm.{part}", [outer], start, trained)
                     for part, start, trained in (("weight", "ones", True), ("bias", "zeros", True),
                                                  ("running_mean", "zeros", False), ("running_var", "ones", False))]
            return g.op("BatchNormalization", y, *parts, outputs=3, training_mode=1, momentum=0.9, epsilon=1e-5)[0]

    x = g.op("Relu", conv(x, "stem", channels, hidden))
    for i in range(layers):
        y = g.op("Relu", conv(x, f"blocks.{i}.0", hidden, hidden))
        x = g.op("Relu", g.op("Add", x, conv(y, f"blocks.{i}.1", hidden, hidden)))
    return _classify(g, g.op("Flatten", g.op("GlobalAveragePool", x), axis=1), hidden, classes, labels)
