// What the stage promises and does not hold is an error at the op.
// RUN: para-opt %s --split-input-file --verify-diagnostics --para-verify-autodiff

func.func @main(%x: tensor<2x3xf32> {para.kind = "input", para.name = "x"}) -> (tensor<2x3xf32> {para.kind = "output", para.name = "y"}) {
  // expected-error @+1 {{'para.softmax' op is left after the autodiff stage}}
  %0 = para.softmax %x 1 : tensor<2x3xf32> -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @main(%x: tensor<3xf32> {para.kind = "input", para.name = "x"}) -> (tensor<3xf32> {para.kind = "output", para.name = "y"}) {
  // expected-error @+1 {{'para.neg' op has no phase}}
  %0 = para.neg %x : tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// expected-error @+1 {{result 0 updates 'v', which is no argument of its type}}
func.func @main(%w: tensor<3xf32> {para.kind = "parameter", para.name = "w"}, %v: tensor<2xf32> {para.kind = "state", para.name = "v"}) -> (tensor<3xf32> {para.kind = "update", para.name = "v", para.updates = "v"}) {
  return %w : tensor<3xf32>
}

// -----

// expected-error @+1 {{'w' is updated twice}}
func.func @main(%w: tensor<3xf32> {para.kind = "parameter", para.name = "w"})
    -> (tensor<3xf32> {para.kind = "update", para.name = "w", para.updates = "w"}, tensor<3xf32> {para.kind = "update", para.name = "w", para.updates = "w"}) {
  return %w, %w : tensor<3xf32>, tensor<3xf32>
}
