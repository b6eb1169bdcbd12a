// Schedules that do not exist, stages that are missing and orders in which a stage waits for ever are refused.
// RUN: para-opt %s --split-input-file --verify-diagnostics --para-schedule-microbatches=schedule=gpipe
// RUN: not para-opt %S/Inputs/one-stage.mlir --para-schedule-microbatches=schedule=fast 2>&1 | FileCheck %s
// CHECK: error: no pipeline schedule is called 'fast'; there are gpipe, 1f1b
// RUN: not para-opt %S/Inputs/two-stages.mlir --para-schedule-microbatches=schedule=interleaved:2 2>&1 | FileCheck %s --check-prefix=PLACES
// PLACES: error: has its stages elsewhere than the schedule 'interleaved:2' has them: 4 stages on 2 ranks, 2 on each

// expected-error @+1 {{has no @stage1: para-split-stages comes first}}
module attributes {para.mesh = #para.mesh<["pipeline"], [2]>} {
  func.func @stage0() {
    return
  }
}

// -----

// expected-error @+1 {{the schedule 'gpipe' is refused: forward of microbatch 0 on stage 0 waits for ever for what it receives}}
module attributes {para.mesh = #para.mesh<["pipeline"], [2]>} {
  func.func @stage0() {
    %0 = para.recv from 1 tag 0 {para.phase = #para<phase forward>, para.stage = 0 : i64} : tensor<2xf32>
    para.send %0 to 1 tag 1 {para.phase = #para<phase forward>, para.stage = 0 : i64} : tensor<2xf32>
    return
  }
  func.func @stage1() {
    %0 = para.recv from 0 tag 1 {para.phase = #para<phase forward>, para.stage = 1 : i64} : tensor<2xf32>
    para.send %0 to 0 tag 0 {para.phase = #para<phase forward>, para.stage = 1 : i64} : tensor<2xf32>
    return
  }
}

// -----

module attributes {para.mesh = #para.mesh<["pipeline"], [1]>} {
  func.func @stage0(%x: tensor<2xf32>) {
    // expected-error @+1 {{is in the phase forward of chunk 3, and the schedule 'gpipe' has 1 chunk}}
    %0 = para.neg %x {para.phase = #para<phase forward, 3>, para.stage = 0 : i64} : tensor<2xf32>
    return
  }
}
