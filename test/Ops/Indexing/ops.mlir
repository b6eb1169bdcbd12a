// Every op of the family is read as it is printed, in its own syntax.
// RUN: para-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @ops
func.func @ops(%t: tensor<7x3xf32>, %i: tensor<2x5xi64>, %u: tensor<2x5x3xf32>) {
  // CHECK: para.gather %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} 0 : tensor<7x3xf32>, tensor<2x5xi64> -> tensor<2x5x3xf32>
  %0 = para.gather %t, %i 0 : tensor<7x3xf32>, tensor<2x5xi64> -> tensor<2x5x3xf32>
  // CHECK: para.gather %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} 1 : tensor<7x3xf32>, tensor<2x5xi64> -> tensor<7x2x5xf32>
  %1 = para.gather %t, %i 1 : tensor<7x3xf32>, tensor<2x5xi64> -> tensor<7x2x5xf32>
  // CHECK: para.gather %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} 0 {axes = ["tensor"], size = 13 : i64, unit = 1 : i64} : tensor<7x3xf32>, tensor<2x5xi64> -> tensor<2x5x3xf32>
  %2 = para.gather %t, %i 0 {axes = ["tensor"], size = 13 : i64, unit = 1 : i64} : tensor<7x3xf32>, tensor<2x5xi64> -> tensor<2x5x3xf32>
  // CHECK: para.scatter_add %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x5xi64>, tensor<2x5x3xf32> -> tensor<7x3xf32>
  %3 = para.scatter_add %i, %u : tensor<2x5xi64>, tensor<2x5x3xf32> -> tensor<7x3xf32>
  // CHECK: para.index %{{[a-z0-9_]+}} of 7 : tensor<2x5xi64>
  %4 = para.index %i of 7 : tensor<2x5xi64>
  // CHECK: para.index %{{[a-z0-9_]+}} of 7 from_end : tensor<2x5xi64>
  %5 = para.index %i of 7 from_end : tensor<2x5xi64>
  return
}
