// A plan given by hand becomes a mesh, shardings of arguments, splits of ops and stages.
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=sgd:lr=0.1" --para-apply-plan="data=2" | FileCheck %s --check-prefix=DDP
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=momentum" --para-apply-plan="data=2 zero=1" | FileCheck %s --check-prefix=ZERO1
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=momentum" --para-apply-plan="data=2 zero=3" | FileCheck %s --check-prefix=ZERO3
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=sgd:lr=0.1" --para-apply-plan="tensor=2" | FileCheck %s --check-prefix=TENSOR
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=sgd:lr=0.1" --para-apply-plan="pipeline=2 microbatches=4" | FileCheck %s --check-prefix=STAGES
// RUN: sed 's/tensor<4x4xf32> {para.kind = "input"/tensor<1x4xf32> {para.kind = "input"/; s/4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>/1x4xf32>, tensor<4x4xf32> -> tensor<1x4xf32>/; s/: tensor<4x4xf32> loc/: tensor<1x4xf32> loc/; s/(tensor<4x4xf32> {para.kind = "output"/(tensor<1x4xf32> {para.kind = "output"/; s/return %2 : tensor<4x4xf32>/return %2 : tensor<1x4xf32>/; s/batch = 4/batch = 1/' %s > %t.one.mlir
// RUN: para-opt %t.one.mlir --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=sgd:lr=0.1" --para-apply-plan="data=2" --para-partition-pipeline | FileCheck %s --check-prefix=ONE

// One sample has no loop that could be cut: all ranks have it, and send nothing.
// ONE: func.func @main(%arg0: tensor<1x4xf32> {{{[^}]*}}para.name = "x", para.sharding = #para.sharding<{{\[\[\], \[\]\]}}>
// ONE-NOT: para.all_

// The batch is cut, parameters are whole; a product of cut rows is cut, a sum over the batch is a partial sum.
// DDP: para.mesh = #para.mesh<["pipeline", "data", "tensor", "microbatch"], [1, 2, 1, 1]>
// DDP: para.name = "x", para.sharding = #para.sharding<{{\[\[}}"data"], []]>
// DDP-SAME: para.name = "a", para.sharding = #para.sharding<{{\[\[\], \[\]\]}}>
// DDP: para.dot %arg0, %arg1 {{.*}} para.split = #para.sharding<{{\[\[\], \["data"\], \[\]\]}}>
// DDP: para.div %{{.*}}para.partial_operand = 0 : i64, {{.*}} partial = ["data"] sum>

// ZeRO-1 cuts the state and not the parameter, ZeRO-3 both.
// ZERO1: para.name = "a", para.sharding = #para.sharding<{{\[\[\], \[\]\]}}>
// ZERO1-SAME: para.name = "a/momentum", para.sharding = #para.sharding<{{.*}}"data"
// ZERO3: para.name = "a", para.sharding = #para.sharding<{{\[(\[\], )?\["data"\](, \[\])?\]}}>
// ZERO3-SAME: para.name = "a/momentum", para.sharding = #para.sharding<{{.*}}"data"

// The first weight is cut by columns, the second by rows: what is between stays cut.
// TENSOR: para.name = "a", para.sharding = #para.sharding<{{\[\[\], \["tensor"\]\]}}>
// TENSOR-SAME: para.name = "b", para.sharding = #para.sharding<{{\[\["tensor"\], \[\]\]}}>
// TENSOR: para.relu %{{.*}} para.split = #para.sharding<{{\[\[\], \["tensor"\]\]}}>

// Nodes keep their order over stages, and a parameter lives where it is used.
// STAGES: [2, 1, 1, 4]>
// STAGES: para.name = "a", para.sharding = {{[^%]*}} para.stage = 0
// STAGES-SAME: para.name = "b", para.sharding = {{[^%]*}} para.stage = 1
// STAGES: para.relu %{{.*}} para.stage = 0
func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.batch_dim = 0 : i64},
                %w: tensor<4x4xf32> {para.kind = "parameter", para.name = "a", para.trainable},
                %v: tensor<4x4xf32> {para.kind = "parameter", para.name = "b", para.trainable})
    -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) attributes {para.batch = 4 : i64} {
  %0 = para.dot %x, %w batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32> loc("first")
  %1 = para.relu %0 : tensor<4x4xf32> loc("first")
  %2 = para.dot %1, %v batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32> loc("second")
  return %2 : tensor<4x4xf32>
}
