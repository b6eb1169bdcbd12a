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
  // expected-error @+1 {{'para.select' op operand #0 must be tensor of static shape of 1-bit signless integer values, but got 'tensor<2xf32>'}}
  %0 = "para.select"(%c, %x, %x) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @compare_shape(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.compare' op all non-scalar operands/results must have the same shape}}
  %0 = para.compare eq %x, %x : tensor<2x3xf32> -> tensor<3xi1>
  return
}

// -----

func.func @cast_shape(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.cast' op all non-scalar operands/results must have the same shape}}
  %0 = para.cast %x : tensor<2x3xf32> -> tensor<2xf64>
  return
}

// -----

func.func @select_shape(%x: tensor<2x3xf32>, %c: tensor<3xi1>) {
  // expected-error @+1 {{'para.select' op all non-scalar operands/results must have the same shape}}
  %0 = para.select %c, %x, %x : tensor<3xi1>, tensor<2x3xf32>
  return
}

// -----

func.func @exp_of_integers(%x: tensor<2xi32>) {
  // expected-error @+1 {{'para.exp' op operand #0 must be tensor of static shape}}
  %0 = para.exp %x : tensor<2xi32>
  return
}

// -----

func.func @pow_of_integers(%x: tensor<2xi64>) {
  // expected-error @+1 {{'para.pow' op operand #0 must be tensor of static shape}}
  %0 = para.pow %x, %x : tensor<2xi64>
  return
}

// -----

func.func @not_of_floats(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.not' op operand #0 must be tensor of static shape of 1-bit}}
  %0 = para.not %x : tensor<2x3xf32>
  return
}

// -----

func.func @dynamic(%x: tensor<?xf32>) {
  // expected-error @+1 {{'para.neg' op operand #0 must be tensor of static shape}}
  %0 = para.neg %x : tensor<?xf32>
  return
}

// -----

func.func @element_type(%x: tensor<2xi3>) {
  // expected-error @+1 {{'para.neg' op operand #0 must be tensor of static shape}}
  %0 = para.neg %x : tensor<2xi3>
  return
}
