// RUN: para-opt %s --para-verify-equivalence --split-input-file --verify-diagnostics
// Intent: an op that does not do to the parts what its serial op does to the whole is refused.

// A sum of fewer terms.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.add_n %x, %x, %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{has another number of operands or results than the serial op}}
    %r = para.add_n %x, %x {para.origin = 0} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// The origin is a hint: an op of another kind is no part of it.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.exp %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{is said to be a part of a para.exp}}
    %r = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// An operand that is a part of something else.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %1 = para.neg %x : tensor<4x4xf32>
    %0 = para.exp %1 : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    // expected-error @+1 {{operand 0 is a part of argument 'x' where the serial op takes para.neg}}
    %r = para.exp %x {para.origin = 1} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// A view with its blocks apart is for the ops that partitioning adds.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[[]]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage0(%x: tensor<4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[[]]>}) -> (tensor<2x2xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.reshape %x : tensor<4xf32> -> tensor<2x2xf32>
    // expected-error @+1 {{operand 0 is used in another shape than its own}}
    %r = para.neg %1 {para.origin = 0} : tensor<2x2xf32>
    return %r : tensor<2x2xf32>
  }
}

// -----

// Pieces of 6 are no whole rows of 4.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<12xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"]]>}) -> (tensor<3x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.reshape %x : tensor<12xf32> -> tensor<3x4xf32>
    return %0 : tensor<3x4xf32>
  }
  func.func @stage0(%x: tensor<6xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"]]>}) -> (tensor<3x2xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{operand 0 is cut over data into pieces of 6 in dimension 0, which cuts none of the op's loops}}
    %r = para.reshape %x {para.origin = 0} : tensor<6xf32> -> tensor<3x2xf32>
    return %r : tensor<3x2xf32>
  }
}

// -----

// Four rows of three as three rows of four: no piece of the one is a piece of the other.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x3xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<3x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.reshape %x : tensor<4x3xf32> -> tensor<3x4xf32>
    return %0 : tensor<3x4xf32>
  }
  func.func @stage0(%x: tensor<2x3xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<3x2xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{operand 0 is cut over data where the op needs all of it}}
    %r = para.reshape %x {para.origin = 0} : tensor<2x3xf32> -> tensor<3x2xf32>
    return %r : tensor<3x2xf32>
  }
}

// -----

// One coordinate picks one range of one loop.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}, %z: tensor<4x4xf32> {para.kind = "input", para.name = "z", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y"}) {
    %1 = para.dot %x, %z batch [] x [] contract [0] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %0 = para.reduce sum %1 [0] : tensor<4x4xf32> -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}, %z: tensor<2x4xf32> {para.kind = "input", para.name = "z", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %g = para.all_gather %z 0 "data" : tensor<2x4xf32> -> tensor<4x4xf32>
    %h = para.shard_slice %g 1 "data" 1 : tensor<4x4xf32> -> tensor<4x2xf32>
    %i = para.all_gather %h 1 "data" : tensor<4x2xf32> -> tensor<4x4xf32>
    %j = para.all_gather %x 0 "data" : tensor<2x4xf32> -> tensor<4x4xf32>
    %k = para.shard_slice %j 1 "data" 1 : tensor<4x4xf32> -> tensor<4x2xf32>
    // expected-error @+1 {{the axis data cuts two loops of the op at once}}
    %m = para.dot %k, %h batch [] x [] contract [0] x [0] {para.origin = 0} : tensor<4x2xf32>, tensor<4x2xf32> -> tensor<2x2xf32>
    %r = para.reduce sum %i [0] {para.origin = 1} : tensor<4x4xf32> -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// The terms of an addition are cut alike, or not at all.
module attributes {para.mesh = #para.mesh<["data", "tensor"], [2, 2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}, %w: tensor<4x4xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[[], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.add %x, %w : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}, %w: tensor<4x4xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[[], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %g = para.all_gather %x 0 "data" : tensor<2x4xf32> -> tensor<4x4xf32>
    %1 = para.shard_slice %g 0 "data" 1 : tensor<4x4xf32> -> tensor<2x4xf32>
    %2 = para.shard_slice %w 0 "tensor" 1 : tensor<4x4xf32> -> tensor<2x4xf32>
    // expected-error @+1 {{operand 0 is cut over data into pieces of 2 where operand 1 is cut over tensor into pieces of 2}}
    %3 = para.add %1, %2 {para.origin = 0} : tensor<2x4xf32>
    %r = para.all_gather %3 0 "data" : tensor<2x4xf32> -> tensor<4x4xf32>
    return %r : tensor<4x4xf32>
  }
}

// -----

// Counting goes on from where the shard begins: size, unit and axes are those of the loop.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main() -> (tensor<4xi64> {para.kind = "output", para.name = "y"}) {
    %0 = para.iota 0 : tensor<4xi64>
    return %0 : tensor<4xi64>
  }
  func.func @stage0() -> (tensor<2xi64> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{describes a shard of something else than its loop}}
    %r = para.iota 0 {axes = ["data"], size = 6, unit = 1, para.origin = 0} : tensor<2xi64>
    return %r : tensor<2xi64>
  }
}

// -----

// A table that is cut and a gather that does not say so.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%w: tensor<6x2xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[["data"], []]>}, %i: tensor<4xi64> {para.kind = "input", para.name = "i", para.sharding = #para.sharding<[[]]>}) -> (tensor<4x2xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.gather %w, %i 0 : tensor<6x2xf32>, tensor<4xi64> -> tensor<4x2xf32>
    return %0 : tensor<4x2xf32>
  }
  func.func @stage0(%w: tensor<3x2xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[["data"], []]>}, %i: tensor<4xi64> {para.kind = "input", para.name = "i", para.sharding = #para.sharding<[[]]>}) -> (tensor<4x2xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{says that its shard is not cut where it is cut over data into pieces of 3}}
    %1 = para.gather %w, %i 0 {para.origin = 0} : tensor<3x2xf32>, tensor<4xi64> -> tensor<4x2xf32>
    %r = para.all_reduce sum %1 ["data"] : tensor<4x2xf32> -> tensor<4x2xf32>
    return %r : tensor<4x2xf32>
  }
}

// -----

// A sum over data cannot meet what is cut over data.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}, %z: tensor<4x4xf32> {para.kind = "input", para.name = "z", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y"}) {
    %1 = para.reduce sum %x [0] : tensor<4x4xf32> -> tensor<4xf32>
    %0 = para.dot %z, %1 batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4xf32> -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}, %z: tensor<2x4xf32> {para.kind = "input", para.name = "z", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<2xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.reduce sum %x [0] {para.origin = 0} : tensor<2x4xf32> -> tensor<4xf32>
    // expected-error @+1 {{one operand is an unfinished sum over data, which cuts another}}
    %r = para.dot %z, %1 batch [] x [] contract [1] x [0] {para.origin = 1} : tensor<2x4xf32>, tensor<4xf32> -> tensor<2xf32>
    return %r : tensor<2xf32>
  }
}

// -----

// An exponential of a part of a sum.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y"}) {
    %1 = para.reduce sum %x [0] : tensor<4x4xf32> -> tensor<4xf32>
    %0 = para.exp %1 : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.reduce sum %x [0] {para.origin = 0} : tensor<2x4xf32> -> tensor<4xf32>
    // expected-error @+1 {{operand 0 is an unfinished sum over data where the op needs the whole}}
    %r = para.exp %1 {para.origin = 1} : tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// Every rank would add the bias.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}, %b: tensor<4xf32> {para.kind = "parameter", para.name = "b", para.sharding = #para.sharding<[[]]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y"}) {
    %1 = para.reduce sum %x [0] : tensor<4x4xf32> -> tensor<4xf32>
    %0 = para.add %1, %b : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}, %b: tensor<4xf32> {para.kind = "parameter", para.name = "b", para.sharding = #para.sharding<[[]]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.reduce sum %x [0] {para.origin = 0} : tensor<2x4xf32> -> tensor<4xf32>
    // expected-error @+1 {{operand 0 is an unfinished sum over data and the others are whole}}
    %r = para.add %1, %b {para.origin = 1} : tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// A product of two parts is no part of the product.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y"}) {
    %1 = para.reduce sum %x [0] : tensor<4x4xf32> -> tensor<4xf32>
    %0 = para.mul %1, %1 : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.reduce sum %x [0] {para.origin = 0} : tensor<2x4xf32> -> tensor<4xf32>
    // expected-error @+1 {{operand 0 is an unfinished sum over data together with a factor of it}}
    %r = para.mul %1, %1 {para.origin = 1} : tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// Three rows over two ranks: the last row of the second is padding.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<3x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.reduce sum %x [0] : tensor<3x4xf32> -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{operand 0 has padding in dimension 0 that takes part in a sum}}
    %1 = para.reduce sum %x [0] {para.origin = 0} : tensor<2x4xf32> -> tensor<4xf32>
    %r = para.all_reduce sum %1 ["data"] : tensor<4xf32> -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// Zeros are no padding for a maximum.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<3x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.reduce max %x [0] : tensor<3x4xf32> -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %m = para.mask sum %x 0 ["data"] 3 1 : tensor<2x4xf32>
    // expected-error @+1 {{operand 0 has padding in dimension 0 that takes part in a max}}
    %1 = para.reduce max %m [0] {para.origin = 0} : tensor<2x4xf32> -> tensor<4xf32>
    %r = para.all_reduce max %1 ["data"] : tensor<4xf32> -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// Rows cut over data and columns cut over tensor are no range of the flat tensor.
module attributes {para.mesh = #para.mesh<["data", "tensor"], [2, 2]>} {
  func.func @main(%x: tensor<4x6xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], ["tensor"]]>}) -> (tensor<24xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.reshape %x : tensor<4x6xf32> -> tensor<24xf32>
    return %0 : tensor<24xf32>
  }
  func.func @stage0(%x: tensor<2x3xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], ["tensor"]]>}) -> (tensor<6xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{two loops of dimension 0 of result 0 are cut}}
    %r = para.reshape %x {para.origin = 0} : tensor<2x3xf32> -> tensor<6xf32>
    return %r : tensor<6xf32>
  }
}

// -----

// Block 1 of three begins at the length of a block, here as there.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<12xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"]], blocks = [3]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.slice %x [4] [1] : tensor<12xf32> -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage0(%x: tensor<6xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"]], blocks = [3]>}) -> (tensor<2xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{has offsets = array<i64: 4> where the serial op's array<i64: 4> was to be kept}}
    %r = para.slice %x [4] [1] {para.origin = 0} : tensor<6xf32> -> tensor<2xf32>
    return %r : tensor<2xf32>
  }
}

// -----

// An attribute of its own.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{has an attribute note that the serial op does not have}}
    %r = para.neg %x {note = 1, para.origin = 0} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// The part of a broadcast that nobody asked for.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%b: tensor<4xf32> {para.kind = "parameter", para.name = "b", para.sharding = #para.sharding<[[]]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.broadcast %b [1] : tensor<4xf32> -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%b: tensor<4xf32> {para.kind = "parameter", para.name = "b", para.sharding = #para.sharding<[[]]>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{result 0 has type 'tensor<2x4xf32>' where its part of para.broadcast has type 'tensor<4x4xf32>'}}
    %r = para.broadcast %b [1] {para.origin = 0} : tensor<4xf32> -> tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// No op of the serial program.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{is a part of no op of the serial program}}
    %r = para.neg %x {para.origin = 7} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// Of rows that are pairs, halves are no range of the flat tensor.
module attributes {para.mesh = #para.mesh<["data", "tensor"], [2, 2]>} {
  func.func @main(%x: tensor<4x6xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], ["tensor"]]>}) -> (tensor<24xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.reshape %x : tensor<4x6xf32> -> tensor<24xf32>
    return %0 : tensor<24xf32>
  }
  func.func @stage0(%x: tensor<2x3xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], ["tensor"]]>}) -> (tensor<6xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data", "tensor"]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{two loops of dimension 0 of result 0 are cut}}
    %r = para.reshape %x {para.origin = 0} : tensor<2x3xf32> -> tensor<6xf32>
    return %r : tensor<6xf32>
  }
}

// -----

// One row that is on one rank only is not the row that all have.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<1x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}, %w: tensor<1x4xf32> {para.kind = "input", para.name = "w", para.sharding = #para.sharding<[[], []]>}) -> (tensor<1x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.add %x, %w : tensor<1x4xf32>
    return %0 : tensor<1x4xf32>
  }
  func.func @stage0(%x: tensor<1x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}, %w: tensor<1x4xf32> {para.kind = "input", para.name = "w", para.sharding = #para.sharding<[[], []]>}) -> (tensor<1x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{operand 0 is cut over data where the op needs all of it}}
    %r = para.add %x, %w {para.origin = 0} : tensor<1x4xf32>
    return %r : tensor<1x4xf32>
  }
}

// -----

// Nor is what one rank has what all return.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<1x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<1x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<1x4xf32>
    return %0 : tensor<1x4xf32>
  }
  func.func @stage0(%x: tensor<1x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<1x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{result 'y' is not the serial result: dimension 0 is cut over data into pieces of 1 and declared to be not cut}}
    %r = para.neg %x {para.origin = 0} : tensor<1x4xf32>
    return %r : tensor<1x4xf32>
  }
}
