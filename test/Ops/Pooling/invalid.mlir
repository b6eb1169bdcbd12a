// What an op may not be is refused with the reason.
// RUN: para-opt %s --split-input-file --verify-diagnostics

func.func @rank(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.pool' op needs at least one spatial dimension}}
  %0 = para.pool max %x {dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, strides = array<i64: 2, 2>, window = array<i64: 2, 2>} : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @window(%x: tensor<2x3x4xf32>) {
  // expected-error @+1 {{'para.pool' op needs a positive window, stride and dilation for each of 1 spatial dimensions}}
  %0 = para.pool max %x {dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, strides = array<i64: 2, 2>, window = array<i64: 2, 2>} : tensor<2x3x4xf32> -> tensor<2x3x2xf32>
  return
}

// -----

func.func @stride(%x: tensor<2x3x4x4xf32>) {
  // expected-error @+1 {{'para.pool' op needs a positive window, stride and dilation for each of 2 spatial dimensions}}
  %0 = para.pool max %x {dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, strides = array<i64: 0, 2>, window = array<i64: 2, 2>} : tensor<2x3x4x4xf32> -> tensor<2x3x2x2xf32>
  return
}

// -----

func.func @channels(%x: tensor<2x3x4x4xf32>) {
  // expected-error @+1 {{'para.pool' op batch, channels or padding do not fit together}}
  %0 = para.pool sum %x {dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, strides = array<i64: 2, 2>, window = array<i64: 2, 2>} : tensor<2x3x4x4xf32> -> tensor<2x4x2x2xf32>
  return
}
