// Every op of the family is read as it is printed, in its own syntax.
// RUN: para-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @ops
func.func @ops(%x: tensor<2x4x5x5xf32>, %w: tensor<6x2x3x3xf32>, %g: tensor<2x6x3x3xf32>) {
  // CHECK: para.convolution %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} {dilations = array<i64: 1, 1>, groups = 2 : i64, pad_high = array<i64: 1, 0>, pad_low = array<i64: 1, 0>, strides = array<i64: 2, 1>} : tensor<2x4x5x5xf32>, tensor<6x2x3x3xf32> -> tensor<2x6x3x3xf32>
  %0 = para.convolution %x, %w {dilations = array<i64: 1, 1>, groups = 2 : i64, pad_high = array<i64: 1, 0>, pad_low = array<i64: 1, 0>, strides = array<i64: 2, 1>} : tensor<2x4x5x5xf32>, tensor<6x2x3x3xf32> -> tensor<2x6x3x3xf32>
  // CHECK: para.convolution_input_grad %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} {dilations = array<i64: 1, 1>, groups = 2 : i64, pad_high = array<i64: 1, 0>, pad_low = array<i64: 1, 0>, strides = array<i64: 2, 1>} : tensor<2x6x3x3xf32>, tensor<6x2x3x3xf32> -> tensor<2x4x5x5xf32>
  %1 = para.convolution_input_grad %g, %w {dilations = array<i64: 1, 1>, groups = 2 : i64, pad_high = array<i64: 1, 0>, pad_low = array<i64: 1, 0>, strides = array<i64: 2, 1>} : tensor<2x6x3x3xf32>, tensor<6x2x3x3xf32> -> tensor<2x4x5x5xf32>
  // CHECK: para.convolution_weight_grad %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} {dilations = array<i64: 1, 1>, groups = 2 : i64, pad_high = array<i64: 1, 0>, pad_low = array<i64: 1, 0>, strides = array<i64: 2, 1>} : tensor<2x6x3x3xf32>, tensor<2x4x5x5xf32> -> tensor<6x2x3x3xf32>
  %2 = para.convolution_weight_grad %g, %x {dilations = array<i64: 1, 1>, groups = 2 : i64, pad_high = array<i64: 1, 0>, pad_low = array<i64: 1, 0>, strides = array<i64: 2, 1>} : tensor<2x6x3x3xf32>, tensor<2x4x5x5xf32> -> tensor<6x2x3x3xf32>
  return
}
