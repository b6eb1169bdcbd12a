// What an op may not be is refused with the reason.
// RUN: para-opt %s --split-input-file --verify-diagnostics

func.func @all_reduce_outputs(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.all_reduce' op needs an input, and an output of its type for each}}
  %0 = para.all_reduce sum %x ["data"] : tensor<2x3xf32> -> tensor<3x2xf32>
  return
}

// -----

func.func @all_reduce_types(%x: tensor<2x3xf32>, %y: tensor<2xf64>) {
  // expected-error @+1 {{'para.all_reduce' op element types differ: 'tensor<2x3xf32>' and 'tensor<2xf64>'}}
  %0:2 = para.all_reduce sum %x, %y ["data"] : tensor<2x3xf32>, tensor<2xf64> -> tensor<2x3xf32>, tensor<2xf64>
  return
}

// -----

func.func @all_reduce_axis(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.all_reduce' op needs the name of an axis in place of ""}}
  %0 = para.all_reduce sum %x [""] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @all_gather_dim(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.all_gather' op dimension 2 does not exist in 'tensor<2x3xf32>'}}
  %0 = para.all_gather %x 2 "data" : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @all_gather_other(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.all_gather' op cannot make 'tensor<4x4xf32>' of 'tensor<2x3xf32>'}}
  %0 = para.all_gather %x 0 "data" : tensor<2x3xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @all_gather_short(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.all_gather' op the result must be as long as a shard at least}}
  %0 = para.all_gather %x 0 "data" : tensor<2x3xf32> -> tensor<1x3xf32>
  return
}

// -----

func.func @all_gather_axis(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.all_gather' op needs the name of an axis}}
  %0 = para.all_gather %x 0 "" : tensor<2x3xf32> -> tensor<4x3xf32>
  return
}

// -----

func.func @reduce_scatter_long(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.reduce_scatter' op a shard must not be longer than the input}}
  %0 = para.reduce_scatter sum %x 0 "data" : tensor<2x3xf32> -> tensor<4x3xf32>
  return
}

// -----

func.func @reduce_scatter_type(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.reduce_scatter' op cannot make 'tensor<1x3xf64>' of 'tensor<2x3xf32>'}}
  %0 = para.reduce_scatter sum %x 0 "data" : tensor<2x3xf32> -> tensor<1x3xf64>
  return
}

// -----

func.func @all_to_all_same(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.all_to_all' op moves an axis from a dimension to itself}}
  %0 = para.all_to_all %x 1 1 "data" : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @all_to_all_dim(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.all_to_all' op dimension 3 does not exist in 'tensor<2x3xf32>'}}
  %0 = para.all_to_all %x 0 3 "data" : tensor<2x3xf32> -> tensor<4x3xf32>
  return
}

// -----

func.func @send_peer(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.send' op peer and tag must not be negative}}
  para.send %x to -1 tag 0 : tensor<2x3xf32>
  return
}

// -----

func.func @recv_tag() {
  // expected-error @+1 {{'para.recv' op peer and tag must not be negative}}
  %0 = para.recv from 0 tag -2 : tensor<2x3xf32>
  return
}

// -----

func.func @shard_slice_unit(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.shard_slice' op a shard must not be longer than the input, and its unit 1 or more}}
  %0 = para.shard_slice %x 0 "data" 0 : tensor<2x3xf32> -> tensor<1x3xf32>
  return
}

// -----

func.func @mask_dim(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.mask' op dimension 2 does not exist in 'tensor<2x3xf32>'}}
  %0 = para.mask sum %x 2 ["data"] 4 1 : tensor<2x3xf32>
  return
}

// -----

func.func @mask_size(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.mask' op size and unit of a shard must be 1 or more}}
  %0 = para.mask sum %x 0 ["data"] 0 1 : tensor<2x3xf32>
  return
}
