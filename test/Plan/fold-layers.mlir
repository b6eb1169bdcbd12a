// Intent: of a row of equal blocks the first, one for the middle and the last are left, and the last takes from the one before it.
// RUN: para-opt %s --para-fold-layers --split-input-file | FileCheck %s

// The first block takes from the input and is none of the row.
// CHECK-LABEL: func.func @main
// CHECK-SAME: "w0"
// CHECK-SAME: "w1"
// CHECK-SAME: "w2"
// CHECK-NOT: "w3"
// CHECK-SAME: "w4"
// CHECK-SAME: para.parts = array<i64: 1, 1, 2, 1>
// CHECK-COUNT-4: para.dot
// CHECK-NOT: para.dot
module {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x"},
      %w0: tensor<4x4xf32> {para.kind = "parameter", para.name = "w0"}, %w1: tensor<4x4xf32> {para.kind = "parameter", para.name = "w1"},
      %w2: tensor<4x4xf32> {para.kind = "parameter", para.name = "w2"}, %w3: tensor<4x4xf32> {para.kind = "parameter", para.name = "w3"},
      %w4: tensor<4x4xf32> {para.kind = "parameter", para.name = "w4"}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %a0 = para.dot %x, %w0 batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %b0 = para.relu %a0 : tensor<4x4xf32>
    %c0 = para.neg %b0 : tensor<4x4xf32>
    %d0 = para.add %c0, %x : tensor<4x4xf32>
    %a1 = para.dot %d0, %w1 batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %b1 = para.relu %a1 : tensor<4x4xf32>
    %c1 = para.neg %b1 : tensor<4x4xf32>
    %d1 = para.add %c1, %d0 : tensor<4x4xf32>
    %a2 = para.dot %d1, %w2 batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %b2 = para.relu %a2 : tensor<4x4xf32>
    %c2 = para.neg %b2 : tensor<4x4xf32>
    %d2 = para.add %c2, %d1 : tensor<4x4xf32>
    %a3 = para.dot %d2, %w3 batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %b3 = para.relu %a3 : tensor<4x4xf32>
    %c3 = para.neg %b3 : tensor<4x4xf32>
    %d3 = para.add %c3, %d2 : tensor<4x4xf32>
    %a4 = para.dot %d3, %w4 batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %b4 = para.relu %a4 : tensor<4x4xf32>
    %c4 = para.neg %b4 : tensor<4x4xf32>
    %d4 = para.add %c4, %d3 : tensor<4x4xf32>
    return %d4 : tensor<4x4xf32>
  }
}

// -----

// Something behind the row takes from its middle: all of it stays.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-5: para.dot
module {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x"},
      %w0: tensor<4x4xf32> {para.kind = "parameter", para.name = "w0"}, %w1: tensor<4x4xf32> {para.kind = "parameter", para.name = "w1"},
      %w2: tensor<4x4xf32> {para.kind = "parameter", para.name = "w2"}, %w3: tensor<4x4xf32> {para.kind = "parameter", para.name = "w3"},
      %w4: tensor<4x4xf32> {para.kind = "parameter", para.name = "w4"}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %a0 = para.dot %x, %w0 batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %b0 = para.relu %a0 : tensor<4x4xf32>
    %c0 = para.neg %b0 : tensor<4x4xf32>
    %d0 = para.add %c0, %x : tensor<4x4xf32>
    %a1 = para.dot %d0, %w1 batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %b1 = para.relu %a1 : tensor<4x4xf32>
    %c1 = para.neg %b1 : tensor<4x4xf32>
    %d1 = para.add %c1, %d0 : tensor<4x4xf32>
    %a2 = para.dot %d1, %w2 batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %b2 = para.relu %a2 : tensor<4x4xf32>
    %c2 = para.neg %b2 : tensor<4x4xf32>
    %d2 = para.add %c2, %d1 : tensor<4x4xf32>
    %a3 = para.dot %d2, %w3 batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %b3 = para.relu %a3 : tensor<4x4xf32>
    %c3 = para.neg %b3 : tensor<4x4xf32>
    %d3 = para.add %c3, %d2 : tensor<4x4xf32>
    %a4 = para.dot %d3, %w4 batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %b4 = para.relu %a4 : tensor<4x4xf32>
    %c4 = para.neg %b4 : tensor<4x4xf32>
    %d4 = para.add %c4, %d3 : tensor<4x4xf32>
    %e = para.add %d4, %d3 : tensor<4x4xf32>
    return %e : tensor<4x4xf32>
  }
}

// -----

// The first block takes from an embedding what others take from the block before it, and a constant that others share: it is of the row.
// CHECK-LABEL: func.func @main
// CHECK-SAME: para.parts = array<i64: 1, 1, 3, 1>
// CHECK-COUNT-3: para.dot
// CHECK-NOT: para.dot
module {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x"},
      %p: tensor<4x4xf32> {para.kind = "parameter", para.name = "p"},
      %w0: tensor<4x4xf32> {para.kind = "parameter", para.name = "w0"},
      %w1: tensor<4x4xf32> {para.kind = "parameter", para.name = "w1"},
      %w2: tensor<4x4xf32> {para.kind = "parameter", para.name = "w2"},
      %w3: tensor<4x4xf32> {para.kind = "parameter", para.name = "w3"},
      %w4: tensor<4x4xf32> {para.kind = "parameter", para.name = "w4"}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %e = para.add %x, %p : tensor<4x4xf32>
    %a0 = para.dot %e, %w0 batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %half = para.constant dense<0.5> : tensor<4x4xf32>
    %b0 = para.mul %a0, %half : tensor<4x4xf32>
    %c0 = para.neg %b0 : tensor<4x4xf32>
    %d0 = para.add %c0, %e : tensor<4x4xf32>
    %a1 = para.dot %d0, %w1 batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %b1 = para.mul %a1, %half : tensor<4x4xf32>
    %c1 = para.neg %b1 : tensor<4x4xf32>
    %d1 = para.add %c1, %d0 : tensor<4x4xf32>
    %a2 = para.dot %d1, %w2 batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %b2 = para.mul %a2, %half : tensor<4x4xf32>
    %c2 = para.neg %b2 : tensor<4x4xf32>
    %d2 = para.add %c2, %d1 : tensor<4x4xf32>
    %a3 = para.dot %d2, %w3 batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %b3 = para.mul %a3, %half : tensor<4x4xf32>
    %c3 = para.neg %b3 : tensor<4x4xf32>
    %d3 = para.add %c3, %d2 : tensor<4x4xf32>
    %a4 = para.dot %d3, %w4 batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %b4 = para.mul %a4, %half : tensor<4x4xf32>
    %c4 = para.neg %b4 : tensor<4x4xf32>
    %d4 = para.add %c4, %d3 : tensor<4x4xf32>
    return %d4 : tensor<4x4xf32>
  }
}
