// The order of a stage's actions is that of the schedule; phases in which a stage has nothing to do are left out.
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=sgd:lr=0.1" --para-apply-plan="pipeline=2 microbatches=3" --para-partition-pipeline --para-split-stages --para-schedule-microbatches | FileCheck %s --check-prefix=F1B1
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=sgd:lr=0.1" --para-apply-plan="pipeline=2 microbatches=2" --para-partition-pipeline --para-split-stages --para-schedule-microbatches=schedule=gpipe | FileCheck %s --check-prefix=GPIPE
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=sgd:lr=0.1" --para-apply-plan="pipeline=2 microbatches=3" --para-partition-pipeline --para-split-stages --para-schedule-microbatches=schedule=zb-h1 | FileCheck %s --check-prefix=ZB
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=sgd:lr=0.1" --para-apply-plan="microbatches=2" --para-partition-pipeline --para-split-stages --para-schedule-microbatches=schedule=zb-h1 | FileCheck %s --check-prefix=ONE
// RUN: para-opt %s --para-autodiff-pipeline --para-apply-plan="pipeline=2 microbatches=2" --para-partition-pipeline --para-split-stages --para-schedule-microbatches=schedule=zb-h1 | FileCheck %s --check-prefix=INFER
// RUN: para-opt %s --para-autodiff-pipeline --para-apply-plan="pipeline=2 microbatches=2" --para-partition-pipeline --para-split-stages --para-schedule-microbatches | FileCheck %s --check-prefix=INFER

// F1B1: @stage0
// F1B1-SAME: para.schedule = {{\[\[}}#para<phase forward>, 0], [#para<phase forward>, 1], [#para<phase backward>, 0], [#para<phase forward>, 2], [#para<phase backward>, 1], [#para<phase backward>, 2], [#para<phase update>, 0]]
// F1B1: @stage1
// F1B1-SAME: para.schedule = {{\[\[}}#para<phase forward>, 0], [#para<phase backward>, 0], [#para<phase forward>, 1], [#para<phase backward>, 1], [#para<phase forward>, 2], [#para<phase backward>, 2], [#para<phase update>, 0]]
// GPIPE: @stage0
// GPIPE-SAME: para.schedule = {{\[\[}}#para<phase forward>, 0], [#para<phase forward>, 1], [#para<phase backward>, 0], [#para<phase backward>, 1], [#para<phase update>, 0]]
// Under zero bubble the products that make gradients of weights are apart; what the stage before waits for is not.
// ZB: @stage0
// ZB-SAME: para.schedule = {{\[\[}}#para<phase forward>, 0], [#para<phase forward>, 1], [#para<phase backward>, 0], [#para<phase weight>, 0], [#para<phase forward>, 2], [#para<phase backward>, 1], [#para<phase weight>, 1], [#para<phase backward>, 2], [#para<phase weight>, 2], [#para<phase update>, 0]]
// ZB: para.recv {{.*}}#para<phase backward>
// ZB: para.dot {{.*}}#para<phase weight>
// ZB: @stage1
// ZB-SAME: para.schedule = {{\[\[}}#para<phase forward>, 0], [#para<phase backward>, 0], [#para<phase forward>, 1], [#para<phase backward>, 1], [#para<phase weight>, 0], [#para<phase forward>, 2], [#para<phase backward>, 2], [#para<phase weight>, 1], [#para<phase weight>, 2], [#para<phase update>, 0]]
// ZB: para.dot {{.*}}#para<phase backward>
// ZB: para.send {{.*}}#para<phase backward>
// ZB: para.dot {{.*}}#para<phase weight>
// One stage waits for nobody.
// ONE: @stage0
// ONE-SAME: para.schedule = {{\[\[}}#para<phase forward>, 0], [#para<phase backward>, 0], [#para<phase forward>, 1], [#para<phase backward>, 1], [#para<phase update>, 0]]
// ONE-NOT: phase weight
// INFER: @stage0
// INFER-SAME: para.schedule = {{\[\[}}#para<phase forward>, 0], [#para<phase forward>, 1]]
func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.batch_dim = 0 : i64},
                %w: tensor<4x4xf32> {para.kind = "parameter", para.name = "a", para.trainable},
                %v: tensor<4x4xf32> {para.kind = "parameter", para.name = "b", para.trainable})
    -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) attributes {para.batch = 4 : i64} {
  %0 = para.dot %x, %w batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32> loc("first")
  %1 = para.relu %0 : tensor<4x4xf32> loc("first")
  %2 = para.dot %1, %v batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32> loc("second")
  return %2 : tensor<4x4xf32>
}
