// Between tensor-parallel products the sequence is cut over `tensor`: the sum of a row-parallel product is finished into cut rows, a norm's sum
// works on its own rows, and the next product takes them whole. Backward alike.
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=sgd:lr=0.1" --para-apply-plan="tensor=2 sequence-parallel=true" --para-partition-pipeline -o %t.mlir
// RUN: FileCheck %s --check-prefix=PLAN < %t.mlir
// RUN: FileCheck %s --check-prefix=RANK < %t.mlir
// RUN: para-opt %t.mlir --para-schedule-pipeline --para-verify-pipeline -o %t.proved.mlir
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=sgd:lr=0.1" --para-apply-plan="tensor=2 sequence-parallel=true recompute=selective" --para-partition-pipeline -o %t.mlir
// RUN: FileCheck %s --check-prefix=AGAIN < %t.mlir
// RUN: para-opt %t.mlir --para-schedule-pipeline --para-verify-pipeline -o %t.proved.mlir
// RUN: not para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=sgd:lr=0.1" --para-apply-plan="data=2 sequence-parallel=true" 2>&1 | FileCheck %s --check-prefix=NONE

// Rows of 5 over 2 ranks are 3 and 2.
// PLAN: para.dot {{.*}}para.target = #para.sharding<{{\[\[\], \["tensor"\], \[\]\]}}>

// RANK-LABEL: func.func @spmd
// RANK: %[[ACT:.*]] = para.relu
// RANK-NEXT: %[[SUM:.*]] = para.dot %[[ACT]], %arg2
// RANK-NEXT: %[[ROWS:.*]] = para.reduce_scatter  sum %[[SUM]] 1 "tensor" {{.*}} tensor<2x5x4xf32> -> tensor<2x3x4xf32>
// RANK-NEXT: para.reduce  sum %[[ROWS]] [2] {{.*}} tensor<2x3x4xf32> -> tensor<2x3xf32>
// RANK: %[[NORMED:.*]] = para.sub %[[ROWS]]
// RANK: %[[WHOLE:.*]] = para.all_gather %[[NORMED]] 1 "tensor" {{.*}} tensor<2x3x4xf32> -> tensor<2x5x4xf32>
// RANK: para.dot %[[WHOLE]]
// RANK: para.reduce_scatter {{.*}}phase backward
// RANK: para.all_gather {{.*}}phase backward

// With recomputation the gathered rows are not kept: the weight's gradient gathers them again.
// AGAIN-LABEL: func.func @spmd
// AGAIN: %[[ROWS:.*]] = para.reduce_scatter
// AGAIN: %[[NORMED:.*]] = para.sub %[[ROWS]]
// AGAIN-NEXT: para.all_gather %[[NORMED]] 1 "tensor" {{.*}}phase forward
// AGAIN: %[[WHOLE:.*]] = para.all_gather %[[NORMED]] 1 "tensor" {{.*}}phase backward
// AGAIN-NEXT: para.dot %{{.*}}, %[[WHOLE]]

// NONE: error: {{.*}}has no product that is cut over `tensor`
func.func @main(%x: tensor<2x5x4xf32> {para.kind = "input", para.name = "x", para.batch_dim = 0 : i64},
                %a: tensor<4x8xf32> {para.kind = "parameter", para.name = "a", para.trainable},
                %b: tensor<8x4xf32> {para.kind = "parameter", para.name = "b", para.trainable},
                %c: tensor<4x8xf32> {para.kind = "parameter", para.name = "c", para.trainable},
                %d: tensor<8x4xf32> {para.kind = "parameter", para.name = "d", para.trainable})
    -> (tensor<2x5x4xf32> {para.kind = "output", para.name = "y"}) attributes {para.batch = 2 : i64} {
  %0 = para.dot %x, %a batch [] x [] contract [2] x [0] : tensor<2x5x4xf32>, tensor<4x8xf32> -> tensor<2x5x8xf32> loc("up")
  %1 = para.relu %0 : tensor<2x5x8xf32> loc("act")
  %2 = para.dot %1, %b batch [] x [] contract [2] x [0] : tensor<2x5x8xf32>, tensor<8x4xf32> -> tensor<2x5x4xf32> loc("down")
  %3 = para.reduce sum %2 [2] : tensor<2x5x4xf32> -> tensor<2x5xf32> loc("norm")
  %4 = para.broadcast %3 [0, 1] : tensor<2x5xf32> -> tensor<2x5x4xf32> loc("norm")
  %5 = para.sub %2, %4 : tensor<2x5x4xf32> loc("norm")
  %6 = para.dot %5, %c batch [] x [] contract [2] x [0] : tensor<2x5x4xf32>, tensor<4x8xf32> -> tensor<2x5x8xf32> loc("up2")
  %7 = para.relu %6 : tensor<2x5x8xf32> loc("act2")
  %8 = para.dot %7, %d batch [] x [] contract [2] x [0] : tensor<2x5x8xf32>, tensor<8x4xf32> -> tensor<2x5x4xf32> loc("down2")
  return %8 : tensor<2x5x4xf32>
}
