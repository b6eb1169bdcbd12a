// Arithmetic on narrow values is f32. A value which several take is rounded once for all of them, one which goes into one op is not.
// RUN: para-opt %s --split-input-file --para-place-roundings --canonicalize --cse | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = para.cast %arg0 : tensor<4xbf16> -> tensor<4xf32>
// CHECK: %[[E:.*]] = para.exp %[[X]] : tensor<4xf32>
// CHECK: %[[S:.*]] = para.add %[[E]], %[[X]] : tensor<4xf32>
// CHECK: %[[R:.*]] = para.cast %[[S]] : tensor<4xf32> -> tensor<4xbf16>
// CHECK: %[[W:.*]] = para.cast %[[R]] : tensor<4xbf16> -> tensor<4xf32>
// CHECK: %[[N:.*]] = para.neg %[[W]] : tensor<4xf32>
// CHECK: %[[N16:.*]] = para.cast %[[N]] : tensor<4xf32> -> tensor<4xbf16>
// CHECK: return %[[R]], %[[N16]]
func.func @main(%x: tensor<4xbf16>) -> (tensor<4xbf16>, tensor<4xbf16>) {
  %0 = para.exp %x : tensor<4xbf16>
  %1 = para.add %0, %x : tensor<4xbf16>
  %2 = para.neg %1 : tensor<4xbf16>
  return %1, %2 : tensor<4xbf16>, tensor<4xbf16>
}

// -----

// The sum of two numbers of which one is stored narrow is that number for everybody.
// CHECK-LABEL: func.func @main
// CHECK: %[[S:.*]] = para.add
// CHECK: %[[R:.*]] = para.cast %[[S]] : tensor<4xf32> -> tensor<4xbf16>
// CHECK: %[[W:.*]] = para.cast %[[R]] : tensor<4xbf16> -> tensor<4xf32>
// CHECK: %[[E:.*]] = para.exp %[[W]] : tensor<4xf32>
// CHECK: return %[[R]], %[[E]]
func.func @main(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> (tensor<4xbf16>, tensor<4xf32>) {
  %0 = para.cast %x : tensor<4xbf16> -> tensor<4xf32>
  %1 = para.add %0, %y : tensor<4xf32>
  %2 = para.cast %1 : tensor<4xf32> -> tensor<4xbf16>
  %3 = para.exp %1 : tensor<4xf32>
  return %2, %3 : tensor<4xbf16>, tensor<4xf32>
}

// -----

// A sum is narrow for those who need it so, and what it is for others.
// CHECK-LABEL: func.func @main
// CHECK: %[[S:.*]] = para.reduce sum
// CHECK-DAG: %[[R:.*]] = para.cast %[[S]] : tensor<f32> -> tensor<bf16>
// CHECK-DAG: %[[E:.*]] = para.exp %[[S]] : tensor<f32>
// CHECK: return %[[R]], %[[E]]
func.func @main(%x: tensor<4xf32>) -> (tensor<bf16>, tensor<f32>) {
  %0 = para.reduce sum %x [0] : tensor<4xf32> -> tensor<f32>
  %1 = para.cast %0 : tensor<f32> -> tensor<bf16>
  %2 = para.exp %0 : tensor<f32>
  return %1, %2 : tensor<bf16>, tensor<f32>
}

// -----

// What the model itself declares f32 stays so for those who do not take the rounding that it asks for.
// CHECK-LABEL: func.func @main
// CHECK: %[[S:.*]] = para.add
// CHECK-DAG: %[[R:.*]] = para.cast %[[S]] : tensor<4xf32> -> tensor<4xbf16>
// CHECK-DAG: %[[E:.*]] = para.exp %[[S]] : tensor<4xf32>
// CHECK: return %[[R]], %[[E]]
func.func @main(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> (tensor<4xbf16>, tensor<4xf32>) {
  %0 = para.cast %x : tensor<4xbf16> -> tensor<4xf32>
  %1 = para.add %0, %y : tensor<4xf32>
  %2 = para.cast %1 {para.apart} : tensor<4xf32> -> tensor<4xbf16>
  %3 = para.exp %1 : tensor<4xf32>
  return %2, %3 : tensor<4xbf16>, tensor<4xf32>
}
