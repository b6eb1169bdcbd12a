// Intent: what a message is sent from is written again only after a wait for it, in the phase that writes it and for the microbatch that had the place.
// RUN: para-opt %s --split-input-file --para-form-calls --para-form-kernels --para-assign-memory --para-lower-to-rt | FileCheck %s

// Three slots in turn: the message is waited for when its own slot comes round.
// CHECK-LABEL: rt.segment @stage0.forward
// CHECK-NEXT: rt.wait [] {back = 3 : i64, stream = 1 : i64, tag = 0 : i64}
// A later phase that sends another view of the slot's value sends a copy, for which it waits itself.
// CHECK-NOT: rt.wait
// CHECK-LABEL: rt.segment @stage0.backward
// CHECK-NEXT: rt.wait [] {back = 1 : i64, stream = 1 : i64, tag = 1 : i64}
// CHECK: rt.launch [#rt.address<{{[0-9]+}}, 0, [[SLOT:[1-9][0-9]*]]>, #rt.address<[[COPY:[0-9]+]], 0, 0>]
// CHECK: rt.send [#rt.address<[[COPY]], 0, 0>]
// A parameter's message is waited for before the update.
// CHECK-LABEL: rt.segment @stage0.update
// CHECK-NEXT: rt.wait [] {back = 0 : i64, stream = 1 : i64, tag = 2 : i64}
// CHECK: rt.launch
module attributes {para.mesh = #para.mesh<["pipeline", "data", "tensor", "microbatch"], [3, 1, 1, 4]>, para.microbatches = 4 : i64} {
  func.func @stage0(%x: tensor<4x16xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>},
                    %w: tensor<4x16xf32> {para.kind = "parameter", para.name = "w"})
      -> (tensor<4x16xf32> {para.kind = "parameter", para.name = "w", para.updates = "w"})
      attributes {para.schedule = [[#para<phase setup>, 0], [#para<phase forward>, 0], [#para<phase forward>, 1], [#para<phase forward>, 2], [#para<phase backward>, 0],
                                   [#para<phase forward>, 3], [#para<phase backward>, 1], [#para<phase backward>, 2], [#para<phase backward>, 3], [#para<phase update>, 0]]} {
    para.send %w to 1 tag 2 {para.phase = #para<phase setup>} : tensor<4x16xf32>
    %a = para.tanh %x {para.phase = #para<phase forward>} : tensor<4x16xf32>
    para.send %a to 1 tag 0 {para.phase = #para<phase forward>} : tensor<4x16xf32>
    %view = para.reshape %a {para.phase = #para<phase backward>} : tensor<4x16xf32> -> tensor<8x8xf32>
    para.send %view to 2 tag 1 {para.phase = #para<phase backward>} : tensor<8x8xf32>
    %g = para.recv from 1 tag 3 {para.phase = #para<phase backward>} : tensor<4x16xf32>
    %part = para.mul %g, %a {para.phase = #para<phase backward>} : tensor<4x16xf32>
    %sum = para.accumulate %part {para.phase = #para<phase backward>} : tensor<4x16xf32>
    %new = para.sub %w, %sum {para.phase = #para<phase update>} : tensor<4x16xf32>
    return %new : tensor<4x16xf32>
  }
}

// -----

// What is sent from a slot in the backward pass has its bytes alone: of the next microbatch, forward writes the slot before it is waited for.
// CHECK-LABEL: rt.segment @stage0.forward
// CHECK: rt.launch [{{.*}}, #rt.address<[[ACTIVATION:[0-9]+]], 0, [[SLOT:[1-9][0-9]*]]>]
// CHECK-LABEL: rt.segment @stage0.backward
// CHECK-NEXT: rt.wait [] {back = 2 : i64, stream = 1 : i64, tag = 1 : i64}
// CHECK-NOT: rt.launch [{{.*}}#rt.address<[[ACTIVATION]], 0, [[SLOT]]>] {
// CHECK: rt.send [#rt.address<{{[0-9]+}}, 0, [[SLOT]]>]
// CHECK-LABEL: rt.segment @stage0.weight
module attributes {para.mesh = #para.mesh<["pipeline", "data", "tensor", "microbatch"], [2, 1, 1, 4]>, para.microbatches = 4 : i64} {
  func.func @stage0(%x: tensor<16x16xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"], []]>}) -> (tensor<16x16xf32> {para.kind = "output", para.name = "sum"})
      attributes {para.schedule = [[#para<phase forward>, 0], [#para<phase forward>, 1], [#para<phase backward>, 0], [#para<phase weight>, 0], [#para<phase forward>, 2],
                                   [#para<phase backward>, 1], [#para<phase weight>, 1], [#para<phase forward>, 3], [#para<phase backward>, 2], [#para<phase weight>, 2],
                                   [#para<phase backward>, 3], [#para<phase weight>, 3]]} {
    %a = para.tanh %x {para.phase = #para<phase forward>} : tensor<16x16xf32>
    %g = para.dot %a, %x batch [] x [] contract [1] x [0] {para.phase = #para<phase backward>} : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %h = para.dot %g, %x batch [] x [] contract [1] x [0] {para.phase = #para<phase backward>} : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    para.send %h to 1 tag 1 {para.phase = #para<phase backward>} : tensor<16x16xf32>
    %part = para.dot %h, %x batch [] x [] contract [0] x [0] {para.phase = #para<phase weight>} : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %sum = para.accumulate %part {para.phase = #para<phase weight>} : tensor<16x16xf32>
    return %sum : tensor<16x16xf32>
  }
}
