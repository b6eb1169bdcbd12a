// Composite ops become their formulas over the core set; each subtracts the maximum, so that nothing overflows.
// RUN: para-opt %s --para-decompose | FileCheck %s

// CHECK-LABEL: @softmax
// CHECK: %[[M:.*]] = para.reduce max %{{.*}} [1] : tensor<2x3xf32> -> tensor<2xf32>
// CHECK: para.sub
// CHECK: %[[E:.*]] = para.exp
// CHECK: para.reduce sum %[[E]] [1]
// CHECK: para.div %[[E]]
// CHECK-NOT: para.softmax
func.func @softmax(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = para.softmax %x 1 : tensor<2x3xf32> -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: @log_softmax
// CHECK: para.reduce max
// CHECK: para.exp
// CHECK: para.reduce sum
// CHECK: para.log
// CHECK-NOT: para.log_softmax
func.func @log_softmax(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = para.log_softmax %x 1 : tensor<2x3xf32> -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: @normalize
// CHECK: para.reduce sum
// CHECK: para.extent
// CHECK: para.sqrt
// CHECK-NOT: para.normalize
func.func @normalize(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0:3 = para.normalize %x [1] 1.0e-5 : tensor<2x3xf32> -> tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x3xf32>
  return %0#0 : tensor<2x3xf32>
}

// CHECK-LABEL: @cross_entropy
// CHECK: para.reduce max
// CHECK: para.log
// CHECK-NOT: para.cross_entropy
func.func @cross_entropy(%x: tensor<2x3xf32>, %l: tensor<2xi64>) -> tensor<2xf32> {
  %0 = para.cross_entropy %x, %l : tensor<2x3xf32>, tensor<2xi64> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
