// Merging dimensions, transposing and splitting them again is one transpose; where the split differs, nothing changes.
// RUN: para-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func @heads
// CHECK-NEXT: %[[T:.*]] = para.transpose %{{.*}} [0, 1, 3, 2]
// CHECK-NEXT: return %[[T]]
func.func @heads(%x: tensor<2x3x5x7xf32>) -> tensor<2x3x7x5xf32> {
  %0 = para.reshape %x : tensor<2x3x5x7xf32> -> tensor<6x5x7xf32>
  %1 = para.transpose %0 [0, 2, 1] : tensor<6x5x7xf32> -> tensor<6x7x5xf32>
  %2 = para.reshape %1 : tensor<6x7x5xf32> -> tensor<2x3x7x5xf32>
  return %2 : tensor<2x3x7x5xf32>
}

// CHECK-LABEL: func @other_split
// CHECK: para.reshape
// CHECK: para.transpose
// CHECK: para.reshape
func.func @other_split(%x: tensor<2x3x5x7xf32>) -> tensor<3x2x7x5xf32> {
  %0 = para.reshape %x : tensor<2x3x5x7xf32> -> tensor<6x5x7xf32>
  %1 = para.transpose %0 [0, 2, 1] : tensor<6x5x7xf32> -> tensor<6x7x5xf32>
  %2 = para.reshape %1 : tensor<6x7x5xf32> -> tensor<3x2x7x5xf32>
  return %2 : tensor<3x2x7x5xf32>
}
