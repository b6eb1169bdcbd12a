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

// -----

func.func @type(%x: tensor<1x2x4xf32>) {
  // expected-error @+1 {{'para.pool' op element types differ}}
  %0 = para.pool sum %x {window = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pad_low = array<i64: 0>} : tensor<1x2x4xf32> -> tensor<1x2x2xf64>
  return
}

// -----

func.func @large(%x: tensor<1x2x4xf32>) {
  // expected-error @+1 {{'para.pool' op the window is too large}}
  %0 = para.pool sum %x {window = array<i64: 9223372036854775807>, strides = array<i64: 2>, dilations = array<i64: 1>, pad_low = array<i64: 0>} : tensor<1x2x4xf32> -> tensor<1x2x2xf32>
  return
}

// -----

func.func @index_type(%x: tensor<1x2x4xf32>, %p: tensor<1x2x2xf32>) {
  // expected-error @+1 {{'para.pool_index' op the result must be integers (32 bits or more) of the shape of what is pooled}}
  %0 = para.pool_index %x, %p {window = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pad_low = array<i64: 0>} : tensor<1x2x4xf32>, tensor<1x2x2xf32> -> tensor<1x2x2xf32>
  return
}

// -----

func.func @index_shape(%g: tensor<1x2x2xf32>, %i: tensor<1x2x3xi32>) {
  // expected-error @+1 {{'para.pool_grad' op the index must have the shape of the cotangent}}
  %0 = para.pool_grad %g, %i {window = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pad_low = array<i64: 0>} : tensor<1x2x2xf32>, tensor<1x2x3xi32> -> tensor<1x2x4xf32>
  return
}
