// What an op may not be is refused with the reason.
// RUN: para-opt %s --split-input-file --verify-diagnostics

func.func @dim(%t: tensor<7x3xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{'para.gather' op dimension 2 does not exist in 'tensor<7x3xf32>'}}
  %0 = para.gather %t, %i 2 : tensor<7x3xf32>, tensor<2xi64> -> tensor<2x3xf32>
  return
}

// -----

func.func @result(%t: tensor<7x3xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{'para.gather' op result must be 'tensor<2x3xf32>'}}
  %0 = para.gather %t, %i 0 : tensor<7x3xf32>, tensor<2xi64> -> tensor<3x2xf32>
  return
}

// -----

func.func @updates(%i: tensor<2xi64>, %u: tensor<3x3xf32>) {
  // expected-error @+1 {{'para.scatter_add' op needs updates [indices..., width...] and a result [rows, width...]}}
  %0 = para.scatter_add %i, %u : tensor<2xi64>, tensor<3x3xf32> -> tensor<7x3xf32>
  return
}

// -----

func.func @width(%i: tensor<2xi64>, %u: tensor<2x3xf32>) {
  // expected-error @+1 {{'para.scatter_add' op needs updates [indices..., width...] and a result [rows, width...]}}
  %0 = para.scatter_add %i, %u : tensor<2xi64>, tensor<2x3xf32> -> tensor<7x4xf32>
  return
}

// -----

func.func @entries(%i: tensor<2xi64>) {
  // expected-error @+1 {{'para.index' op has no entry to point at}}
  %0 = para.index %i of 0 : tensor<2xi64>
  return
}

// -----

func.func @gather_shard(%t: tensor<7x3xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{'para.gather' op a shard is told by its axes, a size and a unit}}
  %0 = para.gather %t, %i 0 {axes = ["data"]} : tensor<7x3xf32>, tensor<2xi64> -> tensor<2x3xf32>
  return
}

// -----

func.func @gather_unit(%t: tensor<7x3xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{'para.gather' op size and unit of a shard must be 1 or more}}
  %0 = para.gather %t, %i 0 {axes = ["data"], size = 14 : i64, unit = 0 : i64} : tensor<7x3xf32>, tensor<2xi64> -> tensor<2x3xf32>
  return
}

// -----

func.func @scatter_type(%u: tensor<2x3xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{'para.scatter_add' op element types differ}}
  %0 = para.scatter_add %i, %u : tensor<2xi64>, tensor<2x3xf32> -> tensor<7x3xf64>
  return
}
