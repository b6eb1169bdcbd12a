// What the plan does not keep is computed again in the backward pass, before it is needed first and once for all that need it.
// RUN: para-opt %s --para-recompute | FileCheck %s
// RUN: para-opt %s --para-recompute | FileCheck %s --check-prefix=STAGE

// The forward pass stays as it is; what only the backward pass takes (exp) moves there and repeats nothing.
// CHECK: %[[KEPT:.*]] = para.dot %arg0, %arg1
// CHECK-NEXT: %[[R:.*]] = para.relu %[[KEPT]] {para.phase = #para<phase forward>, para.recompute, para.stage = 0 : i64}
// CHECK-NEXT: %[[T:.*]] = para.tanh %[[R]] {para.phase = #para<phase forward>, para.recompute
// CHECK-NEXT: %[[OUT:.*]] = para.neg %[[T]]
// CHECK-NEXT: %[[GO:.*]] = para.neg %arg0 {para.phase = #para<phase backward>
// CHECK-NEXT: %[[R2:.*]] = para.relu %[[KEPT]] {para.phase = #para<phase backward>, para.repeats = 1 : i64, para.stage = 0 : i64}
// CHECK-NEXT: %[[T2:.*]] = para.tanh %[[R2]] {para.phase = #para<phase backward>, para.repeats = 2 : i64
// CHECK-NEXT: %[[G:.*]] = para.mul %[[GO]], %[[T2]]
// CHECK-NEXT: %[[E2:.*]] = para.exp %[[R2]] {para.phase = #para<phase backward>, para.stage = 0 : i64}
// CHECK-NEXT: %[[G2:.*]] = para.add %[[E2]], %[[R2]]

// Another stage takes what there is, and so does the update.
// STAGE: %[[RELU:.*]] = para.relu %{{.*}}phase forward
// STAGE: para.sub %{{.*}}, %[[RELU]] {para.phase = #para<phase backward>, para.stage = 1 : i64}
// STAGE-NEXT: para.mul %{{.*}}, %[[RELU]] {para.phase = #para<phase update>
func.func @main(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = para.dot %x, %w batch [] x [] contract [1] x [0] {para.phase = #para<phase forward>, para.stage = 0 : i64} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32> loc("first")
  %1 = para.relu %0 {para.phase = #para<phase forward>, para.stage = 0 : i64, para.recompute} : tensor<4x4xf32> loc("first")
  %2 = para.tanh %1 {para.phase = #para<phase forward>, para.stage = 0 : i64, para.recompute} : tensor<4x4xf32> loc("second")
  %3 = para.exp %1 {para.phase = #para<phase forward>, para.stage = 0 : i64, para.recompute} : tensor<4x4xf32> loc("second")
  %4 = para.neg %2 {para.phase = #para<phase forward>, para.stage = 0 : i64} : tensor<4x4xf32> loc("third")
  %5 = para.neg %x {para.phase = #para<phase backward>, para.stage = 0 : i64} : tensor<4x4xf32> loc("third")
  %6 = para.mul %5, %2 {para.phase = #para<phase backward>, para.stage = 0 : i64} : tensor<4x4xf32> loc("second")
  %7 = para.add %3, %1 {para.phase = #para<phase backward>, para.stage = 0 : i64} : tensor<4x4xf32> loc("first")
  %8 = para.sub %7, %1 {para.phase = #para<phase backward>, para.stage = 1 : i64} : tensor<4x4xf32> loc("first")
  %9 = para.mul %8, %1 {para.phase = #para<phase update>, para.stage = 0 : i64} : tensor<4x4xf32> loc("first")
  return %4, %6, %9 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}
