// A product of 16-bit operands is a call with types of its own for operands and result; one that is no call is summed in f32 by its kernel.
// RUN: para-opt %s --para-form-calls | FileCheck %s

// CHECK-LABEL: func.func @calls
// CHECK: rt.call "matmul"{{.*}}c_dtype = 3 : i64{{.*}}dtype = 3 : i64{{.*}}: (tensor<4x3xbf16>, tensor<3x2xbf16>) -> tensor<4x2xbf16>
// CHECK: rt.call "matmul"{{.*}}c_dtype = 0 : i64{{.*}}dtype = 2 : i64{{.*}}: (tensor<4x3xf16>, tensor<4x2xf16>) -> tensor<3x2xf32>
func.func @calls(%x: tensor<4x3xbf16>, %w: tensor<3x2xbf16>, %y: tensor<4x3xf16>, %g: tensor<4x2xf16>) -> (tensor<4x2xbf16>, tensor<3x2xf32>) {
  %0 = para.dot %x, %w batch [] x [] contract [1] x [0] : tensor<4x3xbf16>, tensor<3x2xbf16> -> tensor<4x2xbf16>
  %1 = para.dot %y, %g batch [] x [] contract [0] x [0] : tensor<4x3xf16>, tensor<4x2xf16> -> tensor<3x2xf32>
  return %0, %1 : tensor<4x2xbf16>, tensor<3x2xf32>
}

// The runtime has no call for nine dimensions of which none goes on where the next ends.
// CHECK-LABEL: func.func @kernel
// CHECK: %[[D:.*]] = para.dot {{.*}} : tensor<2x2x2x2x2x2x2x2x2x3xbf16>, tensor<2x2x2x2x2x2x2x2x2x3xbf16> -> tensor<2x2x2x2x2x2x2x2x2xf32>
// CHECK: %[[R:.*]] = para.cast %[[D]] : tensor<2x2x2x2x2x2x2x2x2xf32> -> tensor<2x2x2x2x2x2x2x2x2xbf16>
// CHECK: return %[[R]]
func.func @kernel(%x: tensor<2x2x2x2x2x2x2x2x2x3xbf16>) -> tensor<2x2x2x2x2x2x2x2x2xbf16> {
  %t = para.transpose %x [8, 7, 6, 5, 4, 3, 2, 1, 0, 9] : tensor<2x2x2x2x2x2x2x2x2x3xbf16> -> tensor<2x2x2x2x2x2x2x2x2x3xbf16>
  %0 = para.dot %t, %x batch [0, 1, 2, 3, 4, 5, 6, 7, 8] x [0, 1, 2, 3, 4, 5, 6, 7, 8] contract [9] x [9] : tensor<2x2x2x2x2x2x2x2x2x3xbf16>, tensor<2x2x2x2x2x2x2x2x2x3xbf16> -> tensor<2x2x2x2x2x2x2x2x2xbf16>
  return %0 : tensor<2x2x2x2x2x2x2x2x2xbf16>
}
