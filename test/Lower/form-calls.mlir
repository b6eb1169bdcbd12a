// Intent: where a library knows one stride of a batch, products of heads are one call: their operands are laid out by head, once for all
// products, and so are results.
// RUN: para-opt %s --para-form-calls=target=cuda | FileCheck %s --check-prefix=CUDA
// RUN: para-opt %s --para-form-calls | FileCheck %s --check-prefix=HOST

// CUDA-LABEL: func.func @heads
// CUDA: %[[Q:.*]] = para.transpose %arg0 [0, 2, 1, 3]
// CUDA: %[[KT:.*]] = para.transpose %arg1 [0, 2, 3, 1]
// CUDA: %[[K:.*]] = para.transpose %[[KT]] [0, 1, 3, 2]
// CUDA: %[[S:.*]] = rt.call "matmul" %[[Q]], %[[K]] {{.*}}batch = array<i64: 6>
// CUDA-NOT: para.transpose
// CUDA: %[[D:.*]] = rt.call "matmul" %[[S]], %[[Q]] {{.*}}batch = array<i64: 6>
// CUDA: %[[Y:.*]] = para.transpose %[[D]] [0, 2, 1, 3]
// CUDA: return %[[Y]]

// With strides for each dimension nothing is copied, and the result is where it is wanted.
// HOST-LABEL: func.func @heads
// HOST: %[[S:.*]] = rt.call "matmul" %arg0, %arg1 {{.*}} batch = array<i64: 2, 3>
// HOST: %[[D:.*]] = rt.call "matmul" %[[S]], %arg0 {{.*}} batch = array<i64: 2, 3>
// HOST: return %[[D]]
func.func @heads(%q: tensor<2x32x3x16xf32>, %k: tensor<2x32x3x16xf32>) -> tensor<2x32x3x16xf32> {
  %qt = para.transpose %q [0, 2, 1, 3] : tensor<2x32x3x16xf32> -> tensor<2x3x32x16xf32>
  %kt = para.transpose %k [0, 2, 3, 1] : tensor<2x32x3x16xf32> -> tensor<2x3x16x32xf32>
  %s = para.dot %qt, %kt batch [0, 1] x [0, 1] contract [3] x [2] : tensor<2x3x32x16xf32>, tensor<2x3x16x32xf32> -> tensor<2x3x32x32xf32>
  %d = para.dot %s, %qt batch [0, 1] x [0, 1] contract [3] x [2] : tensor<2x3x32x32xf32>, tensor<2x3x32x16xf32> -> tensor<2x3x32x16xf32>
  %y = para.transpose %d [0, 2, 1, 3] : tensor<2x3x32x16xf32> -> tensor<2x32x3x16xf32>
  return %y : tensor<2x32x3x16xf32>
}

// Heads that share one of the others: it is not copied for each of them.
// CUDA-LABEL: func.func @shared
// CUDA-NOT: para.transpose
// CUDA: rt.call "matmul" %arg0, %arg1 {{.*}} batch = array<i64: 6, 2>
func.func @shared(%q: tensor<2x3x2x32x16xf32>, %k: tensor<2x3x32x16xf32>) -> tensor<2x3x2x32x32xf32> {
  %all = para.broadcast %k [0, 1, 3, 4] : tensor<2x3x32x16xf32> -> tensor<2x3x2x32x16xf32>
  %s = para.dot %q, %all batch [0, 1, 2] x [0, 1, 2] contract [4] x [4] : tensor<2x3x2x32x16xf32>, tensor<2x3x2x32x16xf32> -> tensor<2x3x2x32x32xf32>
  return %s : tensor<2x3x2x32x32xf32>
}
