// A rank with several chunks of the model runs each as a stage of its own: of four layers on two ranks the first and third are on rank 0 under
// an interleaved schedule, the first and last under a folded one, which passes a value from chunk to chunk on rank 1 without a message.
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=sgd:lr=0.1" --para-apply-plan="pipeline=2 microbatches=2 schedule=interleaved:2" --para-partition-pipeline --para-split-stages --para-schedule-microbatches=schedule=interleaved:2 | FileCheck %s
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=sgd:lr=0.1" --para-apply-plan="pipeline=2 microbatches=2 schedule=zb-v" --para-partition-pipeline --para-split-stages --para-schedule-microbatches=schedule=zb-v | FileCheck %s --check-prefix=FOLDED
// RUN: para-opt %s --para-autodiff-pipeline --para-apply-plan="pipeline=2 microbatches=2 schedule=interleaved:2" --para-partition-pipeline --para-split-stages --para-schedule-microbatches=schedule=interleaved:2 | FileCheck %s --check-prefix=INFER
// RUN: not para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=sgd:lr=0.1" --para-apply-plan="pipeline=2 microbatches=2 schedule=interleaved:2" --para-partition-pipeline --para-split-stages --para-schedule-microbatches=schedule=zb-v 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: error: has its stages elsewhere than the schedule 'zb-v' has them: 4 stages on 2 ranks, 2 on each

// CHECK: para.places = array<i64: 0, 1, 0, 1>
// CHECK: @stage0(
// CHECK-SAME: para.name = "a"
// CHECK-SAME: para.name = "c"
// CHECK-NOT: para.name = "b"
// CHECK-SAME: para.schedule = {{\[\[}}#para<phase forward>, 0], [#para<phase forward>, 1], [#para<phase forward, 1>, 0], [#para<phase forward, 1>, 1], [#para<phase backward, 1>, 0], [#para<phase backward, 1>, 1], [#para<phase backward>, 0], [#para<phase backward>, 1], [#para<phase update>, 0]]
// CHECK: para.send %{{.*}} to 1 tag [[FIRST:[0-9]+]] {{.*}}phase = #para<phase forward>
// CHECK: para.recv from 1 tag [[SECOND:[0-9]+]] {{.*}}phase = #para<phase forward, 1>
// CHECK: para.send %{{.*}} to 1 tag {{[0-9]+}} {{.*}}phase = #para<phase forward, 1>
// CHECK: para.recv from 1 tag {{[0-9]+}} {{.*}}phase = #para<phase backward, 1>
// CHECK: para.send %{{.*}} to 1 tag {{[0-9]+}} {{.*}}phase = #para<phase backward, 1>
// CHECK: para.recv from 1 tag {{[0-9]+}} {{.*}}phase = #para<phase backward>
// CHECK-NOT: para.send {{.*}}phase = #para<phase backward
// CHECK: @stage1(
// CHECK: para.recv from 0 tag [[FIRST]] {{.*}}phase = #para<phase forward>
// CHECK: para.send %{{.*}} to 0 tag [[SECOND]] {{.*}}phase = #para<phase forward>

// FOLDED: para.places = array<i64: 0, 1, 1, 0>
// FOLDED: @stage0(
// FOLDED-SAME: para.name = "a"
// FOLDED-SAME: para.name = "d"
// FOLDED: @stage1(
// FOLDED: para.recv from 0 {{.*}}phase = #para<phase forward>
// FOLDED: para.dot {{.*}}phase = #para<phase forward>
// FOLDED-NOT: para.recv
// FOLDED: para.dot {{.*}}phase = #para<phase forward, 1>
// FOLDED-NOT: para.recv
// FOLDED: para.send %{{.*}} to 0 {{.*}}phase = #para<phase forward, 1>
// FOLDED: phase = #para<phase weight, 1>
// FOLDED: phase = #para<phase weight>

// INFER: @stage0
// INFER-SAME: para.schedule = {{\[\[}}#para<phase forward>, 0], [#para<phase forward>, 1], [#para<phase forward, 1>, 0], [#para<phase forward, 1>, 1]]
func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.batch_dim = 0 : i64},
                %a: tensor<4x4xf32> {para.kind = "parameter", para.name = "a", para.trainable},
                %b: tensor<4x4xf32> {para.kind = "parameter", para.name = "b", para.trainable},
                %c: tensor<4x4xf32> {para.kind = "parameter", para.name = "c", para.trainable},
                %d: tensor<4x4xf32> {para.kind = "parameter", para.name = "d", para.trainable})
    -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) attributes {para.batch = 4 : i64} {
  %0 = para.dot %x, %a batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32> loc("first")
  %1 = para.dot %0, %b batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32> loc("second")
  %2 = para.dot %1, %c batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32> loc("third")
  %3 = para.dot %2, %d batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32> loc("fourth")
  return %3 : tensor<4x4xf32>
}
