// What an elementwise op makes narrower is sent in place of its operand, and what it makes wider is made behind the message.
// RUN: para-opt %s --split-input-file --para-narrow-collectives | FileCheck %s

// CHECK-LABEL: func.func @spmd
// The copy is made where and when the parameter is gathered; several gathers in a row are one way.
// CHECK: %[[C:.*]] = para.cast %arg0 {para.phase = #para<phase forward>, para.stage = 0 : i64} : tensor<2x3xf32> -> tensor<2x3xbf16>
// CHECK: %[[G:.*]] = para.all_gather %[[C]] 0 "data" {{.*}} : tensor<2x3xbf16> -> tensor<4x3xbf16>
// CHECK: %[[H:.*]] = para.all_gather %[[G]] 1 "tensor" {{.*}} : tensor<4x3xbf16> -> tensor<4x6xbf16>
// A gather which somebody else needs as it is stays, and so does one of what gets wider.
// CHECK: %[[F:.*]] = para.all_gather %arg1 0 "data" {{.*}} : tensor<2xf32> -> tensor<4xf32>
// CHECK: %[[F16:.*]] = para.cast %[[F]]
// CHECK: %[[W:.*]] = para.all_gather %arg2 0 "data" {{.*}} : tensor<2xbf16> -> tensor<4xbf16>
// CHECK: %[[W32:.*]] = para.cast %[[W]]
// A sum is not what is summed of copies.
// CHECK: %[[S:.*]] = para.all_reduce sum %arg1 ["data"] {{.*}} : tensor<2xf32> -> tensor<2xf32>
// CHECK: %[[S16:.*]] = para.cast %[[S]]
// CHECK: return %[[H]], %[[F]], %[[F16]], %[[W32]], %[[S16]]
module attributes {para.mesh = #para.mesh<["data", "tensor"], [2, 2]>} {
  func.func @spmd(%x: tensor<2x3xf32>, %y: tensor<2xf32>, %z: tensor<2xbf16>) -> (tensor<4x6xbf16>, tensor<4xf32>, tensor<4xbf16>, tensor<4xf32>, tensor<2xbf16>) {
    %0 = para.all_gather %x 0 "data" {para.phase = #para<phase forward>, para.stage = 0 : i64} : tensor<2x3xf32> -> tensor<4x3xf32>
    %1 = para.all_gather %0 1 "tensor" {para.phase = #para<phase forward>, para.stage = 0 : i64} : tensor<4x3xf32> -> tensor<4x6xf32>
    %2 = para.cast %1 {para.phase = #para<phase forward>, para.stage = 0 : i64} : tensor<4x6xf32> -> tensor<4x6xbf16>
    %3 = para.all_gather %y 0 "data" {para.phase = #para<phase forward>, para.stage = 0 : i64} : tensor<2xf32> -> tensor<4xf32>
    %4 = para.cast %3 {para.phase = #para<phase forward>, para.stage = 0 : i64} : tensor<4xf32> -> tensor<4xbf16>
    %5 = para.all_gather %z 0 "data" {para.phase = #para<phase forward>, para.stage = 0 : i64} : tensor<2xbf16> -> tensor<4xbf16>
    %6 = para.cast %5 {para.phase = #para<phase forward>, para.stage = 0 : i64} : tensor<4xbf16> -> tensor<4xf32>
    %7 = para.all_reduce sum %y ["data"] {para.phase = #para<phase forward>, para.stage = 0 : i64} : tensor<2xf32> -> tensor<2xf32>
    %8 = para.cast %7 {para.phase = #para<phase forward>, para.stage = 0 : i64} : tensor<2xf32> -> tensor<2xbf16>
    return %2, %3, %4, %6, %8 : tensor<4x6xbf16>, tensor<4xf32>, tensor<4xbf16>, tensor<4xf32>, tensor<2xbf16>
  }
}

// -----

// Each stage makes the wide values that it uses.
// CHECK-LABEL: func.func @spmd
// CHECK: para.cast %arg0 {para.phase = #para<phase forward>, para.stage = 1 : i64} : tensor<4xbf16> -> tensor<4xf32>
// CHECK: para.exp %{{.*}} {para.phase = #para<phase forward>, para.stage = 1 : i64}
module attributes {para.mesh = #para.mesh<["pipeline"], [2]>} {
  func.func @spmd(%x: tensor<4xbf16>) -> (tensor<4xf32>) {
    %0 = para.cast %x {para.phase = #para<phase forward>, para.stage = 0 : i64} : tensor<4xbf16> -> tensor<4xf32>
    %1 = para.exp %0 {para.phase = #para<phase forward>, para.stage = 1 : i64} : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}
