// With ZeRO-1 and 2 a rank has its part of a master, whose rounding is gathered once a step, before the first microbatch, and kept for all that
// takes it. What is used in f32, too, is whole, and gathered in f32 behind its update.
// RUN: para-opt %s --para-autodiff-pipeline="train=true precision=bf16 loss=mse:target=t optimizer=adamw:lr=0.1,weight_decay=0.1" --para-apply-plan="data=2 zero=1 microbatches=2" -o %t.mlir
// RUN: FileCheck %s --check-prefix=PLAN < %t.mlir
// RUN: para-opt %t.mlir --para-partition-pipeline --para-narrow-collectives --para-schedule-pipeline --para-verify-pipeline -o %t.steps.mlir
// RUN: sed -n '/func.func @stage0/,$p' %t.steps.mlir | FileCheck %s
// RUN: sed -n '/func.func @stage0/,$p' %t.steps.mlir | FileCheck %s --check-prefix=ONCE
// RUN: para-opt %s --para-autodiff-pipeline="train=true precision=bf16 loss=mse:target=t optimizer=adamw:lr=0.1,weight_decay=0.1" --para-apply-plan="data=2 zero=2" --para-partition-pipeline --para-narrow-collectives --para-schedule-pipeline --para-verify-pipeline -o %t.two.mlir
// RUN: sed -n '/func.func @stage0/,$p' %t.two.mlir | FileCheck %s
// A plan that is applied after that of another has the phases of its own.
// RUN: para-opt %t.mlir --para-apply-plan="data=2" | FileCheck %s --check-prefix=AFTER
// AFTER-NOT: phase setup
// AFTER: phase forward

// PLAN: %[[A:arg[0-9]+]]: tensor<8x4xf32> {{{[^}]*}}para.name = "a", para.sharding = #para.sharding<{{\[\["data"\], \[\]\]}}>
// PLAN-SAME: para.name = "b", para.sharding = #para.sharding<{{\[\[\]\]}}>
// PLAN: para.cast %[[A]] {para.phase = #para<phase setup>

// CHECK: %[[A16:.*]] = para.cast %arg0 {{.*}}phase setup>{{.*}} : tensor<{{4x4|8x2}}xf32> -> tensor<{{4x4|8x2}}xbf16>
// CHECK: para.all_gather %[[A16]] {{.*}}phase setup>{{.*}} -> tensor<8x4xbf16>
// ONCE-NOT: para.all_gather {{.*}}phase {{forward|backward}}
// ONCE-NOT: para.all_gather {{.*}}phase update{{.*}}8x4xf32
// ONCE: para.all_gather {{.*}}phase update{{.*}} : tensor<4xf32> -> tensor<8xf32>
// ONCE-NOT: para.all_gather {{.*}}phase update{{.*}}8x4xf32
func.func @main(%x: tensor<8x4xf32> {para.kind = "input", para.name = "x", para.batch_dim = 0 : i64},
                %a: tensor<8x4xf32> {para.kind = "parameter", para.name = "a", para.trainable},
                %b: tensor<8xf32> {para.kind = "parameter", para.name = "b", para.trainable})
    -> (tensor<8x8xf32> {para.kind = "output", para.name = "y"}) attributes {para.batch = 8 : i64} {
  %0 = para.transpose %a [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32> loc("first")
  %1 = para.dot %x, %0 batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x8xf32> -> tensor<8x8xf32> loc("first")
  %2 = para.broadcast %b [1] : tensor<8xf32> -> tensor<8x8xf32> loc("first")
  %3 = para.add %1, %2 : tensor<8x8xf32> loc("first")
  return %3 : tensor<8x8xf32>
}
