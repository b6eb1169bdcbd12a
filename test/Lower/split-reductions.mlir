// Intent: a long reduction to one element has parts that threads can share, told by the shape alone.
// RUN: para-opt %s --para-split-reductions | FileCheck %s

// CHECK-LABEL: func.func @prefix
// CHECK: %[[PARTS:.*]] = para.reduce sum %arg0 [2, 3] {para.phase = #para<phase update>} : tensor<16x64x30x16xf32> -> tensor<16x64xf32>
// CHECK: %[[ALL:.*]] = para.reduce sum %[[PARTS]] [0, 1] {para.phase = #para<phase update>} : tensor<16x64xf32> -> tensor<f32>
// CHECK: return %[[ALL]]
func.func @prefix(%x: tensor<16x64x30x16xf32>) -> tensor<f32> {
  %y = para.reduce sum %x [0, 1, 2, 3] {para.phase = #para<phase update>} : tensor<16x64x30x16xf32> -> tensor<f32>
  return %y : tensor<f32>
}

// No leading dimensions make good parts.
// CHECK-LABEL: func.func @flat
// CHECK: para.reshape %arg0 : tensor<2x30000xf32> -> tensor<1000x60xf32>
// CHECK: para.reduce max %{{.*}} [1] : tensor<1000x60xf32> -> tensor<1000xf32>
// CHECK: para.reduce max %{{.*}} [0] : tensor<1000xf32> -> tensor<f32>
func.func @flat(%x: tensor<2x30000xf32>) -> tensor<f32> {
  %y = para.reduce max %x [0, 1] : tensor<2x30000xf32> -> tensor<f32>
  return %y : tensor<f32>
}

// Not worth it, and not to one element.
// CHECK-LABEL: func.func @left
// CHECK-NEXT: para.reduce sum %arg0 [0, 1] : tensor<100x100xf32> -> tensor<f32>
// CHECK-NEXT: para.reduce sum %arg1 [1] : tensor<2x1000000xf32> -> tensor<2xf32>
func.func @left(%x: tensor<100x100xf32>, %z: tensor<2x1000000xf32>) -> (tensor<f32>, tensor<2xf32>) {
  %y = para.reduce sum %x [0, 1] : tensor<100x100xf32> -> tensor<f32>
  %w = para.reduce sum %z [1] : tensor<2x1000000xf32> -> tensor<2xf32>
  return %y, %w : tensor<f32>, tensor<2xf32>
}

// For a GPU sums over columns are split too, where the rows are many and the columns too few for all of its blocks; other reductions of a
// part of the dimensions are not.
// RUN: para-opt %s --para-split-reductions=target=cuda | FileCheck %s --check-prefix=CUDA
// CHECK-LABEL: func.func @columns
// CHECK-NEXT: para.reduce sum %arg0 [0, 1] : tensor<8x1024x768xf32> -> tensor<768xf32>
// CUDA-LABEL: func.func @columns
// CUDA: %[[X:.*]] = para.reshape %arg0 : tensor<8x1024x768xf32> -> tensor<512x16x768xf32>
// CUDA: %[[PARTS:.*]] = para.reduce sum %[[X]] [1] {rt.strip_sum} : tensor<512x16x768xf32> -> tensor<512x768xf32>
// CUDA: para.reduce sum %[[PARTS]] [0] : tensor<512x768xf32> -> tensor<768xf32>
// CUDA: para.reduce sum %arg1 [0] : tensor<100x4096xf32> -> tensor<4096xf32>
// CUDA: para.reduce sum %arg2 [0, 2] : tensor<64x32x64xf32> -> tensor<32xf32>
// CUDA: para.reduce sum %arg3 [0] : tensor<1024x524288xf32> -> tensor<524288xf32>
func.func @columns(%x: tensor<8x1024x768xf32>, %few: tensor<100x4096xf32>, %amid: tensor<64x32x64xf32>, %many: tensor<1024x524288xf32>)
    -> (tensor<768xf32>, tensor<4096xf32>, tensor<32xf32>, tensor<524288xf32>) {
  %a = para.reduce sum %x [0, 1] : tensor<8x1024x768xf32> -> tensor<768xf32>
  %b = para.reduce sum %few [0] : tensor<100x4096xf32> -> tensor<4096xf32>
  %c = para.reduce sum %amid [0, 2] : tensor<64x32x64xf32> -> tensor<32xf32>
  %d = para.reduce sum %many [0] : tensor<1024x524288xf32> -> tensor<524288xf32>
  return %a, %b, %c, %d : tensor<768xf32>, tensor<4096xf32>, tensor<32xf32>, tensor<524288xf32>
}
