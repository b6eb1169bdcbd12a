// What cannot be differentiated is refused where it stands.
// RUN: para-opt %s --split-input-file --verify-diagnostics --para-differentiate

// expected-error @+1 {{has no loss as its first result}}
func.func @main(%w: tensor<3xf32> {para.kind = "parameter", para.name = "w", para.trainable}) -> (tensor<3xf32> {para.kind = "update", para.name = "w", para.updates = "w"}) {
  return %w : tensor<3xf32>
}

// -----

func.func @main(%x: tensor<3xf32> {para.kind = "input", para.name = "x"},
                %w: tensor<3xf32> {para.kind = "parameter", para.name = "w", para.trainable}) -> (tensor<f32> {para.kind = "output", para.name = "loss"}) {
  // expected-error @+1 {{the loss does not depend on any trainable parameter}}
  %0 = para.reduce sum %x [0] : tensor<3xf32> -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @main(%w: tensor<3xf32> {para.kind = "parameter", para.name = "w", para.trainable}) -> (tensor<f32> {para.kind = "output", para.name = "loss"}) {
  // expected-error @+1 {{'para.pad' op with negative padding has no gradient: slice first}}
  %0 = para.pad %w [-1] [1] with(0.0 : f32) : tensor<3xf32> -> tensor<2xf32>
  %1 = para.reduce sum %0 [0] : tensor<2xf32> -> tensor<f32>
  return %1 : tensor<f32>
}
