// A plan that does not suit the program is refused.
// RUN: not para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=sgd:lr=0.1" --para-apply-plan="pipeline=9" 2>&1 | FileCheck %s
// CHECK: error: has {{[0-9]+}} nodes, which cannot make 9 pipeline stages
func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.batch_dim = 0 : i64},
                %w: tensor<4x4xf32> {para.kind = "parameter", para.name = "a", para.trainable},
                %v: tensor<4x4xf32> {para.kind = "parameter", para.name = "b", para.trainable})
    -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) attributes {para.batch = 4 : i64} {
  %0 = para.dot %x, %w batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32> loc("first")
  %1 = para.relu %0 : tensor<4x4xf32> loc("first")
  %2 = para.dot %1, %v batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32> loc("second")
  return %2 : tensor<4x4xf32>
}
