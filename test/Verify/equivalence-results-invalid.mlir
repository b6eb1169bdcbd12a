// RUN: para-opt %s --para-verify-equivalence --split-input-file --verify-diagnostics
// Intent: a result that is not the serial one, whole and where it is declared to be, is refused.

// The op before the last.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %1 = para.neg %x : tensor<4x4xf32>
    %0 = para.exp %1 : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{result 'y' is not the serial result: it is a part of para.neg and not of para.exp}}
    %r = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// Its blocks apart.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<2x2x2xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    // expected-error @+1 {{result 'y' is not the serial result: it has another shape}}
    %r = para.reshape %1 : tensor<2x4xf32> -> tensor<2x2x2xf32>
    return %r : tensor<2x2x2xf32>
  }
}

// -----

// The sum over data is left to nobody.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.reduce sum %x [0] : tensor<4x4xf32> -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{result 'y' is not the serial result: its sum over data is never finished}}
    %r = para.reduce sum %x [0] {para.origin = 0} : tensor<2x4xf32> -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// A shard that is declared to be the whole.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{result 'y' is not the serial result: dimension 0 is cut over data into pieces of 2 and declared to be not cut}}
    %r = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// A sharding of another rank.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error-re @+1 {{has the sharding {{.*}}, which is none of a finished 'tensor<4x4xf32>'}}
    %r = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// What the serial program overwrites is another one.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%w: tensor<4xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[[]]>}, %v: tensor<4xf32> {para.kind = "parameter", para.name = "v", para.sharding = #para.sharding<[[]]>}) -> (tensor<4xf32> {para.kind = "update", para.name = "w", para.updates = "w"}) {
    %0 = para.neg %w : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage0(%w: tensor<4xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[[]]>}, %v: tensor<4xf32> {para.kind = "parameter", para.name = "v", para.sharding = #para.sharding<[[]]>}) -> (tensor<4xf32> {para.kind = "update", para.name = "w", para.sharding = #para.sharding<[[]]>, para.updates = "v"}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{'w' does not have the serial program's para.updates}}
    %r = para.neg %w {para.origin = 0} : tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// The serial program overwrites nothing.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%w: tensor<4xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[[]]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "w"}) {
    %0 = para.neg %w : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage0(%w: tensor<4xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[[]]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "w", para.sharding = #para.sharding<[[]]>, para.updates = "w"}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{result 'w' is not the serial result: it overwrites another argument}}
    %r = para.neg %w {para.origin = 0} : tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// An update of what is kept elsewhere.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%w: tensor<4xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[[]]>}, %v: tensor<4xf32> {para.kind = "parameter", para.name = "v", para.sharding = #para.sharding<[[]]>}) -> (tensor<4xf32> {para.kind = "update", para.name = "v", para.updates = "v"}) {
    %0 = para.neg %w : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage0(%w: tensor<4xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[[]]>}) -> (tensor<4xf32> {para.kind = "update", para.name = "v", para.sharding = #para.sharding<[[]]>, para.updates = "v"}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{result 'v' is not the serial result: 'v' is not kept on its stage}}
    %r = para.neg %w {para.origin = 0} : tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// An update that does not fit over its argument.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%w: tensor<4xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[[]]>}) -> (tensor<4xf32> {para.kind = "update", para.name = "w", para.updates = "w"}) {
    %0 = para.neg %w : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage0(%w: tensor<4xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[[]]>}) -> (tensor<2xf32> {para.kind = "update", para.name = "w", para.sharding = #para.sharding<[["data"]]>, para.updates = "w"}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.neg %w {para.origin = 0} : tensor<4xf32>
    // expected-error @+1 {{result 'w' is not the serial result: it is cut in another way than 'w', which it overwrites}}
    %r = para.shard_slice %1 0 "data" 1 : tensor<4xf32> -> tensor<2xf32>
    return %r : tensor<2xf32>
  }
}

// -----

// The loss of the last microbatch.
module attributes {para.mesh = #para.mesh<["data", "microbatch"], [2, 2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}) -> (tensor<f32> {para.kind = "output", para.name = "y"}) {
    %0 = para.reduce sum %x [0, 1] {para.local = ["microbatch"]} : tensor<4x4xf32> -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}) -> (tensor<f32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[]>}) attributes {para.schedule = [[#para<phase forward>, 0], [#para<phase forward>, 1]]} {
    // expected-error @+1 {{result 'y' is not the serial result: it is another one in each microbatch}}
    %r = para.reduce sum %x [0, 1] {para.origin = 0} : tensor<2x4xf32> -> tensor<f32>
    return %r : tensor<f32>
  }
}

// -----

// The gradient of the last microbatch.
module attributes {para.mesh = #para.mesh<["data", "microbatch"], [2, 2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}) -> (tensor<4x4xf32> {para.kind = "gradient", para.name = "y"}) {
    %0 = para.neg %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}) -> (tensor<2x4xf32> {para.kind = "gradient", para.name = "y", para.sharding = #para.sharding<[["microbatch"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0], [#para<phase forward>, 1]]} {
    // expected-error @+1 {{result 'y' is not the serial result: it holds one microbatch alone}}
    %r = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// A result that nobody makes.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  // expected-error @+1 {{result 'z' is made by no stage}}
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}, tensor<4x4xf32> {para.kind = "output", para.name = "z"}) {
    %0 = para.neg %x : tensor<4x4xf32>
    return %0, %0 : tensor<4x4xf32>, tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %r = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// A result that the serial program does not have.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}, tensor<2x4xf32> {para.kind = "output", para.name = "z", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{result 'z' is none of the serial program}}
    %r = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    return %r, %r : tensor<2x4xf32>, tensor<2x4xf32>
  }
}

// -----

// One result from two stages.
module attributes {para.mesh = #para.mesh<["pipeline", "data"], [2, 2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %r = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
  func.func @stage1(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{result 'y' is made by two stages}}
    %r = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}
