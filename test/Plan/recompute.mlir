// Of each layer what comes into it is kept, and of what is in it nothing (full) or the fewest bytes from which the rest follows cheaply (selective).
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=sgd:lr=0.1" --para-apply-plan="recompute=full" | FileCheck %s --check-prefix=FULL
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=sgd:lr=0.1" --para-apply-plan="recompute=selective" | FileCheck %s --check-prefix=SELECTIVE
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=sgd:lr=0.1" --para-apply-plan | FileCheck %s --check-prefix=NONE
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=sgd:lr=0.1" --para-apply-plan="microbatches=2 pipeline=2 recompute=full" --para-partition-pipeline --para-schedule-pipeline --para-verify-pipeline | FileCheck %s --check-prefix=PROVED
// RUN: not para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=sgd:lr=0.1" --para-apply-plan="recompute=some" 2>&1 | FileCheck %s --check-prefix=WRONG

// NONE-NOT: para.recompute

// The layer's result is what the next layer begins with; the loss is the tail, whose backward pass follows at once.
// FULL: %[[A:.*]] = para.dot %arg0, %arg1 {{.*}}para.recompute
// FULL-NEXT: %[[B:.*]] = para.sin %[[A]] {{.*}}para.recompute
// FULL-NEXT: %[[C:.*]] = para.exp %[[B]] {{.*}}para.recompute
// FULL-NEXT: %[[D:.*]] = para.sin %[[C]] {para.phase = #para<phase forward>, para.split
// FULL-NEXT: para.dot %[[D]], %arg2 {{.*}}para.recompute
// FULL-NEXT: para.sin {{.*}}para.recompute
// FULL-NEXT: para.exp {{.*}}para.recompute
// FULL-NEXT: para.sin %{{.*}} {para.phase = #para<phase forward>, para.split
// FULL-NEXT: para.dot {{.*}}para.recompute
// FULL-NEXT: para.sin {{.*}}para.recompute
// FULL-NEXT: para.exp {{.*}}para.recompute
// FULL-NEXT: para.sin %{{.*}} {para.phase = #para<phase forward>, para.split
// FULL-NOT: para.recompute

// The backward pass takes the product and the exponential: one of them follows from the other, and not the product, for it is dear.
// SELECTIVE: para.dot %arg0, %arg1 {{.*}} {para.phase = #para<phase forward>, para.split
// SELECTIVE-NEXT: para.sin {{.*}}para.recompute
// SELECTIVE-NEXT: para.exp {{.*}}para.recompute
// SELECTIVE-NEXT: para.sin %{{.*}} {para.phase = #para<phase forward>, para.split
// SELECTIVE-NEXT: para.dot %{{.*}} {para.phase = #para<phase forward>, para.split
// SELECTIVE-NEXT: para.sin {{.*}}para.recompute

// PROVED: func.func @stage0
// PROVED: para.dot {{.*}}phase backward>, para.repeats =

// WRONG: error: recompute is 'some', which is none of none, selective, full
func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.batch_dim = 0 : i64},
                %a: tensor<4x4xf32> {para.kind = "parameter", para.name = "a", para.trainable},
                %b: tensor<4x4xf32> {para.kind = "parameter", para.name = "b", para.trainable},
                %c: tensor<4x4xf32> {para.kind = "parameter", para.name = "c", para.trainable})
    -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) attributes {para.batch = 4 : i64} {
  %0 = para.dot %x, %a batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32> loc("first")
  %1 = para.sin %0 : tensor<4x4xf32> loc("first")
  %2 = para.exp %1 : tensor<4x4xf32> loc("first")
  %3 = para.sin %2 : tensor<4x4xf32> loc("first")
  %4 = para.dot %3, %b batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32> loc("second")
  %5 = para.sin %4 : tensor<4x4xf32> loc("second")
  %6 = para.exp %5 : tensor<4x4xf32> loc("second")
  %7 = para.sin %6 : tensor<4x4xf32> loc("second")
  %8 = para.dot %7, %c batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32> loc("third")
  %9 = para.sin %8 : tensor<4x4xf32> loc("third")
  %10 = para.exp %9 : tensor<4x4xf32> loc("third")
  %11 = para.sin %10 : tensor<4x4xf32> loc("third")
  return %11 : tensor<4x4xf32>
}
