// Every op of the family is read as it is printed, in its own syntax.
// RUN: para-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @ops
func.func @ops(%x: tensor<4x6xf32>, %y: tensor<3xf32>) {
  // CHECK: para.all_reduce sum %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} ["data", "tensor"] : tensor<4x6xf32>, tensor<3xf32> -> tensor<4x6xf32>, tensor<3xf32>
  %0:2 = para.all_reduce sum %x, %y ["data", "tensor"] : tensor<4x6xf32>, tensor<3xf32> -> tensor<4x6xf32>, tensor<3xf32>
  // CHECK: para.all_reduce max %{{[a-z0-9_]+}} ["data"] : tensor<4x6xf32> -> tensor<4x6xf32>
  %1 = para.all_reduce max %x ["data"] : tensor<4x6xf32> -> tensor<4x6xf32>
  // CHECK: para.all_gather %{{[a-z0-9_]+}} 0 "data" : tensor<4x6xf32> -> tensor<7x6xf32>
  %2 = para.all_gather %x 0 "data" : tensor<4x6xf32> -> tensor<7x6xf32>
  // CHECK: para.reduce_scatter sum %{{[a-z0-9_]+}} 1 "tensor" : tensor<4x6xf32> -> tensor<4x3xf32>
  %3 = para.reduce_scatter sum %x 1 "tensor" : tensor<4x6xf32> -> tensor<4x3xf32>
  // CHECK: para.all_to_all %{{[a-z0-9_]+}} 0 1 "data" : tensor<4x6xf32> -> tensor<8x3xf32>
  %4 = para.all_to_all %x 0 1 "data" : tensor<4x6xf32> -> tensor<8x3xf32>
  // CHECK: para.send %{{[a-z0-9_]+}} to 1 tag 3 : tensor<4x6xf32>
  para.send %x to 1 tag 3 : tensor<4x6xf32>
  // CHECK: para.recv from 1 tag 4 : tensor<4x6xf32>
  %6 = para.recv from 1 tag 4 : tensor<4x6xf32>
  // CHECK: para.shard_slice %{{[a-z0-9_]+}} 0 "data" 1 : tensor<4x6xf32> -> tensor<2x6xf32>
  %7 = para.shard_slice %x 0 "data" 1 : tensor<4x6xf32> -> tensor<2x6xf32>
  // CHECK: para.mask max %{{[a-z0-9_]+}} 0 ["data"] 7 1 : tensor<4x6xf32>
  %8 = para.mask max %x 0 ["data"] 7 1 : tensor<4x6xf32>
  // CHECK: para.accumulate %{{[a-z0-9_]+}} : tensor<4x6xf32>
  %9 = para.accumulate %x : tensor<4x6xf32>
  return
}
