// Programs that no plan has annotated are refused.
// RUN: para-opt %s --verify-diagnostics --para-partition

// expected-error @+1 {{has no para.mesh: the plan stage comes first}}
module {
  func.func @main(%x: tensor<4xf32> {para.kind = "input", para.name = "x"}) -> (tensor<4xf32> {para.kind = "output", para.name = "y"}) {
    return %x : tensor<4xf32>
  }
}
