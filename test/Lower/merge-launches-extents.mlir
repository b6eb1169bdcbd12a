// Intent: kernels that differ in one extent are one launch: rows that are worked on one by one, and terms of a sum. The order in which ops were
// written makes no difference; rows of another length, and a vector that is another for each row, do.
// RUN: para-opt %s --para-split-reductions=target=cuda --para-form-kernels=target=cuda --para-assign-memory=target=cuda --para-lower-to-rt=target=cuda | FileCheck %s

// CHECK: rt.segment @stage0.forward
// CHECK-COUNT-5: rt.launch
// CHECK-NOT: rt.launch
// CHECK-DAG: rt.kernel @kernel_{{[0-9]+}}_for_2 {{.*}}instances [array<i64: 512, {{.*}}>, array<i64: 300, {{.*}}>] attributes {rt.varies = "rows"}
// CHECK-DAG: rt.kernel @kernel_{{[0-9]+}}_for_2 {{.*}}instances [array<i64: 700, {{.*}}>, array<i64: 33, {{.*}}>] attributes {rt.varies = "terms"}
module attributes {para.microbatches = 1 : i64, para.manifest = "{}", para.mode = "infer"} {
  func.func @stage0(%a: tensor<512x60xf32> {para.kind = "input", para.name = "a"}, %b: tensor<300x60xf32> {para.kind = "input", para.name = "b"},
                    %c: tensor<300x61xf32> {para.kind = "input", para.name = "c"}, %d: tensor<60x60xf32> {para.kind = "input", para.name = "d"},
                    %v: tensor<60xf32> {para.kind = "input", para.name = "v"}, %rate: tensor<f32> {para.kind = "input", para.name = "rate"},
                    %m: tensor<700xf32> {para.kind = "input", para.name = "m"}, %n: tensor<33xf32> {para.kind = "input", para.name = "n"})
      -> (tensor<512x60xf32> {para.kind = "output", para.name = "ya"}, tensor<512xf32> {para.kind = "output", para.name = "sa"},
          tensor<300x60xf32> {para.kind = "output", para.name = "yb"}, tensor<300xf32> {para.kind = "output", para.name = "sb"},
          tensor<300xf32> {para.kind = "output", para.name = "sc"}, tensor<60xf32> {para.kind = "output", para.name = "sd"},
          tensor<f32> {para.kind = "output", para.name = "tm"}, tensor<f32> {para.kind = "output", para.name = "tn"}) {
    %ra = para.broadcast %rate [] : tensor<f32> -> tensor<512x60xf32>
    %ya = para.mul %a, %ra : tensor<512x60xf32>
    %qa = para.mul %a, %a : tensor<512x60xf32>
    %sa = para.reduce sum %qa [1] : tensor<512x60xf32> -> tensor<512xf32>
    %qb = para.mul %b, %b : tensor<300x60xf32>
    %sb = para.reduce sum %qb [1] : tensor<300x60xf32> -> tensor<300xf32>
    %rb = para.broadcast %rate [] : tensor<f32> -> tensor<300x60xf32>
    %yb = para.mul %b, %rb : tensor<300x60xf32>
    %sc = para.reduce sum %c [1] : tensor<300x61xf32> -> tensor<300xf32>
    %vd = para.broadcast %v [1] : tensor<60xf32> -> tensor<60x60xf32>
    %qd = para.mul %d, %vd : tensor<60x60xf32>
    %sd = para.reduce sum %qd [1] : tensor<60x60xf32> -> tensor<60xf32>
    %tm = para.reduce sum %m [0] : tensor<700xf32> -> tensor<f32>
    %tn = para.reduce sum %n [0] : tensor<33xf32> -> tensor<f32>
    return %ya, %sa, %yb, %sb, %sc, %sd, %tm, %tn : tensor<512x60xf32>, tensor<512xf32>, tensor<300x60xf32>, tensor<300xf32>, tensor<300xf32>, tensor<60xf32>, tensor<f32>, tensor<f32>
  }
}
