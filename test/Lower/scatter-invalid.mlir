// A GPU adds rows of f32 and f64 by indices of i32 and i64 (dtypes 0, 1 and 7, 8); every op that wants others is named.
// RUN: para-opt %s --para-emit-kernels=target=cuda --verify-diagnostics
// RUN: para-opt %s --para-emit-kernels | FileCheck %s --implicit-check-not=para_scatter
// CHECK: rt.segment
module {
  rt.segment @stage0.backward stage 0 {
    // expected-error @+1 {{adds rows of an element type, or by indices of one, for which a GPU has no code here}}
    rt.scatter_add [#rt.address<0, 0, 0>, #rt.address<64, 0, 0>, #rt.address<128, 0, 0>] {axes = [], bytes = 4 : i64, dtype = 3 : i64, index_dtype = 8 : i64, positions = 1 : i64, rows = 1 : i64, size = 0 : i64, stream = 0 : i64, unit = 1 : i64, width = 1 : i64}
    rt.scatter_add [#rt.address<0, 0, 0>, #rt.address<64, 0, 0>, #rt.address<128, 0, 0>] {axes = [], bytes = 4 : i64, dtype = 1 : i64, index_dtype = 7 : i64, positions = 1 : i64, rows = 1 : i64, size = 0 : i64, stream = 0 : i64, unit = 1 : i64, width = 1 : i64}
    // expected-error @+1 {{adds rows of an element type, or by indices of one, for which a GPU has no code here}}
    rt.scatter_add [#rt.address<0, 0, 0>, #rt.address<64, 0, 0>, #rt.address<128, 0, 0>] {axes = [], bytes = 4 : i64, dtype = 0 : i64, index_dtype = 4 : i64, positions = 1 : i64, rows = 1 : i64, size = 0 : i64, stream = 0 : i64, unit = 1 : i64, width = 1 : i64}
  }
}
