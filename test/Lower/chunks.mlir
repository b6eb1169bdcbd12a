// What one chunk makes and another reads keeps its bytes as long as any microbatch may want them: gradients of a late chunk's weights come before
// the backward pass of an early chunk for some and after it for others. So does what is reduced between ranks, and what is written in place.
// RUN: para-opt %s --split-input-file --para-assign-memory | FileCheck %s
// CHECK: rt.arena_bytes
module attributes {para.mesh = #para.mesh<["pipeline","tensor","microbatch"], [1, 2, 2]>, para.microbatches = 2 : i64} {
  func.func @stage0(%x: tensor<16x256xf32> {para.kind = "input", para.name = "x"}) -> (tensor<16x256xf32> {para.kind = "output", para.name = "y"}, tensor<16x256xf32> {para.kind = "output", para.name = "z"}) attributes {para.schedule = [[#para<phase forward>, 0], [#para<phase forward, 1>, 0], [#para<phase backward, 1>, 0], [#para<phase weight, 1>, 0], [#para<phase backward>, 0], [#para<phase weight>, 0], [#para<phase forward>, 1], [#para<phase forward, 1>, 1], [#para<phase backward, 1>, 1], [#para<phase backward>, 1], [#para<phase weight, 1>, 1], [#para<phase weight>, 1]]} {
    %1 = rt.fused %x attributes {para.phase = #para<phase forward>} : (tensor<16x256xf32>) -> tensor<16x256xf32> {
    ^bb0(%a: tensor<16x256xf32>):
      %m = para.neg %a : tensor<16x256xf32>
      rt.yield %m : tensor<16x256xf32>
    }
    %2 = rt.call "all_reduce" %1 [0] {axes = ["tensor"], dtype = 0 : i64, reduction = 0 : i64} {para.phase = #para<phase forward>} : (tensor<16x256xf32>) -> tensor<16x256xf32>
    %3 = rt.fused %2 attributes {para.phase = #para<phase weight, 1>} : (tensor<16x256xf32>) -> tensor<16x256xf32> {
    ^bb0(%a: tensor<16x256xf32>):
      %m = para.exp %a : tensor<16x256xf32>
      rt.yield %m : tensor<16x256xf32>
    }
    %4 = rt.fused %x attributes {para.phase = #para<phase backward>} : (tensor<16x256xf32>) -> tensor<16x256xf32> {
    ^bb0(%a: tensor<16x256xf32>):
      %m = para.exp %a : tensor<16x256xf32>
      rt.yield %m : tensor<16x256xf32>
    }
    %5 = rt.fused %4 attributes {para.phase = #para<phase weight>} : (tensor<16x256xf32>) -> tensor<16x256xf32> {
    ^bb0(%a: tensor<16x256xf32>):
      %m = para.neg %a : tensor<16x256xf32>
      rt.yield %m : tensor<16x256xf32>
    }
    return %3, %5 : tensor<16x256xf32>, tensor<16x256xf32>
  }
}

// -----

// CHECK: rt.arena_bytes
module attributes {para.mesh = #para.mesh<["pipeline","tensor","microbatch"], [1, 2, 2]>, para.microbatches = 2 : i64} {
  func.func @stage0(%x: tensor<16x256xf32> {para.kind = "input", para.name = "x"}) -> (tensor<16x256xf32> {para.kind = "output", para.name = "y"}, tensor<16x256xf32> {para.kind = "output", para.name = "z"}) attributes {para.schedule = [[#para<phase prepare>, 0], [#para<phase prepare>, 1], [#para<phase forward>, 0], [#para<phase forward, 1>, 0], [#para<phase backward, 1>, 0], [#para<phase weight, 1>, 0], [#para<phase backward>, 0], [#para<phase weight>, 0], [#para<phase forward>, 1], [#para<phase forward, 1>, 1], [#para<phase backward, 1>, 1], [#para<phase backward>, 1], [#para<phase weight, 1>, 1], [#para<phase weight>, 1]]} {
    %1 = rt.fused %x attributes {para.phase = #para<phase prepare>} : (tensor<16x256xf32>) -> tensor<16x256xf32> {
    ^bb0(%a: tensor<16x256xf32>):
      %m = para.neg %a : tensor<16x256xf32>
      rt.yield %m : tensor<16x256xf32>
    }
    %2 = rt.fused %1 attributes {para.phase = #para<phase forward>} : (tensor<16x256xf32>) -> tensor<16x256xf32> {
    ^bb0(%a: tensor<16x256xf32>):
      %m = para.tanh %a : tensor<16x256xf32>
      rt.yield %m : tensor<16x256xf32>
    }
    %3 = rt.fused %2 attributes {para.phase = #para<phase weight, 1>} : (tensor<16x256xf32>) -> tensor<16x256xf32> {
    ^bb0(%a: tensor<16x256xf32>):
      %m = para.exp %a : tensor<16x256xf32>
      rt.yield %m : tensor<16x256xf32>
    }
    %4 = rt.fused %x attributes {para.phase = #para<phase backward>} : (tensor<16x256xf32>) -> tensor<16x256xf32> {
    ^bb0(%a: tensor<16x256xf32>):
      %m = para.exp %a : tensor<16x256xf32>
      rt.yield %m : tensor<16x256xf32>
    }
    %5 = rt.fused %4 attributes {para.phase = #para<phase weight>} : (tensor<16x256xf32>) -> tensor<16x256xf32> {
    ^bb0(%a: tensor<16x256xf32>):
      %m = para.neg %a : tensor<16x256xf32>
      rt.yield %m : tensor<16x256xf32>
    }
    return %3, %5 : tensor<16x256xf32>, tensor<16x256xf32>
  }
}
