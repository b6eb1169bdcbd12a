// Every op of the family is read as it is printed, in its own syntax.
// RUN: para-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @ops
func.func @ops(%x: tensor<2x3x4x5xf32>, %p: tensor<2x3x2x3xf32>, %i: tensor<2x3x2x3xi64>) {
  // CHECK: para.pool max %{{[a-z0-9_]+}} {dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 1>, strides = array<i64: 2, 2>, window = array<i64: 2, 3>} : tensor<2x3x4x5xf32> -> tensor<2x3x2x3xf32>
  %0 = para.pool max %x {dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 1>, strides = array<i64: 2, 2>, window = array<i64: 2, 3>} : tensor<2x3x4x5xf32> -> tensor<2x3x2x3xf32>
  // CHECK: para.pool sum %{{[a-z0-9_]+}} {dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 1>, strides = array<i64: 2, 2>, window = array<i64: 2, 3>} : tensor<2x3x4x5xf32> -> tensor<2x3x2x3xf32>
  %1 = para.pool sum %x {dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 1>, strides = array<i64: 2, 2>, window = array<i64: 2, 3>} : tensor<2x3x4x5xf32> -> tensor<2x3x2x3xf32>
  // CHECK: para.pool_index %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} {dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 1>, strides = array<i64: 2, 2>, window = array<i64: 2, 3>} : tensor<2x3x4x5xf32>, tensor<2x3x2x3xf32> -> tensor<2x3x2x3xi64>
  %2 = para.pool_index %x, %p {dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 1>, strides = array<i64: 2, 2>, window = array<i64: 2, 3>} : tensor<2x3x4x5xf32>, tensor<2x3x2x3xf32> -> tensor<2x3x2x3xi64>
  // CHECK: para.pool_grad %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} {dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 1>, strides = array<i64: 2, 2>, window = array<i64: 2, 3>} : tensor<2x3x2x3xf32>, tensor<2x3x2x3xi64> -> tensor<2x3x4x5xf32>
  %3 = para.pool_grad %p, %i {dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 1>, strides = array<i64: 2, 2>, window = array<i64: 2, 3>} : tensor<2x3x2x3xf32>, tensor<2x3x2x3xi64> -> tensor<2x3x4x5xf32>
  // CHECK: para.pool_grad %{{[a-z0-9_]+}} {dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 1>, strides = array<i64: 2, 2>, window = array<i64: 2, 3>} : tensor<2x3x2x3xf32> -> tensor<2x3x4x5xf32>
  %4 = para.pool_grad %p {dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 1>, strides = array<i64: 2, 2>, window = array<i64: 2, 3>} : tensor<2x3x2x3xf32> -> tensor<2x3x4x5xf32>
  return
}
