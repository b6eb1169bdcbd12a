// Each stage gets its ops, its parameters and what is sent to it; sums over microbatches are there once all have run.
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=sgd:lr=0.1" --para-apply-plan="pipeline=2 microbatches=2" --para-partition-pipeline --para-split-stages | FileCheck %s

// CHECK: func.func @stage0(%[[A:.*]]: tensor<4x4xf32> {{[^%]*}}para.name = "a"
// CHECK-SAME: tensor<2x4xf32> {{[^%]*}}para.name = "x"
// CHECK-NOT: para.name = "b"
// CHECK: %[[R:.*]] = para.relu
// CHECK: para.send %[[R]] to 1 tag [[ACT:[0-9]+]] {para.phase = #para<phase forward>
// CHECK: para.recv from 1 tag [[GRAD:[0-9]+]] {para.phase = #para<phase backward>
// CHECK: %[[G:.*]] = para.accumulate %{{.*}} {para.phase = #para<phase backward>
// CHECK: para.sub %[[A]], %{{.*}} : tensor<4x4xf32>

// CHECK: func.func @stage1(%[[B:.*]]: tensor<4x4xf32> {{[^%]*}}para.name = "b"
// CHECK: para.recv from 0 tag [[ACT]] {para.phase = #para<phase forward>
// The loss of the step is the sum of those of the microbatches.
// CHECK: %[[LOSS:.*]] = para.accumulate %{{.*}} : tensor<f32>
// CHECK: para.send %{{.*}} to 0 tag [[GRAD]] {para.phase = #para<phase backward>
// CHECK: return %[[LOSS]],
func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.batch_dim = 0 : i64},
                %w: tensor<4x4xf32> {para.kind = "parameter", para.name = "a", para.trainable},
                %v: tensor<4x4xf32> {para.kind = "parameter", para.name = "b", para.trainable})
    -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) attributes {para.batch = 4 : i64} {
  %0 = para.dot %x, %w batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32> loc("first")
  %1 = para.relu %0 : tensor<4x4xf32> loc("first")
  %2 = para.dot %1, %v batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32> loc("second")
  return %2 : tensor<4x4xf32>
}
