// Each op is written the phase of its location: forward unless marked, so that what the backward pass computes again is the forward op.
// RUN: para-opt %s --para-attach-loss="loss=mse:target=t" --para-differentiate --para-apply-optimizer=optimizer=sgd --canonicalize --cse --para-tag-phases | FileCheck %s

// CHECK: para.dot %{{.*}} contract [1] x [0] {para.phase = #para<phase forward>}
// CHECK: para.extent %{{.*}} {para.phase = #para<phase forward>}
// CHECK-NOT: para.extent
// CHECK: para.add_n %{{.*}} {para.phase = #para<phase backward>}
// CHECK: para.dot %{{.*}} contract [0] x [0] {para.phase = #para<phase backward>}
// CHECK: para.sqrt %{{.*}} {para.phase = #para<phase update>}
// CHECK: para.sub %{{.*}} {para.phase = #para<phase update>}
func.func @main(%x: tensor<4x3xf32> {para.kind = "input", para.name = "x", para.batch_dim = 0 : i64},
                %w: tensor<3x2xf32> {para.kind = "parameter", para.name = "fc.weight", para.trainable},
                %b: tensor<2xf32> {para.kind = "parameter", para.name = "fc.bias", para.trainable})
    -> (tensor<4x2xf32> {para.kind = "output", para.name = "y"}) attributes {para.batch = 4 : i64} {
  %0 = para.dot %x, %w batch [] x [] contract [1] x [0] : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
  %1 = para.broadcast %b [1] : tensor<2xf32> -> tensor<4x2xf32>
  %2 = para.add %0, %1 : tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}
