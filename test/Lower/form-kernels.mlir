// Intent: what makes one kernel.
// RUN: para-opt %s --para-split-reductions --para-form-kernels | FileCheck %s

// Two weights have the shape of a repeated scalar in common, and no kernel.
// CHECK-LABEL: func.func @apart
// CHECK: rt.fused %arg2, %arg0 : (tensor<f32>, tensor<128x256xf32>) -> tensor<128x256xf32>
// CHECK: rt.fused %arg2, %arg1 : (tensor<f32>, tensor<128x256xf32>) -> tensor<128x256xf32>
func.func @apart(%x: tensor<128x256xf32>, %y: tensor<128x256xf32>, %rate: tensor<f32>) -> (tensor<128x256xf32>, tensor<128x256xf32>) {
  %all = para.broadcast %rate [] : tensor<f32> -> tensor<128x256xf32>
  %a = para.mul %x, %all : tensor<128x256xf32>
  %b = para.mul %y, %all : tensor<128x256xf32>
  return %a, %b : tensor<128x256xf32>, tensor<128x256xf32>
}

// A launch is what costs with small tensors.
// CHECK-LABEL: func.func @together
// CHECK: rt.fused
// CHECK-NOT: rt.fused
// CHECK: return
func.func @together(%x: tensor<256xf32>, %y: tensor<256xf32>, %rate: tensor<f32>) -> (tensor<256xf32>, tensor<256xf32>) {
  %all = para.broadcast %rate [] : tensor<f32> -> tensor<256xf32>
  %a = para.mul %x, %all : tensor<256xf32>
  %b = para.mul %y, %all : tensor<256xf32>
  return %a, %b : tensor<256xf32>, tensor<256xf32>
}

// The update of a weight and the first part of the sum of its gradient's squares read the gradient once; the repeated rate is there once.
// CHECK-LABEL: func.func @norm
// CHECK: rt.fused
// CHECK: para.reduce sum %{{.*}} [1] : tensor<128x512xf32> -> tensor<128xf32>
// CHECK: para.broadcast
// CHECK-NOT: para.broadcast
// CHECK: rt.yield
// CHECK: rt.fused
// CHECK: para.reduce sum %{{.*}} [0] : tensor<128xf32> -> tensor<f32>
// CHECK-NOT: rt.fused
// CHECK: return
func.func @norm(%w: tensor<128x512xf32>, %g: tensor<128x512xf32>, %rate: tensor<f32>) -> (tensor<128x512xf32>, tensor<f32>) {
  %square = para.mul %g, %g : tensor<128x512xf32>
  %sum = para.reduce sum %square [0, 1] : tensor<128x512xf32> -> tensor<f32>
  %all = para.broadcast %rate [] : tensor<f32> -> tensor<128x512xf32>
  %decay = para.mul %w, %all : tensor<128x512xf32>
  %step = para.mul %square, %all : tensor<128x512xf32>
  %next = para.sub %decay, %step : tensor<128x512xf32>
  return %next, %sum : tensor<128x512xf32>, tensor<f32>
}

// What turns out to be one value is one result, whoever asks for it: a kernel stores a value in one place.
// CHECK-LABEL: func.func @once
// CHECK: %[[ONE:.*]] = rt.fused %arg0 : (tensor<64x13xf32>) -> tensor<64x13xf32>
// CHECK: return %[[ONE]], %[[ONE]]
func.func @once(%x: tensor<64x13xf32>) -> (tensor<64x13xf32>, tensor<64x13xf32>) {
  %n = para.exp %x : tensor<64x13xf32>
  %y = para.mul %n, %x : tensor<64x13xf32>
  %z = para.mul %n, %x : tensor<64x13xf32>
  return %y, %z : tensor<64x13xf32>, tensor<64x13xf32>
}

// What is computed again in the backward pass stays there: it is not the result of the forward pass, which would have to be kept for it.
// CHECK-LABEL: func.func @again
// CHECK: %[[FIRST:.*]] = rt.fused %arg0 {{.*}}phase forward
// CHECK: %[[AGAIN:.*]] = rt.fused %arg0 {{.*}}phase backward
// CHECK: return %[[FIRST]], %[[AGAIN]]
func.func @again(%x: tensor<64x13xf32>) -> (tensor<64x13xf32>, tensor<64x13xf32>) {
  %a = para.exp %x {para.phase = #para<phase forward>} : tensor<64x13xf32>
  %y = para.mul %a, %x {para.phase = #para<phase forward>} : tensor<64x13xf32>
  %b = para.exp %x {para.phase = #para<phase backward>} : tensor<64x13xf32>
  %z = para.mul %b, %x {para.phase = #para<phase backward>} : tensor<64x13xf32>
  return %y, %z : tensor<64x13xf32>, tensor<64x13xf32>
}

// Sums over columns of different tensors of one shape are one kernel, for nothing else runs between them; those of another shape are not.
// CHECK-LABEL: func.func @columns
// CHECK: rt.fused {{.*}} -> tensor<16xf32>
// CHECK: rt.fused {{.*}} -> (tensor<32xf32>, tensor<32xf32>)
// CHECK-NOT: rt.fused
// CHECK: return
func.func @columns(%x: tensor<128x32xf32>, %y: tensor<128x32xf32>, %z: tensor<256x16xf32>) -> (tensor<32xf32>, tensor<32xf32>, tensor<16xf32>) {
  %a = para.reduce sum %x [0] : tensor<128x32xf32> -> tensor<32xf32>
  %c = para.reduce sum %z [0] : tensor<256x16xf32> -> tensor<16xf32>
  %b = para.reduce sum %y [0] : tensor<128x32xf32> -> tensor<32xf32>
  return %a, %b, %c : tensor<32xf32>, tensor<32xf32>, tensor<16xf32>
}
