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

// -----

// What adds to a finished sum and serves nothing within a microbatch runs once, in the update; a term that is a sum over rows is the sum itself.
// CHECK-LABEL: func.func @main(
// CHECK: %[[SUM:.*]] = para.reduce sum %{{.*}} [0] {para.phase = #para<phase forward>
// CHECK-NOT: para.batch_term
// CHECK: para.add %[[SUM]], %{{.*}} {para.phase = #para<phase update>
module attributes {para.mesh = #para.mesh<["data", "microbatch"], [1, 2]>} {
  func.func @main(%x: tensor<4xf32> {para.kind = "input", para.name = "x", para.batch_dim = 0 : i64, para.sharding = #para.sharding<[["microbatch"]]>},
                  %w: tensor<f32> {para.kind = "parameter", para.name = "w", para.trainable})
      -> (tensor<f32> {para.kind = "output", para.name = "loss"}) attributes {para.batch = 4 : i64} {
    %rows = para.broadcast %w [] {para.phase = #para<phase forward>, para.split = #para.sharding<[[]]>} : tensor<f32> -> tensor<4xf32>
    %h = para.mul %rows, %x {para.phase = #para<phase forward>, para.split = #para.sharding<[["microbatch"]]>} : tensor<4xf32>
    %0 = para.reduce sum %h [0] {para.phase = #para<phase forward>, para.split = #para.sharding<[["microbatch"]]>} : tensor<4xf32> -> tensor<f32>
    %1 = para.batch_term 0 %0 {para.phase = #para<phase forward>, para.split = #para.sharding<[], partial = ["microbatch"] sum>} : tensor<f32>
    %2 = para.mul %w, %w {para.phase = #para<phase forward>, para.split = #para.sharding<[]>} : tensor<f32>
    %3 = para.add %1, %2 {para.phase = #para<phase forward>, para.split = #para.sharding<[]>} : tensor<f32>
    return %3 : tensor<f32>
  }
}

// -----

// The square root of a sum is needed by the backward pass of each microbatch: it is its own there, and the term of the loss is their mean.
// CHECK-LABEL: func.func @main(
// CHECK: %[[SUM:.*]] = para.reduce sum %{{.*}} [0] {para.local = ["microbatch"]
// CHECK: %[[ROOT:.*]] = para.sqrt %[[SUM]]
// CHECK: %[[ROWS:.*]] = para.broadcast %[[ROOT]] [] {{.*}} : tensor<f32> -> tensor<4xf32>
// CHECK: %[[TOTAL:.*]] = para.reduce sum %[[ROWS]] [0] {para.phase = #para<phase forward>
// CHECK: %[[LOSS:.*]] = para.div %[[TOTAL]], %{{.*}} partial = ["microbatch"] sum>
// CHECK: %[[SEED:.*]] = para.reduce sum %{{.*}} [0] {para.local = ["microbatch"], para.phase = #para<phase backward>
// CHECK: %[[SHARE:.*]] = para.div %[[SEED]]
// CHECK: para.div %[[SHARE]], %[[ROOT]]
// CHECK: return %[[LOSS]]
// expected-remark @+2 {{takes statistics over the batch: with 2 microbatches they are those of each microbatch, serially and in parallel}}
module attributes {para.mesh = #para.mesh<["data", "microbatch"], [1, 2]>} {
  func.func @main(%x: tensor<4xf32> {para.kind = "input", para.name = "x", para.batch_dim = 0 : i64, para.sharding = #para.sharding<[["microbatch"]]>},
                  %w: tensor<f32> {para.kind = "parameter", para.name = "w", para.trainable})
      -> (tensor<f32> {para.kind = "output", para.name = "loss"}, tensor<f32> {para.kind = "gradient", para.name = "w"}) attributes {para.batch = 4 : i64} {
    %one = para.constant {para.phase = #para<phase backward>} dense<1.0> : tensor<f32>
    %rows = para.broadcast %w [] {para.phase = #para<phase forward>, para.split = #para.sharding<[[]]>} : tensor<f32> -> tensor<4xf32>
    %h = para.mul %rows, %x {para.phase = #para<phase forward>, para.split = #para.sharding<[["microbatch"]]>} : tensor<4xf32>
    %0 = para.reduce sum %h [0] {para.phase = #para<phase forward>, para.split = #para.sharding<[["microbatch"]]>} : tensor<4xf32> -> tensor<f32>
    %1 = para.sqrt %0 {para.phase = #para<phase forward>, para.split = #para.sharding<[]>} : tensor<f32>
    %2 = para.batch_term 0 %1 {para.phase = #para<phase forward>, para.split = #para.sharding<[]>} : tensor<f32>
    %3 = para.batch_term 0 %one {para.phase = #para<phase backward>, para.split = #para.sharding<[]>} : tensor<f32>
    %4 = para.div %3, %1 {para.phase = #para<phase backward>, para.split = #para.sharding<[]>} : tensor<f32>
    %5 = para.broadcast %4 [] {para.phase = #para<phase backward>, para.split = #para.sharding<[[]]>} : tensor<f32> -> tensor<4xf32>
    %6 = para.mul %5, %x {para.phase = #para<phase backward>, para.split = #para.sharding<[["microbatch"]]>} : tensor<4xf32>
    %7 = para.reduce sum %6 [0] {para.phase = #para<phase backward>, para.split = #para.sharding<[["microbatch"]]>} : tensor<4xf32> -> tensor<f32>
    return %2, %7 : tensor<f32>, tensor<f32>
  }
}
