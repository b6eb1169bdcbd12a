// Every op of the family is read as it is printed, in its own syntax.
// RUN: para-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @ops
func.func @ops(%x: tensor<2x3x4xf32>) {
  // CHECK: para.reduce sum %{{[a-z0-9_]+}} [0, 2] : tensor<2x3x4xf32> -> tensor<3xf32>
  %0 = para.reduce sum %x [0, 2] : tensor<2x3x4xf32> -> tensor<3xf32>
  // CHECK: para.reduce max %{{[a-z0-9_]+}} [0, 2] : tensor<2x3x4xf32> -> tensor<3xf32>
  %1 = para.reduce max %x [0, 2] : tensor<2x3x4xf32> -> tensor<3xf32>
  // CHECK: para.reduce min %{{[a-z0-9_]+}} [0, 2] : tensor<2x3x4xf32> -> tensor<3xf32>
  %2 = para.reduce min %x [0, 2] : tensor<2x3x4xf32> -> tensor<3xf32>
  // CHECK: para.extent %{{[a-z0-9_]+}} [0, 1] : tensor<2x3x4xf32> -> tensor<f32>
  %3 = para.extent %x [0, 1] : tensor<2x3x4xf32> -> tensor<f32>
  // CHECK: para.batch_term 2 %{{[a-z0-9_]+}} : tensor<f32>
  %4 = para.batch_term 2 %3 : tensor<f32>
  return
}
