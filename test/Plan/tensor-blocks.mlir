// A weight that is several in one (queries, keys and values; gate and up) is cut within each of them, also over as many ranks as there are of them.
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=sgd:lr=0.1" --para-apply-plan="tensor=3" | FileCheck %s
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=sgd:lr=0.1" --para-apply-plan="tensor=2" | FileCheck %s
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=sgd:lr=0.1" --para-apply-plan="tensor=3" --para-partition-pipeline --para-schedule-pipeline --para-verify-pipeline | FileCheck %s --check-prefix=PROVED

// Slices are blocks of the dimension: three of them here, two of them below.
// CHECK: para.name = "qkv", para.sharding = #para.sharding<{{\[\[\], \["tensor"\]\], blocks = \[1, 3\]}}>
// CHECK-SAME: para.name = "out", para.sharding = #para.sharding<{{\[\["tensor"\], \[\]\]}}>
// CHECK-SAME: para.name = "gate_up", para.sharding = #para.sharding<{{\[\[\], \["tensor"\]\], blocks = \[1, 2\]}}>
// CHECK-SAME: para.name = "down", para.sharding = #para.sharding<{{\[\["tensor"\], \[\]\]}}>

// One dimension of three and then heads: the heads are cut, as the three are told apart.
// CHECK-SAME: para.name = "other", para.sharding = #para.sharding<{{\[\[\], \["tensor"\]\], blocks = \[1, 3\]}}>

// What lies between the products is cut, too.
// CHECK: para.mul %{{.*}} para.split = #para.sharding<{{\[\[\], \["tensor"\]\]}}>{{.*}} : tensor<4x12xf32>

// Each rank has four columns of each of the three, and four rows of what follows.
// PROVED: para.dot %{{.*}} : tensor<4x12xf32>, tensor<12x12xf32> -> tensor<4x12xf32>
// PROVED: para.slice %{{.*}} [0, 4] {{.*}} : tensor<4x12xf32> -> tensor<4x4xf32>
// PROVED: para.dot %{{.*}} : tensor<4x4xf32>, tensor<4x12xf32> -> tensor<4x12xf32>
func.func @main(%x: tensor<4x12xf32> {para.kind = "input", para.name = "x", para.batch_dim = 0 : i64},
                %qkv: tensor<12x36xf32> {para.kind = "parameter", para.name = "qkv", para.trainable},
                %out: tensor<12x12xf32> {para.kind = "parameter", para.name = "out", para.trainable},
                %gate_up: tensor<12x24xf32> {para.kind = "parameter", para.name = "gate_up", para.trainable},
                %down: tensor<12x12xf32> {para.kind = "parameter", para.name = "down", para.trainable},
                %other: tensor<12x36xf32> {para.kind = "parameter", para.name = "other", para.trainable},
                %last: tensor<12x12xf32> {para.kind = "parameter", para.name = "last", para.trainable})
    -> (tensor<4x12xf32> {para.kind = "output", para.name = "y"}) attributes {para.batch = 4 : i64} {
  %0 = para.dot %x, %qkv batch [] x [] contract [1] x [0] : tensor<4x12xf32>, tensor<12x36xf32> -> tensor<4x36xf32> loc("attention")
  %q = para.slice %0 [0, 0] [1, 1] : tensor<4x36xf32> -> tensor<4x12xf32> loc("attention")
  %k = para.slice %0 [0, 12] [1, 1] : tensor<4x36xf32> -> tensor<4x12xf32> loc("attention")
  %v = para.slice %0 [0, 24] [1, 1] : tensor<4x36xf32> -> tensor<4x12xf32> loc("attention")
  %1 = para.mul %q, %k : tensor<4x12xf32> loc("attention")
  %2 = para.mul %1, %v : tensor<4x12xf32> loc("attention")
  %3 = para.dot %2, %out batch [] x [] contract [1] x [0] : tensor<4x12xf32>, tensor<12x12xf32> -> tensor<4x12xf32> loc("attention")
  %4 = para.dot %3, %gate_up batch [] x [] contract [1] x [0] : tensor<4x12xf32>, tensor<12x24xf32> -> tensor<4x24xf32> loc("mlp")
  %gate = para.slice %4 [0, 0] [1, 1] : tensor<4x24xf32> -> tensor<4x12xf32> loc("mlp")
  %up = para.slice %4 [0, 12] [1, 1] : tensor<4x24xf32> -> tensor<4x12xf32> loc("mlp")
  %5 = para.mul %gate, %up : tensor<4x12xf32> loc("mlp")
  %6 = para.dot %5, %down batch [] x [] contract [1] x [0] : tensor<4x12xf32>, tensor<12x12xf32> -> tensor<4x12xf32> loc("mlp")
  %7 = para.dot %6, %other batch [] x [] contract [1] x [0] : tensor<4x12xf32>, tensor<12x36xf32> -> tensor<4x36xf32> loc("heads")
  %8 = para.reshape %7 : tensor<4x36xf32> -> tensor<4x3x12xf32> loc("heads")
  %a = para.slice %8 [0, 0, 0] [1, 1, 1] : tensor<4x3x12xf32> -> tensor<4x1x12xf32> loc("heads")
  %b = para.slice %8 [0, 2, 0] [1, 1, 1] : tensor<4x3x12xf32> -> tensor<4x1x12xf32> loc("heads")
  %9 = para.mul %a, %b : tensor<4x1x12xf32> loc("heads")
  %10 = para.reshape %9 : tensor<4x1x12xf32> -> tensor<4x12xf32> loc("heads")
  %11 = para.dot %10, %last batch [] x [] contract [1] x [0] : tensor<4x12xf32>, tensor<12x12xf32> -> tensor<4x12xf32> loc("heads")
  return %11 : tensor<4x12xf32>
}
