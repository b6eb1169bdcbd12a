// Intent: what stands between two products of attention becomes one kernel with them.
// RUN: para-opt %s --para-form-tiles | FileCheck %s

// The heads' transposes are in the kernel, too; of each row the backward pass would find the maximum and the sum.
// CHECK-LABEL: func.func @attention(
// CHECK-NEXT: %[[O:.*]] = rt.fused %arg0, %arg1, %arg2 attributes {{.*}}rt.tiles = array<i64: 0, 32, 24, 2, 3>
// CHECK-SAME: -> tensor<2x32x3x8xf32>
// CHECK-COUNT-2: para.dot
// CHECK: rt.yield
// CHECK: return %[[O]]
func.func @attention(%q: tensor<2x32x3x16xf32>, %k: tensor<2x24x3x16xf32>, %v: tensor<2x24x3x8xf32>) -> tensor<2x32x3x8xf32> {
  %qt = para.transpose %q [0, 2, 1, 3] : tensor<2x32x3x16xf32> -> tensor<2x3x32x16xf32>
  %kt = para.transpose %k [0, 2, 1, 3] : tensor<2x24x3x16xf32> -> tensor<2x3x24x16xf32>
  %vt = para.transpose %v [0, 2, 1, 3] : tensor<2x24x3x8xf32> -> tensor<2x3x24x8xf32>
  %s = para.dot %qt, %kt batch [0, 1] x [0, 1] contract [3] x [3] : tensor<2x3x32x16xf32>, tensor<2x3x24x16xf32> -> tensor<2x3x32x24xf32>
  %m = para.reduce max %s [3] : tensor<2x3x32x24xf32> -> tensor<2x3x32xf32>
  %mb = para.broadcast %m [0, 1, 2] : tensor<2x3x32xf32> -> tensor<2x3x32x24xf32>
  %d = para.sub %s, %mb : tensor<2x3x32x24xf32>
  %e = para.exp %d : tensor<2x3x32x24xf32>
  %l = para.reduce sum %e [3] : tensor<2x3x32x24xf32> -> tensor<2x3x32xf32>
  %lb = para.broadcast %l [0, 1, 2] : tensor<2x3x32xf32> -> tensor<2x3x32x24xf32>
  %p = para.div %e, %lb : tensor<2x3x32x24xf32>
  %o = para.dot %p, %vt batch [0, 1] x [0, 1] contract [3] x [2] : tensor<2x3x32x24xf32>, tensor<2x3x24x8xf32> -> tensor<2x3x32x8xf32>
  %y = para.transpose %o [0, 2, 1, 3] : tensor<2x3x32x8xf32> -> tensor<2x32x3x8xf32>
  return %y : tensor<2x32x3x8xf32>
}

// Weights that are a result, too, are stored once.
// CHECK-LABEL: func.func @weights(
// CHECK-NEXT: %[[R:.*]]:2 = rt.fused %arg0, %arg1, %arg2 attributes {{.*}}rt.tiles = array<i64: 0, 32, 24>
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @weights(%q: tensor<32x16xf32>, %k: tensor<24x16xf32>, %v: tensor<24x8xf32>) -> (tensor<32x8xf32>, tensor<32x24xf32>) {
  %s = para.dot %q, %k batch [] x [] contract [1] x [1] : tensor<32x16xf32>, tensor<24x16xf32> -> tensor<32x24xf32>
  %m = para.reduce max %s [1] : tensor<32x24xf32> -> tensor<32xf32>
  %mb = para.broadcast %m [0] : tensor<32xf32> -> tensor<32x24xf32>
  %d = para.sub %s, %mb : tensor<32x24xf32>
  %e = para.exp %d : tensor<32x24xf32>
  %o = para.dot %e, %v batch [] x [] contract [1] x [0] : tensor<32x24xf32>, tensor<24x8xf32> -> tensor<32x8xf32>
  return %o, %e : tensor<32x8xf32>, tensor<32x24xf32>
}

// A maximum over the rows, for which a block would have to see all of them.
// CHECK-LABEL: func.func @over_rows(
// CHECK-NOT: rt.fused
func.func @over_rows(%q: tensor<32x16xf32>, %k: tensor<24x16xf32>, %v: tensor<24x8xf32>) -> tensor<32x8xf32> {
  %s = para.dot %q, %k batch [] x [] contract [1] x [1] : tensor<32x16xf32>, tensor<24x16xf32> -> tensor<32x24xf32>
  %m = para.reduce max %s [0] : tensor<32x24xf32> -> tensor<24xf32>
  %mb = para.broadcast %m [1] : tensor<24xf32> -> tensor<32x24xf32>
  %d = para.sub %s, %mb : tensor<32x24xf32>
  %e = para.exp %d : tensor<32x24xf32>
  %o = para.dot %e, %v batch [] x [] contract [1] x [0] : tensor<32x24xf32>, tensor<24x8xf32> -> tensor<32x8xf32>
  return %o : tensor<32x8xf32>
}

// Two layers without a softmax between them are products of a library.
// CHECK-LABEL: func.func @layers(
// CHECK-NOT: rt.fused
func.func @layers(%x: tensor<32x16xf32>, %w: tensor<16x24xf32>, %v: tensor<24x8xf32>) -> tensor<32x8xf32> {
  %s = para.dot %x, %w batch [] x [] contract [1] x [0] : tensor<32x16xf32>, tensor<16x24xf32> -> tensor<32x24xf32>
  %t = para.tanh %s : tensor<32x24xf32>
  %o = para.dot %t, %v batch [] x [] contract [1] x [0] : tensor<32x24xf32>, tensor<24x8xf32> -> tensor<32x8xf32>
  return %o : tensor<32x8xf32>
}
