// Rows of 16-bit tensors that products read or make begin at multiples of eight elements on a GPU, where only kernels and products read them: the
// product steps over what lies between, the kernel that makes the operand writes it so.
// RUN: para-opt %s --para-form-calls=target=cuda --split-input-file | FileCheck %s
// RUN: para-opt %s --para-form-calls=target=cuda --para-form-kernels=target=cuda --split-input-file | FileCheck %s --check-prefix=KERNELS
// RUN: para-opt %s --para-form-calls --split-input-file | FileCheck %s --check-prefix=HOST --implicit-check-not=para.pad

// The result has 504 columns of which 501 are written, and what is made of it is made for both products at once.
// CHECK-LABEL: func.func @scores
// CHECK: %[[S:.*]] = rt.call "matmul"{{.*}}mnk = array<i64: 512, 501, 96>, strides = array<i64: 96, 1, 1, 96, 504>{{.*}} -> tensor<512x504xbf16>
// CHECK: para.slice %[[S]] [0, 0] [1, 1] {rt.rows} : tensor<512x504xbf16> -> tensor<512x501xbf16>
// CHECK: %[[P:.*]] = para.pad {{.*}} {rt.rows} : tensor<512x501xbf16> -> tensor<512x504xbf16>
// CHECK: rt.call "matmul" %[[P]]{{.*}}mnk = array<i64: 512, 96, 501>, strides = array<i64: 504, 1, 96, 1, 96>
// CHECK: rt.call "matmul" %[[P]]{{.*}}mnk = array<i64: 501, 96, 512>, strides = array<i64: 1, 504, 96, 1, 96>
// KERNELS-LABEL: func.func @scores
// KERNELS-COUNT-1: rt.fused {{.*}}tensor<512x504xbf16>
// KERNELS-NOT: rt.fused
// KERNELS: return
// HOST-LABEL: func.func @scores
// HOST: strides = array<i64: 96, 1, 1, 96, 501>
func.func @scores(%x: tensor<512x96xbf16>, %w: tensor<501x96xbf16>) -> (tensor<512x96xbf16>, tensor<501x96xf32>) {
  %s = para.dot %x, %w batch [] x [] contract [1] x [1] : tensor<512x96xbf16>, tensor<501x96xbf16> -> tensor<512x501xbf16>
  %g = para.exp %s : tensor<512x501xbf16>
  %0 = para.dot %g, %w batch [] x [] contract [1] x [0] : tensor<512x501xbf16>, tensor<501x96xbf16> -> tensor<512x96xbf16>
  %1 = para.dot %g, %x batch [] x [] contract [0] x [0] : tensor<512x501xbf16>, tensor<512x96xbf16> -> tensor<501x96xf32>
  return %0, %1 : tensor<512x96xbf16>, tensor<501x96xf32>
}

// -----

// What leaves the step, also in another shape, has no gaps; nor has what is small, of few rows or columns, or of 32 bits.
// CHECK-LABEL: func.func @whole
// CHECK-DAG: strides = array<i64: 96, 1, 1, 96, 501>
// CHECK-DAG: strides = array<i64: 96, 1, 501, 1, 501>
// CHECK-DAG: strides = array<i64: 96, 1, 1, 96, 65>
// CHECK-DAG: strides = array<i64: 4096, 1, 1, 4096, 5001>
// CHECK-DAG: strides = array<i64: 4096, 1, 1, 4096, 63>
// CHECK-NOT: para.pad
// CHECK-NOT: para.slice
// CHECK: return
func.func @whole(%x: tensor<512x96xbf16>, %w: tensor<501x96xbf16>, %y: tensor<512x96xf32>, %z: tensor<96x501xf32>, %v: tensor<9x96xbf16>, %u: tensor<65x96xbf16>,
                 %p: tensor<9x4096xbf16>, %q: tensor<5001x4096xbf16>, %r: tensor<512x4096xbf16>, %t: tensor<63x4096xbf16>)
    -> (tensor<2x256x501xbf16>, tensor<512x501xf32>, tensor<9x65xbf16>, tensor<9x5001xbf16>, tensor<512x63xbf16>) {
  %0 = para.dot %x, %w batch [] x [] contract [1] x [1] : tensor<512x96xbf16>, tensor<501x96xbf16> -> tensor<512x501xbf16>
  %1 = para.reshape %0 : tensor<512x501xbf16> -> tensor<2x256x501xbf16>
  %2 = para.dot %y, %z batch [] x [] contract [1] x [0] : tensor<512x96xf32>, tensor<96x501xf32> -> tensor<512x501xf32>
  %3 = para.exp %2 : tensor<512x501xf32>
  %4 = para.dot %v, %u batch [] x [] contract [1] x [1] : tensor<9x96xbf16>, tensor<65x96xbf16> -> tensor<9x65xbf16>
  %5 = para.exp %4 : tensor<9x65xbf16>
  %6 = para.dot %p, %q batch [] x [] contract [1] x [1] : tensor<9x4096xbf16>, tensor<5001x4096xbf16> -> tensor<9x5001xbf16>
  %7 = para.exp %6 : tensor<9x5001xbf16>
  %8 = para.dot %r, %t batch [] x [] contract [1] x [1] : tensor<512x4096xbf16>, tensor<63x4096xbf16> -> tensor<512x63xbf16>
  %9 = para.exp %8 : tensor<512x63xbf16>
  return %1, %3, %5, %7, %9 : tensor<2x256x501xbf16>, tensor<512x501xf32>, tensor<9x65xbf16>, tensor<9x5001xbf16>, tensor<512x63xbf16>
}

// -----

// Nor has what is summed over microbatches.
module attributes {para.microbatches = 2 : i64} {
  // CHECK-LABEL: func.func @summed
  // CHECK: rt.call "matmul"{{.*}}accumulate{{.*}}strides = array<i64: 1, 96, 501, 1, 501>
  // CHECK-NOT: para.slice
  // CHECK: return
  func.func @summed(%x: tensor<512x96xbf16>, %w: tensor<512x501xbf16>) -> tensor<96x501xbf16> {
    %0 = para.dot %x, %w batch [] x [] contract [0] x [0] {para.phase = #para<phase backward>} : tensor<512x96xbf16>, tensor<512x501xbf16> -> tensor<96x501xbf16>
    %1 = para.accumulate %0 {para.phase = #para<phase backward>} : tensor<96x501xbf16>
    return %1 : tensor<96x501xbf16>
  }
}

// -----

// A product that is stored as its transpose reads its operand as the other one.
// CHECK-LABEL: func.func @transposed
// CHECK: para.pad {{.*}} : tensor<512x501xbf16> -> tensor<512x504xbf16>
// CHECK: rt.call "matmul"{{.*}}504
func.func @transposed(%s: tensor<512x501xbf16>, %w: tensor<501x96xbf16>) -> tensor<96x512xf32> {
  %g = para.exp %s : tensor<512x501xbf16>
  %0 = para.dot %g, %w batch [] x [] contract [1] x [0] : tensor<512x501xbf16>, tensor<501x96xbf16> -> tensor<512x96xf32>
  %1 = para.transpose %0 [1, 0] : tensor<512x96xf32> -> tensor<96x512xf32>
  return %1 : tensor<96x512xf32>
}

// -----

// One pad for both sides of a product.
// CHECK-LABEL: func.func @square
// CHECK: %[[P:.*]] = para.pad {{.*}} -> tensor<512x504xbf16>
// CHECK-NOT: para.pad
// CHECK: rt.call "matmul" %[[P]], %[[P]]
func.func @square(%s: tensor<512x501xbf16>) -> tensor<501x501xf32> {
  %g = para.exp %s : tensor<512x501xbf16>
  %0 = para.dot %g, %g batch [] x [] contract [0] x [0] : tensor<512x501xbf16>, tensor<512x501xbf16> -> tensor<501x501xf32>
  return %0 : tensor<501x501xf32>
}

// -----

// A product that is made already reads its operand as it is: a second copy of it would cost more than the others gain.
// CHECK-LABEL: func.func @known
// CHECK-NOT: para.pad
// CHECK: return
func.func @known(%s: tensor<512x501xbf16>, %u: tensor<501x8xbf16>, %w: tensor<501x96xbf16>) -> (tensor<512x8xf32>, tensor<512x96xf32>) {
  %g = para.exp %s : tensor<512x501xbf16>
  %0 = para.dot %g, %u batch [] x [] contract [1] x [0] : tensor<512x501xbf16>, tensor<501x8xbf16> -> tensor<512x8xf32>
  %1 = para.dot %g, %w batch [] x [] contract [1] x [0] : tensor<512x501xbf16>, tensor<501x96xbf16> -> tensor<512x96xf32>
  return %0, %1 : tensor<512x8xf32>, tensor<512x96xf32>
}

// -----

// A kernel with rows that lie apart and others goes through rows.
// KERNELS-LABEL: func.func @mixed
// KERNELS: rt.fused {{.*}}(tensor<512x504xbf16>) -> (tensor<512x501xf32>, tensor<512x504xbf16>)
// KERNELS: para.slice {{.*}} {rt.rows}
// KERNELS: para.pad {{.*}} {rt.rows}
func.func @mixed(%x: tensor<512x96xbf16>, %w: tensor<501x96xbf16>) -> (tensor<512x501xf32>, tensor<512x96xbf16>) {
  %s = para.dot %x, %w batch [] x [] contract [1] x [1] : tensor<512x96xbf16>, tensor<501x96xbf16> -> tensor<512x501xbf16>
  %f = para.cast %s : tensor<512x501xbf16> -> tensor<512x501xf32>
  %y = para.tanh %f : tensor<512x501xf32>
  %e = para.exp %s : tensor<512x501xbf16>
  %0 = para.dot %e, %w batch [] x [] contract [1] x [0] : tensor<512x501xbf16>, tensor<501x96xbf16> -> tensor<512x96xbf16>
  return %y, %0 : tensor<512x501xf32>, tensor<512x96xbf16>
}
