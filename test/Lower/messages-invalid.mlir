// Intent: a program in which a message could be written over while it leaves is refused, whatever planned its memory.
// RUN: para-opt %s --split-input-file --verify-diagnostics --para-form-calls --para-form-kernels --para-assign-memory

module attributes {para.mesh = #para.mesh<["pipeline", "data", "tensor", "microbatch"], [2, 1, 1, 4]>, para.microbatches = 4 : i64} {
  func.func @stage0(%x: tensor<4xf32> {para.kind = "input", para.name = "x", para.sharding = #para.sharding<[["microbatch"]]>})
      attributes {para.schedule = [[#para<phase forward>, 0], [#para<phase forward>, 1], [#para<phase forward>, 2], [#para<phase forward>, 3]]} {
    %sum = para.accumulate %x {para.phase = #para<phase forward>} : tensor<4xf32>
    // expected-error @+1 {{the memory plan is wrong: 2 messages may be under way, and what the first is sent from is written after 1 microbatches}}
    para.send %sum to 1 tag 0 {para.phase = #para<phase forward>, depth = 2 : i64} : tensor<4xf32>
    return
  }
}

// -----

module attributes {para.mesh = #para.mesh<["pipeline", "data", "tensor", "microbatch"], [2, 1, 1, 2]>, para.microbatches = 2 : i64} {
  func.func @stage0(%w: tensor<4xf32> {para.kind = "parameter", para.name = "w"}) -> (tensor<4xf32> {para.kind = "parameter", para.name = "w", para.updates = "w"})
      attributes {para.schedule = [[#para<phase forward>, 0], [#para<phase forward>, 1], [#para<phase update>, 0]]} {
    para.send %w to 1 tag 0 {para.phase = #para<phase forward>} : tensor<4xf32>
    // expected-error @+1 {{the memory plan is wrong: in update of microbatch 0 writes over the message of '' of microbatch 1, which is not waited for}}
    %new = para.neg %w {para.phase = #para<phase update>} : tensor<4xf32>
    return %new : tensor<4xf32>
  }
}
