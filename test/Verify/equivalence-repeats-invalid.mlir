// RUN: para-opt %s --para-verify-equivalence --split-input-file --verify-diagnostics
// Intent: what the serial program says to compute again is the very op of that number over the same values, and a rank computes that one.

// As it should be: computed again on both sides; the consumer of the repeat is a consumer of the first.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.exp %x : tensor<4x4xf32>
    %1 = para.neg %0 : tensor<4x4xf32>
    %2 = para.exp %x {para.phase = #para<phase backward>, para.repeats = 0 : i64} : tensor<4x4xf32>
    %3 = para.mul %1, %2 {para.phase = #para<phase backward>} : tensor<4x4xf32>
    return %3 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0], [#para<phase backward>, 0]]} {
    %0 = para.exp %x {para.origin = 0, para.phase = #para<phase forward>} : tensor<2x4xf32>
    %1 = para.neg %0 {para.origin = 1, para.phase = #para<phase forward>} : tensor<2x4xf32>
    %2 = para.exp %x {para.origin = 0, para.phase = #para<phase backward>} : tensor<2x4xf32>
    %r = para.mul %1, %2 {para.origin = 3, para.phase = #para<phase backward>} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// The rank computes the op again from something else.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.exp %x : tensor<4x4xf32>
    %1 = para.neg %0 : tensor<4x4xf32>
    %2 = para.exp %x {para.phase = #para<phase backward>, para.repeats = 0 : i64} : tensor<4x4xf32>
    %3 = para.mul %1, %2 {para.phase = #para<phase backward>} : tensor<4x4xf32>
    return %3 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0], [#para<phase backward>, 0]]} {
    %0 = para.exp %x {para.origin = 0, para.phase = #para<phase forward>} : tensor<2x4xf32>
    %1 = para.neg %0 {para.origin = 1, para.phase = #para<phase forward>} : tensor<2x4xf32>
    // expected-error @+1 {{operand 0 is a part of}}
    %2 = para.exp %1 {para.origin = 0, para.phase = #para<phase backward>} : tensor<2x4xf32>
    %r = para.mul %1, %2 {para.origin = 3, para.phase = #para<phase backward>} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// Other operands.
module attributes {para.mesh = #para.mesh<["data"], [1]>} {
  func.func @main(%x: tensor<4xf32> {para.kind = "input", para.name = "x"}) -> (tensor<4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.exp %x : tensor<4xf32>
    // expected-error @+1 {{is said to compute para.exp again and takes other operands}}
    %1 = para.exp %0 {para.repeats = 0 : i64} : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func @stage0(%x: tensor<4xf32> {para.kind = "input", para.name = "x"}) -> (tensor<4xf32> {para.kind = "output", para.name = "y"}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %0 = para.exp %x {para.origin = 0} : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// Another op.
module attributes {para.mesh = #para.mesh<["data"], [1]>} {
  func.func @main(%x: tensor<4xf32> {para.kind = "input", para.name = "x"}) -> (tensor<4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.exp %x : tensor<4xf32>
    // expected-error @+1 {{is said to compute para.exp again and is another op}}
    %1 = para.neg %x {para.repeats = 0 : i64} : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func @stage0(%x: tensor<4xf32> {para.kind = "input", para.name = "x"}) -> (tensor<4xf32> {para.kind = "output", para.name = "y"}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %0 = para.exp %x {para.origin = 0} : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// An attribute that counts, and one that says of which microbatch a statistic is.
module attributes {para.mesh = #para.mesh<["data"], [1]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x"}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.transpose %x [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
    // expected-error @+1 {{is said to compute para.transpose again and has another permutation}}
    %1 = para.transpose %x [0, 1] {para.repeats = 0 : i64} : tensor<4x4xf32> -> tensor<4x4xf32>
    return %1 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x"}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %0 = para.transpose %x [1, 0] {para.origin = 0} : tensor<4x4xf32> -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}

// -----

module attributes {para.mesh = #para.mesh<["microbatch"], [2]>} {
  func.func @main(%x: tensor<4xf32> {para.kind = "input", para.name = "x"}) -> (tensor<f32> {para.kind = "output", para.name = "y"}) {
    %0 = para.reduce sum %x [0] : tensor<4xf32> -> tensor<f32>
    // expected-error @+1 {{is said to compute para.reduce again and has another para.local}}
    %1 = para.reduce sum %x [0] {para.repeats = 0 : i64, para.local = ["microbatch"]} : tensor<4xf32> -> tensor<f32>
    return %1 : tensor<f32>
  }
  func.func @stage0(%x: tensor<4xf32> {para.kind = "input", para.name = "x"}) -> (tensor<f32> {para.kind = "output", para.name = "y"}) attributes {para.schedule = [[#para<phase forward>, 0], [#para<phase forward>, 1]]} {
    %0 = para.reduce sum %x [0] {para.origin = 0} : tensor<4xf32> -> tensor<f32>
    return %0 : tensor<f32>
  }
}

// -----

// Nothing that comes before.
module attributes {para.mesh = #para.mesh<["data"], [1]>} {
  func.func @main(%x: tensor<4xf32> {para.kind = "input", para.name = "x"}) -> (tensor<4xf32> {para.kind = "output", para.name = "y"}) {
    // expected-error @+1 {{is said to compute op 1 of the serial program again, which does not come before it}}
    %0 = para.exp %x {para.repeats = 1 : i64} : tensor<4xf32>
    %1 = para.exp %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage0(%x: tensor<4xf32> {para.kind = "input", para.name = "x"}) -> (tensor<4xf32> {para.kind = "output", para.name = "y"}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %0 = para.exp %x {para.origin = 0} : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
