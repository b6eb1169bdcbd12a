// Intent: what lies in order in memory is read and written in vectors, whatever shape it has and whatever surrounds it.
// RUN: para-opt %s --para-form-calls --para-split-reductions --para-form-kernels --para-assign-memory --para-lower-to-rt --para-emit-kernels | FileCheck %s --implicit-check-not=masked.gather --implicit-check-not=masked.scatter

module attributes {para.microbatches = 1 : i64} {
  // An update of 3x3 windows, in place beside the first part of a sum over all.
  // CHECK: func.func @{{.*}}_cpu
  // CHECK: llvm.load {{.*}} -> vector
  func.func @stage0(%w: tensor<64x60x3x3xf32> {para.kind = "parameter", para.name = "w"}, %g: tensor<64x60x3x3xf32> {para.kind = "input", para.name = "g"},
                    %q: tensor<2x3x32x64xf32> {para.kind = "input", para.name = "q"}, %v: tensor<2x3x32x64xf32> {para.kind = "input", para.name = "v"})
      -> (tensor<64x60x3x3xf32> {para.kind = "parameter", para.name = "w", para.updates = "w"}, tensor<f32> {para.kind = "output", para.name = "norm"},
          tensor<2x32x384xf32> {para.kind = "output", para.name = "qv"}) {
    %s = para.mul %g, %g : tensor<64x60x3x3xf32>
    %n = para.reduce sum %s [0, 1, 2, 3] : tensor<64x60x3x3xf32> -> tensor<f32>
    %next = para.sub %w, %s : tensor<64x60x3x3xf32>
    // The heads of two tensors behind one another: a vector lies within one head of one of them.
    %qt = para.transpose %q [0, 2, 1, 3] : tensor<2x3x32x64xf32> -> tensor<2x32x3x64xf32>
    %qr = para.reshape %qt : tensor<2x32x3x64xf32> -> tensor<2x32x192xf32>
    %vt = para.transpose %v [0, 2, 1, 3] : tensor<2x3x32x64xf32> -> tensor<2x32x3x64xf32>
    %vr = para.reshape %vt : tensor<2x32x3x64xf32> -> tensor<2x32x192xf32>
    %qv = para.concat %qr, %vr 2 : tensor<2x32x192xf32>, tensor<2x32x192xf32> -> tensor<2x32x384xf32>
    return %next, %n, %qv : tensor<64x60x3x3xf32>, tensor<f32>, tensor<2x32x384xf32>
  }
}
