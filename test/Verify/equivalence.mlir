// RUN: para-opt %s --para-verify-equivalence --split-input-file --verify-diagnostics
// Intent: programs whose every value is a known part of a known serial value are accepted.

// Three rows on two ranks: zeros in the padding, and a sum that is finished.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<3x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.reduce sum %x [0] : tensor<3x4xf32> -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %m = para.mask sum %x 0 ["data"] 3 1 : tensor<2x4xf32>
    %1 = para.reduce sum %m [0] {para.origin = 0} : tensor<2x4xf32> -> tensor<4xf32>
    %r = para.all_reduce sum %1 ["data"] : tensor<4xf32> -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// Half of the sum for each rank, put together again.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.reduce sum %x [0] : tensor<4x4xf32> -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.reduce sum %x [0] {para.origin = 0} : tensor<2x4xf32> -> tensor<4xf32>
    %2 = para.reduce_scatter sum %1 0 "data" : tensor<4xf32> -> tensor<2xf32>
    %r = para.all_gather %2 0 "data" : tensor<2xf32> -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// Three rows gathered from pieces of two: what lies beyond the end is cut.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<3x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<3x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<3x4xf32>
    return %0 : tensor<3x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<3x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    %r = para.all_gather %1 0 "data" : tensor<2x4xf32> -> tensor<3x4xf32>
    return %r : tensor<3x4xf32>
  }
}

// -----

// Rows for columns.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %x : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<4x2xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[], ["data"]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.neg %x {para.origin = 0} : tensor<2x4xf32>
    %r = para.all_to_all %1 0 1 "data" : tensor<2x4xf32> -> tensor<4x2xf32>
    return %r : tensor<4x2xf32>
  }
}

// -----

// A fused dimension of three blocks, each cut by itself, and block 1 of it.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%w: tensor<12xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[["data"]], blocks = [3]>}) -> (tensor<4xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.slice %w [4] [1] : tensor<12xf32> -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage0(%w: tensor<6xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[["data"]], blocks = [3]>}) -> (tensor<2xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %r = para.slice %w [2] [1] {para.origin = 0} : tensor<6xf32> -> tensor<2xf32>
    return %r : tensor<2xf32>
  }
}

// -----

// Blocks apart, gathered, together.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%w: tensor<12xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[["data"]], blocks = [3]>}) -> (tensor<12xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.neg %w : tensor<12xf32>
    return %0 : tensor<12xf32>
  }
  func.func @stage0(%w: tensor<6xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[["data"]], blocks = [3]>}) -> (tensor<12xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %2 = para.reshape %w : tensor<6xf32> -> tensor<3x2xf32>
    %3 = para.all_gather %2 1 "data" : tensor<3x2xf32> -> tensor<3x4xf32>
    %4 = para.reshape %3 : tensor<3x4xf32> -> tensor<12xf32>
    %r = para.neg %4 {para.origin = 0} : tensor<12xf32>
    return %r : tensor<12xf32>
  }
}

// -----

// Counting on a shard.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main() -> (tensor<4xi64> {para.kind = "output", para.name = "y"}) {
    %0 = para.iota 0 : tensor<4xi64>
    return %0 : tensor<4xi64>
  }
  func.func @stage0() -> (tensor<2xi64> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %r = para.iota 0 {axes = ["data"], size = 4, unit = 1, para.origin = 0} : tensor<2xi64>
    return %r : tensor<2xi64>
  }
}

// -----

// A table whose rows are cut answers with a part of a sum.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%w: tensor<6x2xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[["data"], []]>}, %i: tensor<4xi64> {para.kind = "input", para.name = "i", para.sharding = #para.sharding<[[]]>}) -> (tensor<4x2xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.gather %w, %i 0 : tensor<6x2xf32>, tensor<4xi64> -> tensor<4x2xf32>
    return %0 : tensor<4x2xf32>
  }
  func.func @stage0(%w: tensor<3x2xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[["data"], []]>}, %i: tensor<4xi64> {para.kind = "input", para.name = "i", para.sharding = #para.sharding<[[]]>}) -> (tensor<4x2xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.gather %w, %i 0 {axes = ["data"], size = 6 : i64, unit = 1 : i64, para.origin = 0} : tensor<3x2xf32>, tensor<4xi64> -> tensor<4x2xf32>
    %r = para.all_reduce sum %1 ["data"] : tensor<4x2xf32> -> tensor<4x2xf32>
    return %r : tensor<4x2xf32>
  }
}

// -----

// A sum over the microbatches, complete in the update.
module attributes {para.mesh = #para.mesh<["data", "microbatch"], [2, 2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}, %w: tensor<4xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[[]]>}) -> (tensor<4xf32> {para.kind = "update", para.name = "w", para.updates = "w"}) {
    %0 = para.reduce sum %x [0] : tensor<4x4xf32> -> tensor<4xf32>
    %1 = para.sub %w, %0 : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}, %w: tensor<4xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[[]]>}) -> (tensor<4xf32> {para.kind = "update", para.name = "w", para.sharding = #para.sharding<[[]]>, para.updates = "w"}) attributes {para.schedule = [[#para<phase forward>, 0], [#para<phase forward>, 1], [#para<phase update>, 0]]} {
    %1 = para.reduce sum %x [0] {para.origin = 0} : tensor<2x4xf32> -> tensor<4xf32>
    %2 = para.accumulate %1 : tensor<4xf32>
    %r = para.sub %w, %2 {para.origin = 1, para.phase = #para<phase update>} : tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// Statistics of a microbatch are carried from one to the next.
module attributes {para.mesh = #para.mesh<["data", "microbatch"], [2, 2]>} {
  func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}, %b: tensor<4xf32> {para.kind = "buffer", para.name = "b", para.sharding = #para.sharding<[[]]>}) -> (tensor<4xf32> {para.kind = "update", para.name = "b", para.updates = "b"}) {
    %s = para.reduce sum %x [0] {para.local = ["microbatch"]} : tensor<4x4xf32> -> tensor<4xf32>
    %0 = para.add %b, %s : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @stage0(%x: tensor<2x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}, %b: tensor<4xf32> {para.kind = "buffer", para.name = "b", para.sharding = #para.sharding<[[]]>}) -> (tensor<4xf32> {para.kind = "update", para.name = "b", para.sharding = #para.sharding<[[]]>, para.updates = "b"}) attributes {para.schedule = [[#para<phase forward>, 0], [#para<phase forward>, 1]]} {
    %s = para.reduce sum %x [0] {para.origin = 0} : tensor<2x4xf32> -> tensor<4xf32>
    %r = para.add %b, %s {para.origin = 1} : tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// Two stages and a message.
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
  func.func @stage1() -> (tensor<2x4xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %2 = para.recv from 0 tag 0 : tensor<2x4xf32>
    %r = para.exp %2 {para.origin = 1} : tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
}

// -----

// Two of four groups on each rank.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<1x4x3xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[[], ["data"], []]>}, %w: tensor<4x1x1xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[["data"], [], []]>}) -> (tensor<1x4x3xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.convolution %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, groups = 4 : i64} : tensor<1x4x3xf32>, tensor<4x1x1xf32> -> tensor<1x4x3xf32>
    return %0 : tensor<1x4x3xf32>
  }
  func.func @stage0(%x: tensor<1x2x3xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[[], ["data"], []]>}, %w: tensor<2x1x1xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[["data"], [], []]>}) -> (tensor<1x2x3xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[], ["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %r = para.convolution %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, groups = 2 : i64, para.origin = 0} : tensor<1x2x3xf32>, tensor<2x1x1xf32> -> tensor<1x2x3xf32>
    return %r : tensor<1x2x3xf32>
  }
}

// -----

// Single rows, each cut in two, are consecutive pieces of the flat tensor; and back.
module attributes {para.mesh = #para.mesh<["data", "tensor"], [4, 2]>} {
  func.func @main(%x: tensor<4x6xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], ["tensor"]]>}) -> (tensor<4x6xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.reshape %x : tensor<4x6xf32> -> tensor<24xf32>
    %1 = para.reshape %0 : tensor<24xf32> -> tensor<4x6xf32>
    return %1 : tensor<4x6xf32>
  }
  func.func @stage0(%x: tensor<1x3xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], ["tensor"]]>}) -> (tensor<1x3xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[["data"], ["tensor"]]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %r = para.reshape %x {para.origin = 0} : tensor<1x3xf32> -> tensor<3xf32>
    %s = para.reshape %r {para.origin = 1} : tensor<3xf32> -> tensor<1x3xf32>
    return %s : tensor<1x3xf32>
  }
}

// -----

// One row on two ranks has no loop: an elementwise op computes it where it is, and elsewhere padding, which a gather leaves behind.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<1x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<1x4xbf16> {para.kind = "output", para.name = "y"}) {
    %1 = para.add %x, %x : tensor<1x4xf32>
    %0 = para.cast %1 : tensor<1x4xf32> -> tensor<1x4xbf16>
    return %0 : tensor<1x4xbf16>
  }
  func.func @stage0(%x: tensor<1x4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["data"], []]>}) -> (tensor<1x4xbf16> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.add %x, %x {para.origin = 0} : tensor<1x4xf32>
    %0 = para.cast %1 {para.origin = 1} : tensor<1x4xf32> -> tensor<1x4xbf16>
    %r = para.all_gather %0 0 "data" : tensor<1x4xbf16> -> tensor<1x4xbf16>
    return %r : tensor<1x4xbf16>
  }
}
