// Intent: what makes one kernel of a GPU, where it is not as on a processor.
// RUN: para-opt %s --para-split-reductions=target=cuda --para-form-kernels=target=cuda | FileCheck %s
// RUN: para-opt %s --para-split-reductions --para-form-kernels | FileCheck %s --check-prefix=HOST

// The kernel that makes rows sums them, strip by strip; another reduction of the rows is of the same kernel, and the strips' sums are added up
// by a kernel of their own.
// CHECK-LABEL: func.func @strips
// CHECK: rt.fused %arg0 : (tensor<2048x64xf32>) -> (tensor<2048x64xf32>, tensor<2048xf32>, tensor<256x64xf32>)
// CHECK-DAG: para.reduce sum %{{.*}} [1] {rt.strip_sum} : tensor<256x8x64xf32> -> tensor<256x64xf32>
// CHECK-DAG: para.reduce max %{{.*}} [1] : tensor<2048x64xf32> -> tensor<2048xf32>
// CHECK: rt.fused
// CHECK: para.reduce sum %{{.*}} [0] : tensor<256x64xf32> -> tensor<64xf32>
// CHECK-NOT: rt.fused
// CHECK: return
// HOST-NOT: strip_sum
func.func @strips(%x: tensor<2048x64xf32>) -> (tensor<2048x64xf32>, tensor<2048xf32>, tensor<64xf32>) {
  %y = para.tanh %x : tensor<2048x64xf32>
  %m = para.reduce max %y [1] : tensor<2048x64xf32> -> tensor<2048xf32>
  %s = para.reduce sum %y [0] : tensor<2048x64xf32> -> tensor<64xf32>
  return %y, %m, %s : tensor<2048x64xf32>, tensor<2048xf32>, tensor<64xf32>
}

// What is summed of a product's result goes to the kernel that reads it, with what its terms are made of; a sum that nobody else reads the
// terms of stays by itself.
// CHECK-LABEL: func.func @readers
// CHECK: rt.fused %arg1, %arg0 : {{.*}} -> (tensor<2048x64xf32>, tensor<256x64xf32>, tensor<256x64xf32>)
// CHECK: rt.strip_sum
// CHECK: rt.strip_sum
// CHECK: rt.fused %arg2 : (tensor<2048x64xf32>) -> tensor<256x64xf32>
// CHECK-NOT: rt.strip_sum
// CHECK: return
func.func @readers(%x: tensor<2048x64xf32>, %g: tensor<2048x64xf32>, %z: tensor<2048x64xf32>)
    -> (tensor<2048x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %e = para.exp %x : tensor<2048x64xf32>
  %y = para.mul %e, %g : tensor<2048x64xf32>
  %s = para.reduce sum %g [0] : tensor<2048x64xf32> -> tensor<64xf32>
  %xg = para.mul %x, %g : tensor<2048x64xf32>
  %t = para.reduce sum %xg [0] : tensor<2048x64xf32> -> tensor<64xf32>
  %u = para.reduce sum %z [0] : tensor<2048x64xf32> -> tensor<64xf32>
  return %y, %s, %t, %u : tensor<2048x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// Numbers of arguments are made by one kernel.
// CHECK-LABEL: func.func @numbers
// CHECK: rt.fused {{.*}} -> (tensor<f32>, tensor<f32>)
// CHECK-NOT: rt.fused
// CHECK: return
// HOST-LABEL: func.func @numbers
// HOST: rt.fused
// HOST: rt.fused
// HOST: return
func.func @numbers(%a: tensor<f64>, %b: tensor<f64>) -> (tensor<f32>, tensor<f32>) {
  %x = para.cast %a : tensor<f64> -> tensor<f32>
  %y = para.cast %b : tensor<f64> -> tensor<f32>
  return %x, %y : tensor<f32>, tensor<f32>
}

// A function is computed again where its value is wanted later, unless its argument would have to be read for it beside.
// CHECK-LABEL: func.func @again
// CHECK: rt.fused %arg0 {{.*}}phase forward{{.*}} : (tensor<64x130xf32>) -> tensor<64x130xf32>
// CHECK: rt.fused %arg0, %arg1 {{.*}}phase backward
// CHECK: para.tanh
// HOST-LABEL: func.func @again
// HOST: rt.fused %arg0 {{.*}}phase forward{{.*}} -> (tensor<64x130xf32>, tensor<64x130xf32>)
func.func @again(%x: tensor<64x130xf32>, %g: tensor<64x130xf32>) -> (tensor<64x130xf32>, tensor<64x130xf32>) {
  %h = para.tanh %x {para.phase = #para<phase forward>} : tensor<64x130xf32>
  %y = para.mul %h, %x {para.phase = #para<phase forward>} : tensor<64x130xf32>
  %gh = para.mul %g, %h {para.phase = #para<phase backward>} : tensor<64x130xf32>
  %z = para.mul %gh, %x {para.phase = #para<phase backward>} : tensor<64x130xf32>
  return %y, %z : tensor<64x130xf32>, tensor<64x130xf32>
}
