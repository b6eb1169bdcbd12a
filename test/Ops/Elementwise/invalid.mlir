// What an op may not be is refused with the reason.
// RUN: para-opt %s --split-input-file --verify-diagnostics

func.func @types(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  // expected-error @+1 {{'para.add' op all non-scalar operands/results must have the same shape and base type}}
  %0 = "para.add"(%x, %y) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @compare(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  // expected-error @+1 {{'para.compare' op failed to verify that all of {lhs, rhs} have same type}}
  %0 = "para.compare"(%x, %y) <{predicate = #para<comparison lt>}> : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xi1>
  return
}

// -----

func.func @select(%c: tensor<2xf32>, %x: tensor<2xf32>) {
  // expected-error @+1 {{'para.select' op operand #0 must be ranked tensor of 1-bit signless integer values, but got 'tensor<2xf32>'}}
  %0 = "para.select"(%c, %x, %x) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}
