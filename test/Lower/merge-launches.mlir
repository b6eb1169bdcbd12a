// Intent: launches that do the same to every element of different tensors are one, as far as none waits for another; what depends on the
// place of an element is not among them, and neither is one that a call stands before.
// RUN: para-opt %s --para-form-calls=target=cuda --para-split-reductions --para-form-kernels --para-assign-memory=target=cuda --para-lower-to-rt=target=cuda | FileCheck %s
// RUN: para-opt %s --para-form-calls=target=host --para-split-reductions --para-form-kernels --para-assign-memory=target=host --para-lower-to-rt=target=host | FileCheck %s --check-prefix=HOST

// CHECK: rt.segment @stage0.forward
// CHECK: rt.launch [#rt.address<0, 0, 0>, #rt.address<{{[0-9]+}}, 0, 0>] {kernel = @[[TWO:kernel_[0-9]+_for_2]],
// CHECK: rt.matmul
// CHECK: rt.launch [#rt.address<{{[0-9]+}}, 0, 0>, #rt.address<{{[0-9]+}}, 0, 0>, #rt.address<{{[0-9]+}}, 0, 0>] {kernel = @kernel_{{[0-9]+}},
// CHECK-NOT: _for_
// CHECK: rt.kernel @[[TWO]] {{.*}}varying [{{[0-9]}}, 2] instances [array<i64: 512, {{[0-9]+, [0-9]+}}>, array<i64: 100, {{[0-9]+, [0-9]+}}>]

// HOST-NOT: _for_
module attributes {para.microbatches = 1 : i64, para.manifest = "{}", para.mode = "infer"} {
  func.func @stage0(%a: tensor<64x8xf32> {para.kind = "input", para.name = "a"}, %b: tensor<100xf32> {para.kind = "input", para.name = "b"},
                    %w: tensor<8x16xf32> {para.kind = "parameter", para.name = "w"}, %rate: tensor<f32> {para.kind = "input", para.name = "rate"})
      -> (tensor<100xf32> {para.kind = "output", para.name = "bs"}, tensor<64x16xf32> {para.kind = "output", para.name = "c"},
          tensor<40xf32> {para.kind = "output", para.name = "n"}) {
    %ra = para.broadcast %rate [] : tensor<f32> -> tensor<64x8xf32>
    %as = para.mul %a, %ra : tensor<64x8xf32>
    %rb = para.broadcast %rate [] : tensor<f32> -> tensor<100xf32>
    %bs = para.mul %b, %rb : tensor<100xf32>
    %d = para.dot %as, %w batch [] x [] contract [1] x [0] : tensor<64x8xf32>, tensor<8x16xf32> -> tensor<64x16xf32>
    %rd = para.broadcast %rate [] : tensor<f32> -> tensor<64x16xf32>
    %c = para.mul %d, %rd : tensor<64x16xf32>
    %i = para.iota 0 : tensor<40xi64>
    %f = para.cast %i : tensor<40xi64> -> tensor<40xf32>
    %rn = para.broadcast %rate [] : tensor<f32> -> tensor<40xf32>
    %n = para.mul %f, %rn : tensor<40xf32>
    return %bs, %c, %n : tensor<100xf32>, tensor<64x16xf32>, tensor<40xf32>
  }
}
