// Every op of the family is read as it is printed, in its own syntax.
// RUN: para-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @ops
func.func @ops(%x: tensor<2x3x4xf32>, %l: tensor<2x3xi64>) {
  // CHECK: para.softmax %{{[a-z0-9_]+}} 2 : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  %0 = para.softmax %x 2 : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  // CHECK: para.log_softmax %{{[a-z0-9_]+}} 1 : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  %1 = para.log_softmax %x 1 : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  // CHECK: para.cross_entropy %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x3x4xf32>, tensor<2x3xi64> -> tensor<2x3xf32>
  %2 = para.cross_entropy %x, %l : tensor<2x3x4xf32>, tensor<2x3xi64> -> tensor<2x3xf32>
  // CHECK: para.normalize %{{[a-z0-9_]+}} [2] 1.000000e-05 : tensor<2x3x4xf32> -> tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<2x3x4xf32>
  %3:3 = para.normalize %x [2] 1.000000e-05 : tensor<2x3x4xf32> -> tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<2x3x4xf32>
  return
}
