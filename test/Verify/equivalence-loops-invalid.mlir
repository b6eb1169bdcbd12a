// RUN: para-opt %s --para-verify-equivalence --verify-diagnostics --mlir-very-unsafe-disable-verifier-on-parsing --verify-each=0
// Intent: an op whose attributes speak of sizes must have followed the cut; here `groups` has not, and the op's own verifier is off.

// Two of four groups on each rank.
module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @main(%x: tensor<1x4x3xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[[], ["data"], []]>}, %w: tensor<4x1x1xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[["data"], [], []]>}) -> (tensor<1x4x3xf32> {para.kind = "output", para.name = "y"}) {
    %0 = para.convolution %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, groups = 4 : i64} : tensor<1x4x3xf32>, tensor<4x1x1xf32> -> tensor<1x4x3xf32>
    return %0 : tensor<1x4x3xf32>
  }
  func.func @stage0(%x: tensor<1x2x3xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[[], ["data"], []]>}, %w: tensor<2x1x1xf32> {para.kind = "parameter", para.name = "w", para.sharding = #para.sharding<[["data"], [], []]>}) -> (tensor<1x2x3xf32> {para.kind = "output", para.name = "y", para.sharding = #para.sharding<[[], ["data"], []]>}) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{has other loops on its parts than the serial op}}
    %r = para.convolution %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, groups = 4 : i64, para.origin = 0} : tensor<1x2x3xf32>, tensor<2x1x1xf32> -> tensor<1x2x3xf32>
    return %r : tensor<1x2x3xf32>
  }
}
