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

// What leaves the step, and what is summed over microbatches, has no gaps; nor has what is small, or of 32 bits.
// CHECK-LABEL: func.func @whole
// CHECK-NOT: para.pad
// CHECK: return
func.func @whole(%x: tensor<512x96xbf16>, %w: tensor<501x96xbf16>, %y: tensor<512x96xf32>, %z: tensor<96x501xf32>, %v: tensor<9x96xbf16>, %u: tensor<65x96xbf16>)
    -> (tensor<512x501xbf16>, tensor<512x501xf32>, tensor<9x65xbf16>) {
  %s = para.dot %x, %w batch [] x [] contract [1] x [1] : tensor<512x96xbf16>, tensor<501x96xbf16> -> tensor<512x501xbf16>
  %t = para.dot %y, %z batch [] x [] contract [1] x [0] : tensor<512x96xf32>, tensor<96x501xf32> -> tensor<512x501xf32>
  %e = para.exp %t : tensor<512x501xf32>
  %a = para.dot %v, %u batch [] x [] contract [1] x [1] : tensor<9x96xbf16>, tensor<65x96xbf16> -> tensor<9x65xbf16>
  %b = para.exp %a : tensor<9x65xbf16>
  return %s, %e, %b : tensor<512x501xbf16>, tensor<512x501xf32>, tensor<9x65xbf16>
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
