// What the partition stage promises and does not hold is an error.
// RUN: para-opt %s --split-input-file --verify-diagnostics --para-verify-partition

// expected-error @+1 {{has no para.mesh and @spmd after the partition stage}}
module {
}

// -----

module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @spmd(%x: tensor<2xf32> {para.kind = "input", para.name = "x", para.global = tensor<4xf32>, para.sharding = #para.sharding<[["data"]]>})
      -> (tensor<2xf32> {para.kind = "output", para.name = "y", para.global = tensor<4xf32>, para.sharding = #para.sharding<[["data"]]>}) {
    // expected-error @+1 {{'para.neg' op has no phase or stage after the partition stage}}
    %0 = para.neg %x : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}

// -----

module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  func.func @spmd(%x: tensor<2xf32> {para.kind = "input", para.name = "x", para.global = tensor<4xf32>, para.sharding = #para.sharding<[["data"]]>})
      -> (tensor<2xf32> {para.kind = "output", para.name = "y", para.global = tensor<4xf32>, para.sharding = #para.sharding<[["data"]]>}) {
    %0 = para.neg %x {para.phase = #para<phase update>, para.stage = 0 : i64} : tensor<2xf32>
    // expected-error @+1 {{'para.abs' op stands after a later phase}}
    %1 = para.abs %0 {para.phase = #para<phase forward>, para.stage = 0 : i64} : tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}

// -----

module attributes {para.mesh = #para.mesh<["data"], [2]>} {
  // expected-error @+1 {{argument x has local type 'tensor<3xf32>', which does not follow from its sharding}}
  func.func @spmd(%x: tensor<3xf32> {para.kind = "input", para.name = "x", para.global = tensor<4xf32>, para.sharding = #para.sharding<[["data"]]>})
      -> (tensor<3xf32> {para.kind = "output", para.name = "y", para.global = tensor<5xf32>, para.sharding = #para.sharding<[["data"]]>}) {
    return %x : tensor<3xf32>
  }
}
