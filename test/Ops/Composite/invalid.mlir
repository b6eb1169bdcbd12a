// What an op may not be is refused with the reason.
// RUN: para-opt %s --split-input-file --verify-diagnostics

func.func @softmax_dim(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.softmax' op dimension 2 does not exist in 'tensor<2x3xf32>'}}
  %0 = para.softmax %x 2 : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @softmax_negative(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.softmax' op dimension -1 does not exist in 'tensor<2x3xf32>'}}
  %0 = para.softmax %x -1 : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @softmax_type(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.softmax' op result 0 must be 'tensor<2x3xf32>'}}
  %0 = para.softmax %x 1 : tensor<2x3xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @softmax_scalar(%x: tensor<f32>) {
  // expected-error @+1 {{'para.softmax' op dimension 0 does not exist in 'tensor<f32>'}}
  %0 = para.softmax %x 0 : tensor<f32> -> tensor<f32>
  return
}

// -----

func.func @log_softmax_dim(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.log_softmax' op dimension 5 does not exist in 'tensor<2x3xf32>'}}
  %0 = para.log_softmax %x 5 : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @normalize_dims(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.normalize' op dimensions must ascend and exist in the input}}
  %0:3 = para.normalize %x [1, 0] 1.0e-05 : tensor<2x3xf32> -> tensor<1x1xf32>, tensor<1x1xf32>, tensor<2x3xf32>
  return
}

// -----

func.func @normalize_exists(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.normalize' op dimensions must ascend and exist in the input}}
  %0:3 = para.normalize %x [2] 1.0e-05 : tensor<2x3xf32> -> tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
  return
}

// -----

func.func @normalize_epsilon(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.normalize' op epsilon must be 0 or more}}
  %0:3 = para.normalize %x [1] -1.0e-05 : tensor<2x3xf32> -> tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x3xf32>
  return
}

// -----

func.func @normalize_mean(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.normalize' op result 1 must be 'tensor<2x1xf32>'}}
  %0:3 = para.normalize %x [1] 1.0e-05 : tensor<2x3xf32> -> tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x3xf32>
  return
}

// -----

func.func @cross_entropy_rows(%x: tensor<2x3xf32>, %l: tensor<3xi64>) {
  // expected-error @+1 {{'para.cross_entropy' op needs scores [rows..., classes] and labels [rows...]}}
  %0 = para.cross_entropy %x, %l : tensor<2x3xf32>, tensor<3xi64> -> tensor<3xf32>
  return
}

// -----

func.func @cross_entropy_scalar(%x: tensor<f32>, %l: tensor<i64>) {
  // expected-error @+1 {{'para.cross_entropy' op needs scores [rows..., classes] and labels [rows...]}}
  %0 = para.cross_entropy %x, %l : tensor<f32>, tensor<i64> -> tensor<f32>
  return
}

// -----

func.func @cross_entropy_labels(%x: tensor<2x3xf32>, %l: tensor<2xi1>) {
  // expected-error @+1 {{'para.cross_entropy' op labels are indices of classes, which bools are not}}
  %0 = para.cross_entropy %x, %l : tensor<2x3xf32>, tensor<2xi1> -> tensor<2xf32>
  return
}

// -----

func.func @cross_entropy_result(%x: tensor<2x3xf32>, %l: tensor<2xi64>) {
  // expected-error @+1 {{'para.cross_entropy' op result 0 must be 'tensor<2xf32>'}}
  %0 = para.cross_entropy %x, %l : tensor<2x3xf32>, tensor<2xi64> -> tensor<2x3xf32>
  return
}

// -----

func.func @narrow_statistics(%x: tensor<2x3xbf16>) {
  // expected-error @+1 {{'para.normalize' op result 1 must be 'tensor<2x1xf32>'}}
  %0:3 = para.normalize %x [1] 1.0e-05 : tensor<2x3xbf16> -> tensor<2x1xbf16>, tensor<2x1xbf16>, tensor<2x3xbf16>
  return
}

// -----

func.func @narrow_loss(%x: tensor<2x3xbf16>, %l: tensor<2xi64>) {
  // expected-error @+1 {{'para.cross_entropy' op result 0 must be 'tensor<2xf32>'}}
  %0 = para.cross_entropy %x, %l : tensor<2x3xbf16>, tensor<2xi64> -> tensor<2xbf16>
  return
}
