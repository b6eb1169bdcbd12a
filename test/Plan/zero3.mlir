// ZeRO-3 gathers a parameter for the forward pass and again for the backward pass, keeps neither, and updates what it owns without a gather.
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=adamw:lr=0.1,weight_decay=0.1" --para-apply-plan="data=2 zero=3" --para-partition-pipeline --para-schedule-pipeline --para-verify-pipeline -o %t.mlir
// RUN: sed -n '/func.func @stage0/,$p' %t.mlir | FileCheck %s
// RUN: sed -n '/func.func @stage0/,$p' %t.mlir | FileCheck %s --check-prefix=UPDATE
// RUN: sed -n '/func.func @stage0/,$p' %t.mlir | FileCheck %s --check-prefix=BIAS
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=adamw:lr=0.1,weight_decay=0.1" --para-apply-plan="data=2 zero=2" | FileCheck %s --check-prefix=WHOLE
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=adamw:lr=0.1,weight_decay=0.1" --para-apply-plan="data=2 zero=3 microbatches=2 pipeline=2" --para-partition-pipeline --para-schedule-pipeline --para-verify-pipeline | FileCheck %s --check-prefix=STAGES

// What is moved and scaled is made again behind a gather of the backward pass's own; what only adds (the bias) is not gathered there.
// CHECK: para.all_gather %arg0 {{.*}}phase forward
// CHECK: para.transpose {{.*}}phase forward
// CHECK: para.all_gather %arg1 {{.*}}phase forward
// CHECK: para.all_gather %arg2 {{.*}}phase forward
// CHECK: %[[AGAIN:.*]] = para.all_gather %arg2 {{.*}}phase backward
// CHECK: %[[MOVED:.*]] = para.transpose %[[AGAIN]] {{.*}}phase backward>, para.repeats =
// CHECK: %[[SCALED:.*]] = para.mul %[[MOVED]], {{.*}}phase backward>, para.repeats =
// CHECK: para.dot %{{.*}}, %[[SCALED]] {{.*}}phase backward
// CHECK-NOT: para.all_gather {{.*}}phase update
// BIAS-NOT: para.all_gather %arg1 {{.*}}phase backward

// Weight decay takes the part that is there.
// UPDATE: para.mul {{(%arg2, %.*|%.*, %arg2)}} {{.*}}phase update{{.*}}: tensor<{{2x8|4x4}}xf32>

// Parameters that a rank has whole are kept in any form.
// WHOLE-NOT: para.recompute

// A stage does so for each of its microbatches.
// STAGES: func.func @stage1
// STAGES: para.all_gather {{.*}}phase forward>, para.stage = 1
// STAGES: para.all_gather {{.*}}phase backward>, para.stage = 1
// STAGES-NOT: para.all_gather {{.*}}phase update
func.func @main(%x: tensor<8x4xf32> {para.kind = "input", para.name = "x", para.batch_dim = 0 : i64},
                %a: tensor<8x4xf32> {para.kind = "parameter", para.name = "a", para.trainable},
                %b: tensor<8xf32> {para.kind = "parameter", para.name = "b", para.trainable},
                %c: tensor<4x8xf32> {para.kind = "parameter", para.name = "c", para.trainable})
    -> (tensor<8x4xf32> {para.kind = "output", para.name = "y"}) attributes {para.batch = 8 : i64} {
  %half = para.constant dense<0.5> : tensor<8x4xf32> loc("second")
  %0 = para.transpose %a [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32> loc("first")
  %1 = para.dot %x, %0 batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x8xf32> -> tensor<8x8xf32> loc("first")
  %2 = para.broadcast %b [1] : tensor<8xf32> -> tensor<8x8xf32> loc("first")
  %3 = para.add %1, %2 : tensor<8x8xf32> loc("first")
  %4 = para.tanh %3 : tensor<8x8xf32> loc("first")
  %5 = para.transpose %c [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32> loc("second")
  %6 = para.mul %5, %half : tensor<8x4xf32> loc("second")
  %7 = para.dot %4, %6 batch [] x [] contract [1] x [0] : tensor<8x8xf32>, tensor<8x4xf32> -> tensor<8x4xf32> loc("second")
  %8 = para.tanh %7 : tensor<8x4xf32> loc("second")
  return %8 : tensor<8x4xf32>
}
