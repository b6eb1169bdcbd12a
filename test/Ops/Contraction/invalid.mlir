// What an op may not be is refused with the reason.
// RUN: para-opt %s --split-input-file --verify-diagnostics

func.func @pairs(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.dot' op batch and contracted dimensions must exist, be distinct and come in pairs}}
  %0 = para.dot %x, %x batch [0] x [] contract [] x [] : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3x2x3xf32>
  return
}

// -----

func.func @distinct(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.dot' op batch and contracted dimensions must exist, be distinct and come in pairs}}
  %0 = para.dot %x, %x batch [0] x [0] contract [0] x [1] : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2xf32>
  return
}

// -----

func.func @batch(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.dot' op batch sizes differ: 2 and 3}}
  %0 = para.dot %x, %x batch [0] x [1] contract [] x [] : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3x2xf32>
  return
}

// -----

func.func @contract(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.dot' op contracted sizes differ: 3 and 2}}
  %0 = para.dot %x, %x batch [] x [] contract [1] x [0] : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @result(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.dot' op result must be 'tensor<2x2xf32>'}}
  %0 = para.dot %x, %x batch [] x [] contract [1] x [1] : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @types(%x: tensor<2x3xf32>, %y: tensor<3x2xf64>) {
  // expected-error @+1 {{'para.dot' op element types differ: 'tensor<2x3xf32>' and 'tensor<3x2xf64>'}}
  %0 = para.dot %x, %y batch [] x [] contract [1] x [0] : tensor<2x3xf32>, tensor<3x2xf64> -> tensor<2x2xf32>
  return
}

// -----

func.func @wide_types(%x: tensor<2x3xbf16>, %y: tensor<3x2xf16>) {
  // expected-error @+1 {{'para.dot' op element types differ: 'tensor<2x3xbf16>' and 'tensor<3x2xf16>'}}
  %0 = para.dot %x, %y batch [] x [] contract [1] x [0] : tensor<2x3xbf16>, tensor<3x2xf16> -> tensor<2x2xf32>
  return
}

// -----

func.func @narrow_result(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.dot' op element types differ: 'tensor<2x3xf32>' and 'tensor<2x2xbf16>'}}
  %0 = para.dot %x, %x batch [] x [] contract [1] x [1] : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x2xbf16>
  return
}

// -----

func.func @double_result(%x: tensor<2x3xbf16>) {
  // expected-error @+1 {{'para.dot' op element types differ: 'tensor<2x3xbf16>' and 'tensor<2x2xf64>'}}
  %0 = para.dot %x, %x batch [] x [] contract [1] x [1] : tensor<2x3xbf16>, tensor<2x3xbf16> -> tensor<2x2xf64>
  return
}
