// What an op may not be is refused with the reason.
// RUN: para-opt %s --split-input-file --verify-diagnostics

func.func @rank(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.convolution' op needs 1 to 3 spatial dimensions}}
  %0 = para.convolution %x, %x {dilations = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x2xf32>
  return
}

// -----

func.func @lists(%x: tensor<2x3x4xf32>, %w: tensor<5x3x2xf32>) {
  // expected-error @+1 {{'para.convolution' op needs one stride, dilation and padding for each of 1 spatial dimensions}}
  %0 = para.convolution %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : tensor<2x3x4xf32>, tensor<5x3x2xf32> -> tensor<2x5x3xf32>
  return
}

// -----

func.func @channels(%x: tensor<2x4x4x4xf32>, %w: tensor<5x3x2x2xf32>) {
  // expected-error @+1 {{'para.convolution' op channels, groups and batch do not fit together}}
  %0 = para.convolution %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : tensor<2x4x4x4xf32>, tensor<5x3x2x2xf32> -> tensor<2x5x3x3xf32>
  return
}

// -----

func.func @strides(%x: tensor<2x3x4x4xf32>, %w: tensor<5x3x2x2xf32>) {
  // expected-error @+1 {{'para.convolution' op strides and dilations must be positive}}
  %0 = para.convolution %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 0, 1>} : tensor<2x3x4x4xf32>, tensor<5x3x2x2xf32> -> tensor<2x5x3x3xf32>
  return
}

// -----

func.func @size(%x: tensor<2x3x4x4xf32>, %w: tensor<5x3x2x2xf32>) {
  // expected-error @+1 {{'para.convolution' op spatial dimension 1 must be 3}}
  %0 = para.convolution %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : tensor<2x3x4x4xf32>, tensor<5x3x2x2xf32> -> tensor<2x5x3x4xf32>
  return
}

// -----

func.func @input_grad(%g: tensor<2x5x3x3xf32>, %w: tensor<5x3x2x2xf32>) {
  // expected-error @+1 {{'para.convolution_input_grad' op spatial dimension 0 must be 4}}
  %0 = para.convolution_input_grad %g, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : tensor<2x5x3x3xf32>, tensor<5x3x2x2xf32> -> tensor<2x3x5x4xf32>
  return
}

// -----

func.func @weight_grad(%g: tensor<2x5x3x3xf32>, %x: tensor<2x3x4x4xf32>) {
  // expected-error @+1 {{'para.convolution_weight_grad' op channels, groups and batch do not fit together}}
  %0 = para.convolution_weight_grad %g, %x {dilations = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : tensor<2x5x3x3xf32>, tensor<2x3x4x4xf32> -> tensor<5x2x2x2xf32>
  return
}

// -----

func.func @types(%x: tensor<1x2x4xf32>, %w: tensor<3x2x2xf64>) {
  // expected-error @+1 {{'para.convolution' op element types differ}}
  %0 = para.convolution %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, groups = 1 : i64} : tensor<1x2x4xf32>, tensor<3x2x2xf64> -> tensor<1x3x3xf32>
  return
}

// -----

func.func @window(%x: tensor<1x2x4xf32>, %w: tensor<3x2x5xf32>) {
  // expected-error @+1 {{'para.convolution' op the window does not fit into spatial dimension 0}}
  %0 = para.convolution %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, groups = 1 : i64} : tensor<1x2x4xf32>, tensor<3x2x5xf32> -> tensor<1x3x0xf32>
  return
}

// -----

func.func @far(%x: tensor<1x2x4xf32>, %w: tensor<3x2x2xf32>) {
  // expected-error @+1 {{'para.convolution' op padding of 9223372036854775807 is too far from zero}}
  %0 = para.convolution %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 9223372036854775807>, groups = 1 : i64} : tensor<1x2x4xf32>, tensor<3x2x2xf32> -> tensor<1x3x3xf32>
  return
}
