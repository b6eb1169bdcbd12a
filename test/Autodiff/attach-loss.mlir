// A criterion over the only float output makes the loss, and its labels an input; a named output is the loss as it is.
// RUN: para-opt %s --para-attach-loss="loss=mse:target=t" | FileCheck %s --check-prefix=MSE
// RUN: para-opt %s --para-attach-loss="loss=l1:target=t" | FileCheck %s --check-prefix=L1
// RUN: para-opt %s --para-attach-loss="loss=bce:target=t" | FileCheck %s --check-prefix=BCE
// RUN: para-opt %s --para-attach-loss="loss=cross-entropy:labels=c,ignore=7,smoothing=0.25" | FileCheck %s --check-prefix=CE
// RUN: para-opt %s --para-attach-loss="loss=mse:target=t" | para-opt --para-attach-loss | FileCheck %s --check-prefix=MSE

// MSE: %[[T:arg[0-9]+]]: tensor<4x2xf32> {para.batch_dim = 0 : i64, para.kind = "input", para.name = "t"}) -> (tensor<f32> {para.kind = "output", para.name = "loss"})
// MSE: %[[D:.*]] = para.sub %{{.*}}, %[[T]] : tensor<4x2xf32>
// MSE: %[[S:.*]] = para.mul %[[D]], %[[D]]
// MSE: %[[SUM:.*]] = para.reduce sum %[[S]] [0, 1]
// A mean divides by a count that is known only once a batch is: no constant.
// MSE: %[[N:.*]] = para.extent %[[S]] [0, 1]
// MSE: %[[L:.*]] = para.div %[[SUM]], %[[N]] : tensor<f32>
// MSE: return %[[L]] : tensor<f32>

// L1: para.sub
// L1: para.abs
// L1-NOT: para.mul
// L1: para.reduce sum

// BCE: para.abs
// BCE: para.exp
// BCE: para.log
// BCE: para.relu

// Ignored labels count neither in the sum nor in the divisor.
// CE: %[[C:arg[0-9]+]]: tensor<4xi64> {para.batch_dim = 0 : i64, para.kind = "input", para.name = "c"}
// CE: para.cross_entropy %{{.*}}, %[[C]] : tensor<4x2xf32>, tensor<4xi64> -> tensor<4xf32>
// CE: para.log_softmax
// CE: dense<7> : tensor<4xi64>
// CE: %[[V:.*]] = para.cast
// CE: para.reduce sum %[[V]] [0]
func.func @main(%x: tensor<4x3xf32> {para.kind = "input", para.name = "x", para.batch_dim = 0 : i64},
                %w: tensor<3x2xf32> {para.kind = "parameter", para.name = "fc.weight", para.trainable},
                %b: tensor<2xf32> {para.kind = "parameter", para.name = "fc.bias", para.trainable})
    -> (tensor<4x2xf32> {para.kind = "output", para.name = "y"}) attributes {para.batch = 4 : i64} {
  %0 = para.dot %x, %w batch [] x [] contract [1] x [0] : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
  %1 = para.broadcast %b [1] : tensor<2xf32> -> tensor<4x2xf32>
  %2 = para.add %0, %1 : tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}
