// Merging dimensions, transposing and splitting them again is one transpose; where the split differs, nothing changes. Losses see rows
// that are not merged.
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

// What a loss does with each row happens before samples and rows are merged, and sums go over both.
// CHECK-LABEL: func @loss
// CHECK-NOT: para.reshape
// CHECK: para.cross_entropy %{{.*}}, %{{.*}} : tensor<2x3x5xf32>, tensor<2x3xi64> -> tensor<2x3xf32>
// CHECK: para.compare ne %{{.*}} : tensor<2x3xi64>
// CHECK: para.reduce sum %{{.*}} [0, 1] : tensor<2x3xf32> -> tensor<f32>
// CHECK: para.extent %{{.*}} [0, 1] : tensor<2x3xf32> -> tensor<f32>
// CHECK-NOT: para.reshape
func.func @loss(%x: tensor<2x3x5xf32>, %y: tensor<2x3xi64>) -> (tensor<f32>, tensor<f32>) {
  %0 = para.reshape %x : tensor<2x3x5xf32> -> tensor<6x5xf32>
  %1 = para.reshape %y : tensor<2x3xi64> -> tensor<6xi64>
  %2 = para.cross_entropy %0, %1 : tensor<6x5xf32>, tensor<6xi64> -> tensor<6xf32>
  %3 = para.constant dense<-100> : tensor<6xi64>
  %4 = para.compare ne %1, %3 : tensor<6xi64> -> tensor<6xi1>
  %5 = para.cast %4 : tensor<6xi1> -> tensor<6xf32>
  %6 = para.mul %2, %5 : tensor<6xf32>
  %7 = para.reduce sum %6 [0] : tensor<6xf32> -> tensor<f32>
  %8 = para.extent %6 [0] : tensor<6xf32> -> tensor<f32>
  return %7, %8 : tensor<f32>, tensor<f32>
}

// Rows that are not of one shape before, or of constants that differ, stay as they are.
// CHECK-LABEL: func @other_rows
// CHECK: para.add %{{.*}} : tensor<6xf32>
// CHECK: para.add %{{.*}} : tensor<6xf32>
func.func @other_rows(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>) -> tensor<6xf32> {
  %0 = para.reshape %x : tensor<2x3xf32> -> tensor<6xf32>
  %1 = para.reshape %y : tensor<3x2xf32> -> tensor<6xf32>
  %2 = para.add %0, %1 : tensor<6xf32>
  %3 = para.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf32>
  %4 = para.add %2, %3 : tensor<6xf32>
  return %4 : tensor<6xf32>
}

// Nor do ops that speak of dimensions; and what drops a dimension of one element merges none.
// CHECK-LABEL: func @other_ops
// CHECK: para.slice %{{.*}} [0] [1] : tensor<6xf32> -> tensor<6xf32>
// CHECK: para.exp %{{.*}} : tensor<6xf32>
func.func @other_ops(%x: tensor<2x3xf32>, %y: tensor<6x1xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  %0 = para.reshape %x : tensor<2x3xf32> -> tensor<6xf32>
  %1 = para.slice %0 [0] [1] : tensor<6xf32> -> tensor<6xf32>
  %2 = para.reshape %y : tensor<6x1xf32> -> tensor<6xf32>
  %3 = para.exp %2 : tensor<6xf32>
  return %1, %3 : tensor<6xf32>, tensor<6xf32>
}
