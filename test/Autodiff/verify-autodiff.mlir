// What the whole stage makes keeps its promises.
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=cross-entropy:labels=c optimizer=adamw" --para-verify-autodiff | FileCheck %s
// CHECK: para.updates = "fc.weight"
func.func @main(%x: tensor<4x3xf32> {para.kind = "input", para.name = "x", para.batch_dim = 0 : i64},
                %w: tensor<3x2xf32> {para.kind = "parameter", para.name = "fc.weight", para.trainable},
                %b: tensor<2xf32> {para.kind = "parameter", para.name = "fc.bias", para.trainable})
    -> (tensor<4x2xf32> {para.kind = "output", para.name = "y"}) attributes {para.batch = 4 : i64} {
  %0 = para.dot %x, %w batch [] x [] contract [1] x [0] : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
  %1 = para.broadcast %b [1] : tensor<2xf32> -> tensor<4x2xf32>
  %2 = para.add %0, %1 : tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}
