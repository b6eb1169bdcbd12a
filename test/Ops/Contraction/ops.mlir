// Every op of the family is read as it is printed, in its own syntax.
// RUN: para-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @ops
func.func @ops(%x: tensor<5x2x3xf32>, %y: tensor<3x5x4xf32>, %n: tensor<2x3xbf16>) {
  // CHECK: para.dot %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} batch [0] x [1] contract [2] x [0] : tensor<5x2x3xf32>, tensor<3x5x4xf32> -> tensor<5x2x4xf32>
  %0 = para.dot %x, %y batch [0] x [1] contract [2] x [0] : tensor<5x2x3xf32>, tensor<3x5x4xf32> -> tensor<5x2x4xf32>
  // CHECK: para.dot %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} batch [] x [] contract [0, 1, 2] x [0, 1, 2] : tensor<5x2x3xf32>, tensor<5x2x3xf32> -> tensor<f32>
  %1 = para.dot %x, %x batch [] x [] contract [0, 1, 2] x [0, 1, 2] : tensor<5x2x3xf32>, tensor<5x2x3xf32> -> tensor<f32>
  // CHECK: para.dot %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} batch [] x [] contract [2] x [0] : tensor<5x2x3xf32>, tensor<3x5x4xf32> -> tensor<5x2x5x4xf32>
  %2 = para.dot %x, %y batch [] x [] contract [2] x [0] : tensor<5x2x3xf32>, tensor<3x5x4xf32> -> tensor<5x2x5x4xf32>
  // Of 16-bit operands the result may be f32.
  // CHECK: para.dot %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} batch [] x [] contract [1] x [1] : tensor<2x3xbf16>, tensor<2x3xbf16> -> tensor<2x2xf32>
  %3 = para.dot %n, %n batch [] x [] contract [1] x [1] : tensor<2x3xbf16>, tensor<2x3xbf16> -> tensor<2x2xf32>
  return
}
