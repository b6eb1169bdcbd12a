// RUN: para-opt %s --para-verify-equivalence --split-input-file --verify-diagnostics
// Intent: arguments, messages, phases and schedules that do not make the serial program are refused.

// Nothing is known of the ranks.
// expected-error @+1 {{has no para.mesh: nothing is known of its ranks}}
module {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %r = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// A stage is missing.
// expected-error @+1 {{has no program of stage 1}}
module attributes {para.mesh = #para.mesh<["pipeline", "data"], [2, 2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %r = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// An argument that is partial.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  // expected-error-re @+1 {{has the sharding {{.*}}, which is none of a finished 'tensor<4x4xf32>'}}
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []], partial = ["tensor"] sum>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %r = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// Four rows in units of three.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  // expected-error-re @+1 {{has the sharding {{.*}}, which does not cut 'tensor<4x4xf32>'}}
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []], units = [3, 1]>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %r = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// An argument of another kind.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  // expected-error @+1 {{argument 'x' of stage 0 is none of the serial program}}
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "parameter", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %r = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// The reader of the input was told to cut rows.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  // expected-error @+1 {{argument 'x' of stage 0 does not have its declared sharding}}
  func.func @stage0(%x: tensor<4x2xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[[], ["data"]]>}) -> (tensor<4x2xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %r = para.neg %x {para.origin = 0} : tensor<4x2xf32>
    return %r : tensor<4x2xf32>
  }
}

// -----

// Half of the rows are missing.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  // expected-error @+1 {{argument 'x' of stage 0 has type 'tensor<1x4xf32>', which does not follow from its sharding}}
  func.func @stage0(%x: tensor<1x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<1x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %r = para.neg %x {para.origin = 0} : tensor<1x4xf32>
    return %r : tensor<1x4xf32>
  }
}

// -----

// Its bytes are said to be elsewhere.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%w: tensor<4xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[[]]>, para.source = #para.source<"m.onnx", 0, 16, f32>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %w : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  // expected-error @+1 {{'w' does not have the serial program's para.source}}
  func.func @stage0(%w: tensor<4xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[[]]>, para.source = #para.source<"m.onnx", 16, 16, f32>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %r = para.neg %w {para.origin = 0} : tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// A checkpoint would hold another shape.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%w: tensor<4xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[[]]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %w : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  // expected-error @+1 {{'w' is said to be tensor<2x2xf32> and is 'tensor<4xf32>'}}
  func.func @stage0(%w: tensor<4xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[[]]>, para.global = tensor<2x2xf32>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %r = para.neg %w {para.origin = 0} : tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// One parameter on two stages.
module attributes {para.mesh = #para.mesh<["pipeline", "data"], [2, 2]>} {
  func.func @main(%w: tensor<4xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[[]]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %w : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage0(%w: tensor<4xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[[]]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %r = para.neg %w {para.origin = 0} : tensor<4xf32>
    return %r : tensor<4xf32>
  }
  // expected-error @+1 {{argument 'w' is kept on two stages, of which only one would be updated}}
  func.func @stage1(%w: tensor<4xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[[]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    return
  }
}

// -----

// A message that nobody sends.
module attributes {para.mesh = #para.mesh<["pipeline", "data"], [2, 2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %1 = para.neg %x : tensor<4x4xf32>
    %0 = para.exp %1 : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    return
  }
  func.func @stage1() -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{receives what is never sent to it}}
    %2 = para.recv from 0 tag 0 : tensor<2x4xf32>
    %r = para.exp %2 {para.origin = 1} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// Two messages with one tag.
module attributes {para.mesh = #para.mesh<["pipeline", "data"], [2, 2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %1 = para.neg %x : tensor<4x4xf32>
    %0 = para.exp %1 : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    para.send %1 to 1 tag 0 : tensor<2x4xf32>
    // expected-error @+1 {{sends a second message with tag 0 to stage 1}}
    para.send %1 to 1 tag 0 : tensor<2x4xf32>
    return
  }
  func.func @stage1() -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %2 = para.recv from 0 tag 0 : tensor<2x4xf32>
    %r = para.exp %2 {para.origin = 1} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// A message that is sent once a step and received by each microbatch.
module attributes {para.mesh = #para.mesh<["pipeline", "data"], [2, 2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %1 = para.neg %x : tensor<4x4xf32>
    %0 = para.exp %1 : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase prepare>, 0]]} {
    %1 = para.neg %x {para.origin = 0, para.phase = #para<phase prepare>} : tensor<2x4xf32>
    para.send %1 to 1 tag 0 {para.phase = #para<phase prepare>} : tensor<2x4xf32>
    return
  }
  func.func @stage1() -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{receives in another phase than it is sent in}}
    %2 = para.recv from 0 tag 0 : tensor<2x4xf32>
    %r = para.exp %2 {para.origin = 1} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// A message of another type.
module attributes {para.mesh = #para.mesh<["pipeline", "data"], [2, 2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %1 = para.neg %x : tensor<4x4xf32>
    %0 = para.exp %1 : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    para.send %1 to 1 tag 0 : tensor<2x4xf32>
    return
  }
  func.func @stage1() -> (tensor<4x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{result 0 has type 'tensor<4x4xf32>' where its part of para.neg has type 'tensor<2x4xf32>'}}
    %2 = para.recv from 0 tag 0 : tensor<4x4xf32>
    %r = para.exp %2 {para.origin = 1} : tensor<4x4xf32>
    return %r : tensor<4x4xf32>
  }
}

// -----

// Read before it is made.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %1 = para.neg %x : tensor<4x4xf32>
    %0 = para.exp %1 : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0], [#para<phase backward>, 0]]} {
    %1 = para.neg %x {para.origin = 0, para.phase = #para<phase backward>} : tensor<2x4xf32>
    // expected-error @+1 {{operand 0 is made in the later phase backward}}
    %r = para.exp %1 {para.origin = 1} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// A sum over the microbatches, read while it grows.
module attributes {para.mesh = #para.mesh<["data", "microbatch"], [2, 2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}) -> (tensor<4xf32> {para.kind = "gradient", para.name = "g"}) {
    %0 = para.reduce sum %x [0] : tensor<4x4xf32> -> tensor<4xf32>
    %1 = para.neg %0 : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}) -> (tensor<4xf32> {para.kind = "gradient", para.name = "g", para.sharding = #para.sharding<[[]]>}) attributes {para.schedule = [[#para<phase forward>, 0], [#para<phase forward>, 1], [#para<phase backward>, 0], [#para<phase backward>, 1]]} {
    %1 = para.reduce sum %x [0] {para.origin = 0} : tensor<2x4xf32> -> tensor<4xf32>
    %2 = para.accumulate %1 : tensor<4xf32>
    // expected-error @+1 {{operand 0 is summed over the microbatches and not complete in the phase backward}}
    %r = para.neg %2 {para.origin = 1, para.phase = #para<phase backward>} : tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// The update would see the last microbatch alone.
module attributes {para.mesh = #para.mesh<["data", "microbatch"], [2, 2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}) -> (tensor<4xf32> {para.kind = "gradient", para.name = "g"}) {
    %0 = para.reduce sum %x [0] : tensor<4x4xf32> -> tensor<4xf32>
    %1 = para.neg %0 : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}) -> (tensor<4xf32> {para.kind = "gradient", para.name = "g", para.sharding = #para.sharding<[[]]>}) attributes {para.schedule = [[#para<phase forward>, 0], [#para<phase forward>, 1], [#para<phase update>, 0]]} {
    %1 = para.reduce sum %x [0] {para.origin = 0} : tensor<2x4xf32> -> tensor<4xf32>
    // expected-error @+1 {{operand 0 belongs to one microbatch and is used once a step}}
    %r = para.neg %1 {para.origin = 1, para.phase = #para<phase update>} : tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// Each microbatch overwrites the running mean, so that the backward pass would read a later one.
module attributes {para.mesh = #para.mesh<["data", "microbatch"], [2, 2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}, %b: tensor<4xf32> {para.kind = "buffer", para.name = "b", para.sharding = #para.sharding<[[]]>}) -> (tensor<4xf32> {para.kind = "update", para.name = "b", para.updates = "b"}, tensor<4xf32> {para.kind = "gradient", para.name = "g"}) {
    %s = para.reduce sum %x [0] {para.local = ["microbatch"]} : tensor<4x4xf32> -> tensor<4xf32>
    %0 = para.add %b, %s : tensor<4xf32>
    %1 = para.neg %b : tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}, %b: tensor<4xf32> {para.kind = "buffer", para.name = "b", para.sharding = #para.sharding<[[]]>}) -> (tensor<4xf32> {para.kind = "update", para.name = "b", para.sharding = #para.sharding<[[]]>, para.updates = "b"}, tensor<4xf32> {para.kind = "gradient", para.name = "g", para.sharding = #para.sharding<[[]]>}) attributes {para.schedule = [[#para<phase forward>, 0], [#para<phase forward>, 1], [#para<phase backward>, 0], [#para<phase backward>, 1]]} {
    %s = para.reduce sum %x [0] {para.origin = 0} : tensor<2x4xf32> -> tensor<4xf32>
    %u = para.add %b, %s {para.origin = 1} : tensor<4xf32>
    // expected-error @+1 {{operand 0 is overwritten by each microbatch in the phase forward and read in another}}
    %1 = para.neg %b {para.origin = 2, para.phase = #para<phase backward>} : tensor<4xf32>
    return %u, %1 : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// No schedule.
module attributes {para.mesh = #para.mesh<["data", "microbatch"], [2, 2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  // expected-error @+1 {{has no schedule}}
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["microbatch"], []]>}) {
    %r = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// There are two microbatches.
module attributes {para.mesh = #para.mesh<["data", "microbatch"], [2, 2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  // expected-error @+1 {{runs forward of microbatch 2, of which there are 2}}
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["microbatch"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0], [#para<phase forward>, 2]]} {
    %r = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// One microbatch twice.
module attributes {para.mesh = #para.mesh<["data", "microbatch"], [2, 2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  // expected-error @+1 {{runs forward of microbatch 0 twice}}
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["microbatch"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0], [#para<phase forward>, 0]]} {
    %r = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// One microbatch is left out.
module attributes {para.mesh = #para.mesh<["data", "microbatch"], [2, 2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["microbatch"], []]>}) attributes {para.schedule = [[#para<phase forward>, 1]]} {
    // expected-error @+1 {{is in the phase forward, which does not run for every microbatch}}
    %r = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// The update first.
module attributes {para.mesh = #para.mesh<["data", "microbatch"], [2, 2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  // expected-error @+1 {{runs forward of microbatch 0 after update}}
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["microbatch"], []]>}) attributes {para.schedule = [[#para<phase update>, 0], [#para<phase forward>, 0], [#para<phase forward>, 1]]} {
    %r = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// Backward before forward.
module attributes {para.mesh = #para.mesh<["data", "microbatch"], [2, 2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  // expected-error @+1 {{runs forward of microbatch 1 after its backward}}
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["microbatch"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0], [#para<phase backward>, 1], [#para<phase forward>, 1]]} {
    %r = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// An action that is none.
module attributes {para.mesh = #para.mesh<["data", "microbatch"], [2, 2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  // expected-error @+1 {{has the action 7 : i64, which is no phase of a microbatch}}
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["microbatch"], []]>}) attributes {para.schedule = [7]} {
    %r = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// What a later chunk of the model makes, read by an earlier one.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %1 = para.neg %x : tensor<4x4xf32>
    %0 = para.exp %1 : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0], [#para<phase forward, 1>, 0]]} {
    %1 = para.neg %x {para.origin = 0, para.phase = #para<phase forward, 1>} : tensor<2x4xf32>
    // expected-error @+1 {{operand 0 is made in the later phase forward of chunk 1}}
    %r = para.exp %1 {para.origin = 1} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// Gradients of a late chunk's weights are no earlier than an early chunk's backward pass.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %1 = para.neg %x : tensor<4x4xf32>
    %0 = para.exp %1 : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase weight, 1>, 0], [#para<phase backward>, 0]]} {
    %1 = para.neg %x {para.origin = 0, para.phase = #para<phase weight, 1>} : tensor<2x4xf32>
    // expected-error @+1 {{operand 0 is made in the later phase weight of chunk 1}}
    %r = para.exp %1 {para.origin = 1, para.phase = #para<phase backward>} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// The second chunk before the first.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %1 = para.neg %x : tensor<4x4xf32>
    return %1 : tensor<4x4xf32>
  }
  // expected-error @+1 {{runs forward of microbatch 0 after its forward of chunk 1}}
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward, 1>, 0], [#para<phase forward>, 0]]} {
    %1 = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    return %1 : tensor<2x4xf32>
  }
}
