// Intent: reduce-scatters of the backward pass are under way two at a time, and what they read is not kept until it ends.
// RUN: para-opt %s --para-form-calls --para-place-sums --para-form-kernels --para-assign-memory --para-lower-to-rt | FileCheck %s --check-prefix=WAITS
// RUN: para-opt %s --para-form-calls --para-place-sums --para-form-kernels --para-assign-memory | FileCheck %s --check-prefix=WHOLE
// RUN: sed -e 's/microbatches = 1/microbatches = 2/' -e 's/para.neg \(.part[0-9]\) .para.phase = #para<phase update>/para.accumulate \1 {para.phase = #para<phase backward>/' %s > %t.mlir
// RUN: para-opt %t.mlir --para-form-calls --para-place-sums | FileCheck %s --check-prefix=SUMS
// RUN: para-opt %t.mlir --para-form-calls --para-place-sums --para-form-kernels --para-assign-memory | FileCheck %s --check-prefix=PARTS

// The message before the last is waited for when the next begins, the last two when the pass ends.
// WAITS: rt.segment @stage0.backward
// WAITS: rt.reduce_scatter
// WAITS: rt.event_record [] {event = [[FIRST:[0-9]+]] : i64, stream = 1 : i64}
// WAITS-NOT: rt.event_wait {{.*}}stream = 0
// WAITS: rt.reduce_scatter
// WAITS: rt.event_record [] {event = [[SECOND:[0-9]+]] : i64, stream = 1 : i64}
// WAITS: rt.event_wait [] {event = [[FIRST]] : i64, stream = 0 : i64}
// WAITS: rt.reduce_scatter
// WAITS: rt.event_record [] {event = [[THIRD:[0-9]+]] : i64, stream = 1 : i64}
// WAITS: rt.event_wait [] {event = [[SECOND]] : i64, stream = 0 : i64}
// WAITS: rt.reduce_scatter
// WAITS: rt.event_record [] {event = [[LAST:[0-9]+]] : i64, stream = 1 : i64}
// WAITS: rt.event_wait [] {event = [[THIRD]] : i64, stream = 0 : i64}
// WAITS: rt.event_wait [] {event = [[LAST]] : i64, stream = 0 : i64}
// WAITS: rt.segment @stage0.update

// Three of the four gradients of 16 KiB are there at once (two on their way and one that is computed), beside the argument, four halves and four results.
// WHOLE: rt.arena_bytes = 131072

// A microbatch's part is added up there, too, and its place is used again.
// SUMS: %[[FIRST:.*]] = rt.call "reduce_scatter"
// SUMS: %[[SECOND:.*]] = rt.call "reduce_scatter"
// SUMS: para.accumulate %[[FIRST]]
// SUMS-NEXT: %[[THIRD:.*]] = rt.call "reduce_scatter"
// SUMS: para.accumulate %[[SECOND]]
// SUMS-NEXT: %[[LAST:.*]] = rt.call "reduce_scatter"
// SUMS: para.accumulate %[[THIRD]]
// SUMS-NEXT: para.accumulate %[[LAST]]
// PARTS: rt.arena_bytes = 131072
module attributes {para.mesh = #para.mesh<["pipeline", "data", "tensor", "microbatch"], [1, 2, 1, 1]>, para.microbatches = 1 : i64} {
  func.func @stage0(%x: tensor<64x64xf32> {para.kind = "input", para.name = "x"})
      -> (tensor<32x64xf32> {para.kind = "output", para.name = "a"}, tensor<32x64xf32> {para.kind = "output", para.name = "b"},
          tensor<32x64xf32> {para.kind = "output", para.name = "c"}, tensor<32x64xf32> {para.kind = "output", para.name = "d"}) {
    %g0 = para.dot %x, %x batch [] x [] contract [0] x [0] {para.phase = #para<phase backward>, para.stage = 0 : i64} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    %part0 = para.reduce_scatter sum %g0 0 "data" {para.phase = #para<phase backward>, para.stage = 0 : i64} : tensor<64x64xf32> -> tensor<32x64xf32>
    %g1 = para.dot %x, %x batch [] x [] contract [0] x [1] {para.phase = #para<phase backward>, para.stage = 0 : i64} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    %part1 = para.reduce_scatter sum %g1 0 "data" {para.phase = #para<phase backward>, para.stage = 0 : i64} : tensor<64x64xf32> -> tensor<32x64xf32>
    %g2 = para.dot %x, %x batch [] x [] contract [1] x [0] {para.phase = #para<phase backward>, para.stage = 0 : i64} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    %part2 = para.reduce_scatter sum %g2 0 "data" {para.phase = #para<phase backward>, para.stage = 0 : i64} : tensor<64x64xf32> -> tensor<32x64xf32>
    %g3 = para.dot %x, %x batch [] x [] contract [1] x [1] {para.phase = #para<phase backward>, para.stage = 0 : i64} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    %part3 = para.reduce_scatter sum %g3 0 "data" {para.phase = #para<phase backward>, para.stage = 0 : i64} : tensor<64x64xf32> -> tensor<32x64xf32>
    %a = para.neg %part0 {para.phase = #para<phase update>, para.stage = 0 : i64} : tensor<32x64xf32>
    %b = para.neg %part1 {para.phase = #para<phase update>, para.stage = 0 : i64} : tensor<32x64xf32>
    %c = para.neg %part2 {para.phase = #para<phase update>, para.stage = 0 : i64} : tensor<32x64xf32>
    %d = para.neg %part3 {para.phase = #para<phase update>, para.stage = 0 : i64} : tensor<32x64xf32>
    return %a, %b, %c, %d : tensor<32x64xf32>, tensor<32x64xf32>, tensor<32x64xf32>, tensor<32x64xf32>
  }
}
