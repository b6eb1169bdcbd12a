// Every op of the family is read as it is printed, in its own syntax.
// RUN: para-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @ops
func.func @ops(%x: tensor<2x3x4xf32>, %y: tensor<2x5x4xf32>) {
  // CHECK: para.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  %0 = para.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  // CHECK: para.constant dense<0> : tensor<i64>
  %1 = para.constant dense<0> : tensor<i64>
  // CHECK: para.iota 1 : tensor<2x3xi64>
  %2 = para.iota 1 : tensor<2x3xi64>
  // CHECK: para.iota 0 {axes = ["data"], size = 7 : i64, unit = 1 : i64} : tensor<4xf32>
  %3 = para.iota 0 {axes = ["data"], size = 7 : i64, unit = 1 : i64} : tensor<4xf32>
  // CHECK: para.reshape %{{[a-z0-9_]+}} : tensor<2x3x4xf32> -> tensor<6x4xf32>
  %4 = para.reshape %x : tensor<2x3x4xf32> -> tensor<6x4xf32>
  // CHECK: para.transpose %{{[a-z0-9_]+}} [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  %5 = para.transpose %x [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  // CHECK: para.broadcast %{{[a-z0-9_]+}} [1, 2, 3] : tensor<2x3x4xf32> -> tensor<5x2x3x4xf32>
  %6 = para.broadcast %x [1, 2, 3] : tensor<2x3x4xf32> -> tensor<5x2x3x4xf32>
  // CHECK: para.slice %{{[a-z0-9_]+}} [0, 2, 1] [1, -1, 2] : tensor<2x3x4xf32> -> tensor<1x3x2xf32>
  %7 = para.slice %x [0, 2, 1] [1, -1, 2] : tensor<2x3x4xf32> -> tensor<1x3x2xf32>
  // CHECK: para.pad %{{[a-z0-9_]+}} [1, 0, 0] [1, 1, 2] with(0.000000e+00 : f32) : tensor<2x3x4xf32> -> tensor<4x3x7xf32>
  %8 = para.pad %x [1, 0, 0] [1, 1, 2] with(0.000000e+00 : f32) : tensor<2x3x4xf32> -> tensor<4x3x7xf32>
  // CHECK: para.concat %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} 1 : tensor<2x3x4xf32>, tensor<2x5x4xf32> -> tensor<2x8x4xf32>
  %9 = para.concat %x, %y 1 : tensor<2x3x4xf32>, tensor<2x5x4xf32> -> tensor<2x8x4xf32>
  return
}
