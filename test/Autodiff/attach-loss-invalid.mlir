// A loss that cannot be is an error which says what the model has.
// RUN: not para-opt %s --para-attach-loss 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: error: the model has 0 scalar float outputs: name the loss with --loss=OUTPUT, or attach one with --loss=cross-entropy:labels=NAME; outputs: y
// RUN: not para-opt %s --para-attach-loss="loss=z" 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: --loss=z is no output of the model; outputs: y
// RUN: not para-opt %s --para-attach-loss="loss=y" 2>&1 | FileCheck %s --check-prefix=SHAPE
// SHAPE: error: output 'y' is not a float scalar and cannot be the loss
// RUN: not para-opt %s --para-attach-loss="loss=mse" 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: error: --loss=mse needs the name of its input (mse:target=NAME)
// RUN: not para-opt %s --para-attach-loss="loss=cross-entropy:labels=x" 2>&1 | FileCheck %s --check-prefix=LABELS
// LABELS: error: input 'x' is 'tensor<4x3xf32>', --loss=cross-entropy needs 'tensor<4xi64>'
// RUN: not para-opt %s --para-attach-loss="loss=cross-entropy:labels=c,smoothing=much" 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: error: 'much' is not a number (cross-entropy:smoothing)
// RUN: not para-opt %s --para-attach-loss="loss=mse:target" 2>&1 | FileCheck %s --check-prefix=FORM
// FORM: error: 'target' in 'mse:target' is not of the form key=value
func.func @main(%x: tensor<4x3xf32> {para.kind = "input", para.name = "x", para.batch_dim = 0 : i64},
                %w: tensor<3x2xf32> {para.kind = "parameter", para.name = "fc.weight", para.trainable},
                %b: tensor<2xf32> {para.kind = "parameter", para.name = "fc.bias", para.trainable})
    -> (tensor<4x2xf32> {para.kind = "output", para.name = "y"}) attributes {para.batch = 4 : i64} {
  %0 = para.dot %x, %w batch [] x [] contract [1] x [0] : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
  %1 = para.broadcast %b [1] : tensor<2xf32> -> tensor<4x2xf32>
  %2 = para.add %0, %1 : tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}
