// What an op may not be is refused with the reason.
// RUN: para-opt %s --split-input-file --verify-diagnostics

func.func @order(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.reduce' op dimensions must ascend and exist in the input}}
  %0 = para.reduce sum %x [1, 0] : tensor<2x3xf32> -> tensor<f32>
  return
}

// -----

func.func @exists(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.reduce' op dimensions must ascend and exist in the input}}
  %0 = para.reduce max %x [2] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @result(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.reduce' op result must be 'tensor<3xf32>'}}
  %0 = para.reduce sum %x [0] : tensor<2x3xf32> -> tensor<2xf32>
  return
}

// -----

func.func @extent_dims(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.extent' op dimensions must ascend and exist in the input}}
  %0 = para.extent %x [4] : tensor<2x3xf32> -> tensor<f32>
  return
}

// -----

func.func @extent_result(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.extent' op result 0 must be 'tensor<f32>'}}
  %0 = para.extent %x [1] : tensor<2x3xf32> -> tensor<2xf32>
  return
}
