// What an op may not be is refused with the reason.
// RUN: para-opt %s --split-input-file --verify-diagnostics

func.func @reshape(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.reshape' op has 6 elements in and 5 out}}
  %0 = para.reshape %x : tensor<2x3xf32> -> tensor<5xf32>
  return
}

// -----

func.func @reshape_type(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.reshape' op changes the element type}}
  %0 = para.reshape %x : tensor<2x3xf32> -> tensor<6xf64>
  return
}

// -----

func.func @transpose(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.transpose' op permutation is not one of 2 dimensions}}
  %0 = para.transpose %x [0, 0] : tensor<2x3xf32> -> tensor<2x2xf32>
  return
}

// -----

func.func @transpose_type(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.transpose' op result type does not follow from the permutation}}
  %0 = para.transpose %x [1, 0] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_rank(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.broadcast' op names 1 dimensions for an input of rank 2}}
  %0 = para.broadcast %x [1] : tensor<2x3xf32> -> tensor<4x2x3xf32>
  return
}

// -----

func.func @broadcast_order(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.broadcast' op dimensions must ascend and exist in the result}}
  %0 = para.broadcast %x [2, 1] : tensor<2x3xf32> -> tensor<4x3x2xf32>
  return
}

// -----

func.func @broadcast_size(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.broadcast' op size 2 cannot become 4}}
  %0 = para.broadcast %x [0, 1] : tensor<2x3xf32> -> tensor<4x3xf32>
  return
}

// -----

func.func @slice_rank(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.slice' op needs an offset and a stride for each dimension}}
  %0 = para.slice %x [0] [1] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @slice_end(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.slice' op reads elements 1 to 3 of 3}}
  %0 = para.slice %x [0, 1] [1, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @slice_begin(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.slice' op reads elements 1 to -1 of 2}}
  %0 = para.slice %x [1, 0] [-2, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @slice_stride(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.slice' op reads elements 0 to 0 of 2}}
  %0 = para.slice %x [0, 0] [0, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @pad_step(%x: tensor<2xf32>) {
  // expected-error @+1 {{'para.pad' op needs padding and a positive step for each dimension}}
  %0 = para.pad %x [0] [0] with(0.0 : f32) : tensor<2xf32> -> tensor<4xf32>
  return
}

// -----

func.func @pad_value(%x: tensor<2xf32>) {
  // expected-error @+1 {{'para.pad' op pads with a value of another type}}
  %0 = para.pad %x [0] [1] with(0 : i32) : tensor<2xf32> -> tensor<4xf32>
  return
}

// -----

func.func @concat_dim(%x: tensor<2xf32>) {
  // expected-error @+1 {{'para.concat' op dimension 1 does not exist}}
  %0 = para.concat %x 1 : tensor<2xf32> -> tensor<2xf32>
  return
}

// -----

func.func @concat_rank(%x: tensor<2xf32>, %y: tensor<1x1xf32>) {
  // expected-error @+1 {{'para.concat' op inputs differ in rank or type}}
  %0 = para.concat %x, %y 0 : tensor<2xf32>, tensor<1x1xf32> -> tensor<3xf32>
  return
}

// -----

func.func @concat_other(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error @+1 {{'para.concat' op inputs differ in dimension 1}}
  %0 = para.concat %x, %y 0 : tensor<2x3xf32>, tensor<2x4xf32> -> tensor<4x3xf32>
  return
}

// -----

func.func @concat_size(%x: tensor<2xf32>) {
  // expected-error @+1 {{'para.concat' op inputs have 4 elements along the dimension, the result 5}}
  %0 = para.concat %x, %x 0 : tensor<2xf32>, tensor<2xf32> -> tensor<5xf32>
  return
}

// -----

func.func @iota_dim() {
  // expected-error @+1 {{'para.iota' op dimension 1 does not exist in 'tensor<4xi64>'}}
  %0 = para.iota 1 : tensor<4xi64>
  return
}

// -----

func.func @slice_type(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.slice' op element types differ}}
  %0 = para.slice %x [0, 0] [1, 1] : tensor<2x3xf32> -> tensor<2x3xi32>
  return
}

// -----

func.func @slice_far(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.slice' op a stride of 9223372036854775807 is too far from zero}}
  %0 = para.slice %x [0, 0] [9223372036854775807, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @pad_value(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.pad' op pads with a value of another type}}
  %0 = para.pad %x [0, 0] [1, 1] with ([1]) : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @pad_far(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.pad' op padding of -9223372036854775808 is too far from zero}}
  %0 = para.pad %x [-9223372036854775808, 0] [1, 1] with (0.0 : f32) : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @concat_nothing() {
  // expected-error @+1 {{'para.concat' op needs an input}}
  %0 = "para.concat"() {dim = 0 : i64} : () -> tensor<0xf32>
  return
}

// -----

func.func @constant_sparse() {
  // expected-error @+1 {{'para.constant' op has a value that is not dense}}
  %0 = para.constant sparse<[[0]], 1.0> : tensor<4xf32>
  return
}
