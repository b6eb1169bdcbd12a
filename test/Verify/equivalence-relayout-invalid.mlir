// RUN: para-opt %s --para-verify-equivalence --split-input-file --verify-diagnostics
// Intent: a collective, slice, mask or view that does not fit what its operand is is refused.

// Dimension 2 of a matrix.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    // expected-error @+1 {{dimension 2 does not exist in 'tensor<2x4xf32>'}}
    %r = para.all_gather %1 2 "data" : tensor<2x4xf32> -> tensor<4x4xf32>
    return %r : tensor<4x4xf32>
  }
}

// -----

// Microbatches cannot talk to one another.
module attributes {para.mesh = #para.mesh<["data", "microbatch"], [2, 2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[], []]>}) attributes {para.schedule = [[#para<phase forward>, 0], [#para<phase forward>, 1]]} {
    %1 = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    // expected-error @+1 {{communicates over microbatch, which is no axis of this program's ranks}}
    %r = para.all_gather %1 0 "microbatch" : tensor<2x4xf32> -> tensor<4x4xf32>
    return %r : tensor<4x4xf32>
  }
}

// -----

// A whole value summed over two ranks is twice the value.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.reduce sum %x [0] : tensor<4x4xf32> -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.reduce sum %x [0] {para.origin = 0} : tensor<2x4xf32> -> tensor<4xf32>
    %2 = para.all_reduce sum %1 ["data"] : tensor<4xf32> -> tensor<4xf32>
    // expected-error @+1 {{combines over data what is not unfinished over it}}
    %r = para.all_reduce sum %2 ["data"] : tensor<4xf32> -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// The largest part of a sum is not the sum.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.reduce sum %x [0] : tensor<4x4xf32> -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.reduce sum %x [0] {para.origin = 0} : tensor<2x4xf32> -> tensor<4xf32>
    // expected-error @+1 {{combines by max an unfinished sum over data}}
    %r = para.all_reduce max %1 ["data"] : tensor<4xf32> -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// Two values in, one out.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.reduce sum %x [0] : tensor<4x4xf32> -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.reduce sum %x [0] {para.origin = 0} : tensor<2x4xf32> -> tensor<4xf32>
    // expected-error @+1 {{needs an input, and an output of its type for each}}
    %r = para.all_reduce sum %1, %1 ["data"] : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// Gathered in a dimension that is not cut.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<2x8xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    // expected-error @+1 {{gathers over data dimension 1, which is not cut}}
    %r = para.all_gather %1 1 "data" : tensor<2x4xf32> -> tensor<2x8xf32>
    return %r : tensor<2x8xf32>
  }
}

// -----

// The axis that cut first is gathered last.
module attributes {para.mesh = #para.mesh<["data", "tensor"], [2, 2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data", "tensor"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<1x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data", "tensor"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.neg %x {para.origin = 0} : tensor<1x4xf32>
    // expected-error @+1 {{gathers over data dimension 0, which is cut over data, tensor into pieces of 1}}
    %2 = para.all_gather %1 0 "data" : tensor<1x4xf32> -> tensor<2x4xf32>
    %r = para.all_gather %2 0 "tensor" : tensor<2x4xf32> -> tensor<4x4xf32>
    return %r : tensor<4x4xf32>
  }
}

// -----

// Blocks are gathered one by one.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<12xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"]], blocks = [3]>}) -> (tensor<12xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<12xf32>
    return %0 : tensor<12xf32>
  }
  func.func @stage0(%x: tensor<6xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"]], blocks = [3]>}) -> (tensor<12xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{gathers over data dimension 0, which is cut over data into pieces of 2 in each of 3 blocks}}
    %1 = para.all_gather %x 0 "data" : tensor<6xf32> -> tensor<12xf32>
    %r = para.neg %1 {para.origin = 0} : tensor<12xf32>
    return %r : tensor<12xf32>
  }
}

// -----

// Cut twice over one axis.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<1x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    // expected-error @+1 {{cuts over data what is already cut over it}}
    %r = para.shard_slice %1 0 "data" 1 : tensor<2x4xf32> -> tensor<1x4xf32>
    return %r : tensor<1x4xf32>
  }
}

// -----

// A shard of a part of a sum is not the sum's shard.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.reduce sum %x [0] : tensor<4x4xf32> -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<2xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.reduce sum %x [0] {para.origin = 0} : tensor<2x4xf32> -> tensor<4xf32>
    // expected-error @+1 {{cuts over data what is already unfinished over it}}
    %r = para.shard_slice %1 0 "data" 1 : tensor<4xf32> -> tensor<2xf32>
    return %r : tensor<2xf32>
  }
}

// -----

// Two pieces of one row do not hold four.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.reduce sum %x [0] : tensor<4x4xf32> -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<1xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.reduce sum %x [0] {para.origin = 0} : tensor<2x4xf32> -> tensor<4xf32>
    // expected-error @+1 {{cuts dimension 0 over data into pieces of 1, which do not cover 4}}
    %r = para.reduce_scatter sum %1 0 "data" : tensor<4xf32> -> tensor<1xf32>
    return %r : tensor<1xf32>
  }
}

// -----

// The update runs once; there is no microbatch then.
module attributes {para.mesh = #para.mesh<["data", "microbatch"], [2, 2]>} {
  func.func @main(%w: tensor<4xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[[]]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %w : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage0(%w: tensor<4xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[[]]>}) -> (tensor<2xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["microbatch"]]>}) attributes {para.schedule = [[#para<phase update>, 0]]} {
    %1 = para.neg %w {para.origin = 0, para.phase = #para<phase update>} : tensor<4xf32>
    // expected-error @+1 {{cuts over microbatch, of which there is no coordinate here}}
    %r = para.shard_slice %1 0 "microbatch" 1 {para.phase = #para<phase update>} : tensor<4xf32> -> tensor<2xf32>
    return %r : tensor<2xf32>
  }
}

// -----

// Four elements are no units of three.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%w: tensor<4xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[[]]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %w : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage0(%w: tensor<4xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[[]]>}) -> (tensor<3xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.neg %w {para.origin = 0} : tensor<4xf32>
    // expected-error @+1 {{cuts 4 elements in units of 3}}
    %r = para.shard_slice %1 0 "data" 3 : tensor<4xf32> -> tensor<3xf32>
    return %r : tensor<3xf32>
  }
}

// -----

// The mask leaves a row of padding as it is.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<3xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"]]>}) -> (tensor<f32> {para.kind = "output", para.name = "y"}) {
    %0 = para.reduce sum %x [0] : tensor<3xf32> -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func @stage0(%x: tensor<2xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"]]>}) -> (tensor<f32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{masks 4 elements cut over data into pieces of 2 where there are 3 cut over data into pieces of 2}}
    %1 = para.mask sum %x 0 ["data"] 4 1 : tensor<2xf32>
    %2 = para.reduce sum %1 [0] {para.origin = 0} : tensor<2xf32> -> tensor<f32>
    %r = para.all_reduce sum %2 ["data"] : tensor<f32> -> tensor<f32>
    return %r : tensor<f32>
  }
}

// -----

// The mask counts in a unit that the size is no multiple of.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<3xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"]]>}) -> (tensor<f32> {para.kind = "output", para.name = "y"}) {
    %0 = para.reduce sum %x [0] : tensor<3xf32> -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func @stage0(%x: tensor<2xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"]]>}) -> (tensor<f32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{masks 3 elements in a wrong unit where there are 3 cut over data into pieces of 2}}
    %1 = para.mask sum %x 0 ["data"] 3 2 : tensor<2xf32>
    %2 = para.reduce sum %1 [0] {para.origin = 0} : tensor<2xf32> -> tensor<f32>
    %r = para.all_reduce sum %2 ["data"] : tensor<f32> -> tensor<f32>
    return %r : tensor<f32>
  }
}

// -----

// Added up twice.
module attributes {para.mesh = #para.mesh<["data", "microbatch"], [2, 2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}) -> (tensor<4xf32> {para.kind = "gradient", para.name = "g"}) {
    %0 = para.reduce sum %x [0] : tensor<4x4xf32> -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}) -> (tensor<4xf32> {para.kind = "gradient", para.name = "g", para.sharding = #para.sharding<[[]]>}) attributes {para.schedule = [[#para<phase forward>, 0], [#para<phase forward>, 1]]} {
    %1 = para.reduce sum %x [0] {para.origin = 0} : tensor<2x4xf32> -> tensor<4xf32>
    %2 = para.accumulate %1 : tensor<4xf32>
    // expected-error @+1 {{operand 0 is summed over the microbatches and not complete in the phase forward}}
    %r = para.accumulate %2 : tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// What every microbatch has is not to be added up.
module attributes {para.mesh = #para.mesh<["data", "microbatch"], [2, 2]>} {
  func.func @main(%w: tensor<4xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[[]]>}) -> (tensor<4xf32> {para.kind = "gradient", para.name = "g"}) {
    %0 = para.neg %w : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage0(%w: tensor<4xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[[]]>}) -> (tensor<4xf32> {para.kind = "gradient", para.name = "g", para.sharding = #para.sharding<[[]]>}) attributes {para.schedule = [[#para<phase forward>, 0], [#para<phase forward>, 1]]} {
    %1 = para.neg %w {para.origin = 0} : tensor<4xf32>
    // expected-error @+1 {{adds up over the microbatches what is no unfinished sum over them}}
    %r = para.accumulate %1 : tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// Rows and columns are exchanged, not put together.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<2x6xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[[], []]>}) -> (tensor<2x6xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<2x6xf32>
    return %0 : tensor<2x6xf32>
  }
  func.func @stage0(%x: tensor<2x6xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[[], []]>}) -> (tensor<3x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.neg %x {para.origin = 0} : tensor<2x6xf32>
    // expected-error @+1 {{changes the shape of a part in a way that is no view of the whole}}
    %r = para.reshape %1 : tensor<2x6xf32> -> tensor<3x4xf32>
    return %r : tensor<3x4xf32>
  }
}

// -----

// A range that is cut has no blocks to tell apart.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<12xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"]]>}) -> (tensor<12xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<12xf32>
    return %0 : tensor<12xf32>
  }
  func.func @stage0(%x: tensor<6xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"]]>}) -> (tensor<3x2xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.neg %x {para.origin = 0} : tensor<6xf32>
    // expected-error @+1 {{changes the shape of a part in a way that is no view of the whole}}
    %r = para.reshape %1 : tensor<6xf32> -> tensor<3x2xf32>
    return %r : tensor<3x2xf32>
  }
}

// -----

// A gather that forgets a row.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<3x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    // expected-error @+1 {{result 0 has type 'tensor<3x4xf32>' where its part of para.neg has type 'tensor<4x4xf32>'}}
    %r = para.all_gather %1 0 "data" : tensor<2x4xf32> -> tensor<3x4xf32>
    return %r : tensor<3x4xf32>
  }
}
