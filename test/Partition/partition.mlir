// The program of one rank has local shapes, and each reshard is an op of its own.
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=sgd:lr=0.1" --para-apply-plan="data=2" --para-partition-pipeline | FileCheck %s --check-prefix=DDP
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=sgd:lr=0.1" --para-apply-plan="data=2 zero=1" --para-partition-pipeline | FileCheck %s --check-prefix=ZERO1
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=sgd:lr=0.1" --para-apply-plan="tensor=2" --para-partition-pipeline | FileCheck %s --check-prefix=TENSOR
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=sgd:lr=0.1" --para-apply-plan="data=3" --para-partition-pipeline | FileCheck %s --check-prefix=UNEVEN

// Serial @main stays as the reference.
// DDP: func.func @main(
// DDP: func.func @spmd(%{{.*}}: tensor<2x4xf32> {{.*}}para.global = tensor<4x4xf32>{{.*}}para.name = "x"
// DDP: para.dot %arg0, %arg1 {{.*}}para.origin = {{[0-9]+}} : i64{{.*}} : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
// The count is of the global batch, whatever a rank has of it.
// DDP: dense<1.600000e+01>
// DDP-DAG: para.all_reduce sum {{.*}} ["data"] {{.*}} : tensor<4x4xf32> -> tensor<4x4xf32>
// DDP-DAG: para.all_reduce sum {{.*}} ["data"] {{.*}} : tensor<f32> -> tensor<f32>
// DDP-NOT: para.all_gather

// ZERO1: func.func @spmd
// ZERO1: para.reduce_scatter sum %{{.*}} "data" {{.*}} : tensor<4x4xf32> -> tensor<{{2x4|4x2}}xf32>
// ZERO1: para.all_gather %{{.*}} "data" {{.*}} -> tensor<4x4xf32>

// Megatron's pair of products: one all-reduce behind the second, none between.
// TENSOR: func.func @spmd
// TENSOR: para.dot {{.*}} : tensor<4x4xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
// TENSOR-NEXT: para.relu
// TENSOR-NEXT: para.dot {{.*}} : tensor<4x2xf32>, tensor<2x4xf32> -> tensor<4x4xf32>
// TENSOR-NEXT: para.all_reduce sum {{.*}} ["tensor"] {{.*}} : tensor<4x4xf32> -> tensor<4x4xf32>

// 4 rows over 3 ranks are 2 a rank; where a sum would read the padding it is masked.
// UNEVEN: func.func @spmd(%{{.*}}: tensor<2x4xf32> {{.*}}para.global = tensor<4x4xf32>{{.*}}para.name = "x"
// UNEVEN: %[[M:.*]] = para.mask sum %{{.*}} 0 ["data"] 4 1
// UNEVEN: para.reduce sum %[[M]] [0, 1]
func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.batch_dim = 0 : i64},
                %w: tensor<4x4xf32> {para.kind = "parameter", para.name = "a", para.trainable},
                %v: tensor<4x4xf32> {para.kind = "parameter", para.name = "b", para.trainable})
    -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) attributes {para.batch = 4 : i64} {
  %0 = para.dot %x, %w batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32> loc("first")
  %1 = para.relu %0 : tensor<4x4xf32> loc("first")
  %2 = para.dot %1, %v batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32> loc("second")
  return %2 : tensor<4x4xf32>
}
