// Intent: updates follow their gradient's reduction on the host; elsewhere reductions are issued amid the pass backwards.
// RUN: para-opt %s --para-order-updates | FileCheck %s --check-prefix=HOST
// RUN: para-opt %s --para-order-updates=target=cuda | FileCheck %s --check-prefix=CUDA
// RUN: sed -e 's/para.microbatches = 1/para.microbatches = 2/' %s | para-opt - --para-order-updates=target=cuda | FileCheck %s --check-prefix=PARTS
// RUN: sed -e 's/phase backward/phase weight/' %s | para-opt - --para-order-updates=target=cuda | FileCheck %s --check-prefix=WEIGHT

// Two parameters; @w's gradient is there first, but @w is read by what makes that of @v.
// HOST-LABEL: func.func @stage0
// HOST: %[[GW:.*]] = rt.call "gradient_of_w"
// HOST: %[[GV:.*]] = rt.call "gradient_of_v"
// HOST: %[[RW:.*]] = rt.call "all_reduce" %[[GW]]
// HOST: rt.call "update_w" %arg0, %[[RW]]
// HOST: %[[RV:.*]] = rt.call "all_reduce" %[[GV]]
// HOST: rt.call "update_v" %arg1, %[[RV]]

// CUDA-LABEL: func.func @stage0
// CUDA: %[[GW:.*]] = rt.call "gradient_of_w"
// CUDA: %[[RW:.*]] = rt.call "all_reduce" %[[GW]] {{.*}} {para.phase = #para<phase backward>}
// CUDA: %[[GV:.*]] = rt.call "gradient_of_v" %arg0
// CUDA: %[[RV:.*]] = rt.call "all_reduce" %[[GV]] {{.*}} {para.phase = #para<phase backward>}
// CUDA: rt.call "update_w" %arg0, %[[RW]] {{.*}} {para.phase = #para<phase update>}
// CUDA: rt.call "update_v" %arg1, %[[RV]]
// What is reduced a second time depends on updates and stays.
// CUDA: rt.call "all_reduce" {{.*}} {para.phase = #para<phase update>}

// Where gradients of weights are apart, their sums are, too.
// WEIGHT: %[[GW:.*]] = rt.call "gradient_of_w"
// WEIGHT: rt.call "all_reduce" %[[GW]] {{.*}} {para.phase = #para<phase weight>}

// The sum over microbatches is not complete in any of them.
// PARTS-NOT: all_reduce{{.*}}para.phase = #para<phase backward>
module attributes {para.microbatches = 1 : i64} {
  func.func @stage0(%w: tensor<4xf32> {para.kind = "parameter", para.name = "w"}, %v: tensor<4xf32> {para.kind = "parameter", para.name = "v"})
      -> (tensor<4xf32> {para.kind = "update", para.name = "w", para.updates = "w"}, tensor<4xf32> {para.kind = "update", para.name = "v", para.updates = "v"},
          tensor<4xf32> {para.kind = "output", para.name = "norm"}) {
    %gw = rt.call "gradient_of_w" %v [0] {} {para.phase = #para<phase backward>} : (tensor<4xf32>) -> tensor<4xf32>
    %gv = rt.call "gradient_of_v" %w [0] {} {para.phase = #para<phase backward>} : (tensor<4xf32>) -> tensor<4xf32>
    %rw = rt.call "all_reduce" %gw [0] {reduction = 0 : i64} {para.phase = #para<phase update>} : (tensor<4xf32>) -> tensor<4xf32>
    %rv = rt.call "all_reduce" %gv [0] {reduction = 0 : i64} {para.phase = #para<phase update>} : (tensor<4xf32>) -> tensor<4xf32>
    %nw = rt.call "update_w" %w, %rw [0, 0] {} {para.phase = #para<phase update>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %nv = rt.call "update_v" %v, %rv [0, 0] {} {para.phase = #para<phase update>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %norm = rt.call "all_reduce" %nw [0] {reduction = 0 : i64} {para.phase = #para<phase update>} : (tensor<4xf32>) -> tensor<4xf32>
    return %nw, %nv, %norm : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}
