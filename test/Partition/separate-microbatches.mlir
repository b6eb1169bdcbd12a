// Counts become constants; with microbatches, statistics over the batch that depend on parameters are of the microbatch, which is said once.
// RUN: para-opt %s --split-input-file --verify-diagnostics --para-separate-microbatches | FileCheck %s

// One microbatch: the count of the whole batch.
// CHECK-LABEL: func.func @main(
// CHECK: para.constant {{.*}}dense<8.000000e+00> : tensor<f32>
// CHECK-NOT: para.extent
module attributes {para.mesh = #para.mesh<["data", "microbatch"], [2, 1]>} {
  func.func @main(%x: tensor<4x2xf32> {para.kind = "input", para.name = "x", para.batch_dim = 0 : i64, para.sharding = #para.sharding<[["data"], []]>})
      -> (tensor<f32> {para.kind = "output", para.name = "loss"}) attributes {para.batch = 4 : i64} {
    %0 = para.reduce sum %x [0, 1] {para.phase = #para<phase forward>, para.split = #para.sharding<[["data"], []]>} : tensor<4x2xf32> -> tensor<f32>
    %1 = para.extent %x [0, 1] {para.phase = #para<phase forward>, para.split = #para.sharding<[[], []]>} : tensor<4x2xf32> -> tensor<f32>
    %2 = para.div %0, %1 {para.phase = #para<phase forward>, para.split = #para.sharding<[], partial = ["data"] sum>, para.partial_operand = 0 : i64} : tensor<f32>
    return %2 : tensor<f32>
  }
}
