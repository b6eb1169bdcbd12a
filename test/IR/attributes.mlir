// The attributes of the dialect are read as they are printed.
// RUN: para-opt %s --verify-roundtrip | FileCheck %s

// CHECK: a = #para.mesh<["pipeline", "data"], [2, 4]>
// CHECK-SAME: b = #para.sharding<{{\[\["data", "tensor"\], \[\]\]}}>
// CHECK-SAME: c = #para.sharding<{{\[\["tensor"\]\]}}, units = [4], blocks = [3]>
// CHECK-SAME: d = #para.sharding<{{\[\[\]\]}}, partial = ["data"] max>
// CHECK-SAME: e = #para.source<"model.onnx", 1234, 4096, f32>
// CHECK-SAME: f = #para<phase backward>
module attributes {
  test.a = #para.mesh<["pipeline", "data"], [2, 4]>,
  test.b = #para.sharding<[["data", "tensor"], []]>,
  test.c = #para.sharding<[["tensor"]], units = [4], blocks = [3]>,
  test.d = #para.sharding<[[]], partial = ["data"] max>,
  test.e = #para.source<"model.onnx", 1234, 4096, f32>,
  test.f = #para<phase backward>
} {
}
