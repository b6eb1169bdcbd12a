// Globs that match nothing, or what cannot be trained, are errors which list what there is.
// RUN: para-opt %s --split-input-file --verify-diagnostics --para-select-parameters=trainable=fc.*

// expected-error @+1 {{no parameter matches 'fc.*'; there are: head.weight head.bias}}
module {
  func.func @main(%w: tensor<2xf32> {para.kind = "parameter", para.name = "head.weight"}, %x: tensor<2xf32> {para.kind = "input", para.name = "fc.x"},
                  %b: tensor<2xf32> {para.kind = "parameter", para.name = "head.bias"}) -> (tensor<2xf32> {para.kind = "output", para.name = "y"}) {
    return %w : tensor<2xf32>
  }
}

// -----

// expected-error @+1 {{parameter 'fc.table' is not of a float type and cannot be trained}}
module {
  func.func @main(%w: tensor<2xi64> {para.kind = "parameter", para.name = "fc.table"}) -> (tensor<2xi64> {para.kind = "output", para.name = "y"}) {
    return %w : tensor<2xi64>
  }
}

// -----

// expected-error @+1 {{has no function @main of one block}}
module {
}
