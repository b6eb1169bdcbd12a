// Values without elements have kernels that do nothing, and sums of nothing are zeros.
// RUN: para-opt %s --para-form-calls=target=host --para-split-reductions=target=host --para-form-kernels=target=host --para-assign-memory=target=host --para-lower-to-rt=target=host --para-emit-kernels=target=host | FileCheck %s
// RUN: para-opt %s --para-form-calls=target=cuda --para-split-reductions=target=cuda --para-form-kernels=target=cuda --para-assign-memory=target=cuda --para-lower-to-rt=target=cuda --para-emit-kernels=target=cuda | FileCheck %s
module attributes {para.mesh = #para.mesh<["data"], [1]>, para.model = "empty"} {
  func.func @stage0(%x: tensor<4x3xf32> {para.kind = "input", para.name = "x"})
      -> (tensor<0x3xf32> {para.kind = "output", para.name = "part"}, tensor<0x3xf32> {para.kind = "output", para.name = "twice"},
          tensor<3xf32> {para.kind = "output", para.name = "sum"}, tensor<0xf32> {para.kind = "output", para.name = "rows"}) {
    %0 = para.slice %x [0, 0] [1, 1] {para.phase = #para<phase forward>, para.stage = 0 : i64} : tensor<4x3xf32> -> tensor<0x3xf32>
    %1 = para.add %0, %0 {para.phase = #para<phase forward>, para.stage = 0 : i64} : tensor<0x3xf32>
    %2 = para.reduce sum %1 [0] {para.phase = #para<phase forward>, para.stage = 0 : i64} : tensor<0x3xf32> -> tensor<3xf32>
    %3 = para.reduce sum %1 [1] {para.phase = #para<phase forward>, para.stage = 0 : i64} : tensor<0x3xf32> -> tensor<0xf32>
    return %0, %1, %2, %3 : tensor<0x3xf32>, tensor<0x3xf32>, tensor<3xf32>, tensor<0xf32>
  }
}
// CHECK: rt.launch {{.*}}kernel = @[[NONE:kernel_[0-9]+]],
// CHECK: rt.launch {{.*}}kernel = @[[SUM:kernel_[0-9]+]],
// CHECK: rt.kernel @[[NONE]] {{.*}} extent 0{{ }}
// CHECK: rt.kernel @[[SUM]] {{.*}} extent 1{{ }}
