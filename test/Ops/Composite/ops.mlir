// Every op of the family is read as it is printed, in its own syntax.
// RUN: para-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @ops
func.func @ops(%x: tensor<2x3x4xf32>, %l: tensor<2x3xi64>, %n: tensor<2x3x4xbf16>) {
  // CHECK: para.softmax %{{[a-z0-9_]+}} 2 : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  %0 = para.softmax %x 2 : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  // CHECK: para.log_softmax %{{[a-z0-9_]+}} 1 : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  %1 = para.log_softmax %x 1 : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  // CHECK: para.cross_entropy %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x3x4xf32>, tensor<2x3xi64> -> tensor<2x3xf32>
  %2 = para.cross_entropy %x, %l : tensor<2x3x4xf32>, tensor<2x3xi64> -> tensor<2x3xf32>
  // CHECK: para.normalize %{{[a-z0-9_]+}} [2] 1.000000e-05 : tensor<2x3x4xf32> -> tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<2x3x4xf32>
  %3:3 = para.normalize %x [2] 1.000000e-05 : tensor<2x3x4xf32> -> tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<2x3x4xf32>
  // Of 16-bit operands statistics and losses are f32.
  // CHECK: para.softmax %{{[a-z0-9_]+}} 2 : tensor<2x3x4xbf16> -> tensor<2x3x4xbf16>
  %4 = para.softmax %n 2 : tensor<2x3x4xbf16> -> tensor<2x3x4xbf16>
  // CHECK: para.log_softmax %{{[a-z0-9_]+}} 1 : tensor<2x3x4xbf16> -> tensor<2x3x4xf32>
  %5 = para.log_softmax %n 1 : tensor<2x3x4xbf16> -> tensor<2x3x4xf32>
  // CHECK: para.cross_entropy %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x3x4xbf16>, tensor<2x3xi64> -> tensor<2x3xf32>
  %6 = para.cross_entropy %n, %l : tensor<2x3x4xbf16>, tensor<2x3xi64> -> tensor<2x3xf32>
  // CHECK: para.normalize %{{[a-z0-9_]+}} [2] 1.000000e-05 : tensor<2x3x4xbf16> -> tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<2x3x4xbf16>
  %7:3 = para.normalize %n [2] 1.000000e-05 : tensor<2x3x4xbf16> -> tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<2x3x4xbf16>
  return
}
