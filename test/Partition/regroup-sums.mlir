// The terms of the global norm are summed on each stage first: one message a stage rather than one a parameter.
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=sgd:lr=0.1" --para-apply-plan="pipeline=2 microbatches=2" --para-separate-microbatches --para-regroup-sums | FileCheck %s
// RUN: para-opt %s --para-autodiff-pipeline="train=true loss=mse:target=t optimizer=sgd:lr=0.1" --para-apply-plan="data=2" --para-separate-microbatches --para-regroup-sums | FileCheck %s --check-prefix=ONE

// A sum that is cut behind it is cut when all of it is there; its parts are not.
// RUN: %venv-python -m para.models llama --layers 4 --hidden 64 --heads 4 --vocab 96 --seq 32 -o %t.onnx
// RUN: para-opt %t.onnx --train --dim batch=8 --mesh tensor=2,pipeline=2 --sequence-parallel --emit=plan -o - | para-opt --para-separate-microbatches --para-regroup-sums | grep 'add_n.*phase backward' | FileCheck %s --check-prefix=CUT
// CUT: add_n %{{[0-9]+}}, %{{[0-9]+}} {para.phase = #para<phase backward>, para.split = {{.*}}partial = ["tensor"] sum>, para.stage = 1 : i64} :

// CHECK: %[[B:.*]] = para.add_n %{{[0-9]+}}, %{{[0-9]+}} {para.phase = #para<phase update>
// CHECK-NEXT: %[[ALL:.*]] = para.add_n {{(%[0-9]+, %[0-9]+, )?}}%[[B]]{{(, %[0-9]+, %[0-9]+)?}} {para.phase = #para<phase update>
// CHECK-NEXT: para.sqrt %[[ALL]]

// One stage: one sum.
// ONE: %[[SUM:.*]] = para.add_n %{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}} {{.*}}phase update
// ONE-NEXT: para.sqrt %[[SUM]]
func.func @main(%x: tensor<4x4xf32> {para.kind = "input", para.name = "x", para.batch_dim = 0 : i64},
                %w: tensor<4x4xf32> {para.kind = "parameter", para.name = "a", para.trainable},
                %p: tensor<4xf32> {para.kind = "parameter", para.name = "a.bias", para.trainable},
                %v: tensor<4x4xf32> {para.kind = "parameter", para.name = "b", para.trainable},
                %q: tensor<4xf32> {para.kind = "parameter", para.name = "b.bias", para.trainable})
    -> (tensor<4x4xf32> {para.kind = "output", para.name = "y"}) attributes {para.batch = 4 : i64} {
  %0 = para.dot %x, %w batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32> loc("first")
  %1 = para.broadcast %p [1] : tensor<4xf32> -> tensor<4x4xf32> loc("first")
  %2 = para.add %0, %1 : tensor<4x4xf32> loc("first")
  %3 = para.relu %2 : tensor<4x4xf32> loc("first")
  %4 = para.dot %3, %v batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32> loc("second")
  %5 = para.broadcast %q [1] : tensor<4xf32> -> tensor<4x4xf32> loc("second")
  %6 = para.add %4, %5 : tensor<4x4xf32> loc("second")
  return %6 : tensor<4x4xf32>
}
