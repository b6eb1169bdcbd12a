// A gradient of a master is not rounded before it is added to anything: the product that makes it gives f32, also through moves and where
// several uses are added up. What somebody else sees stays as it is.
// RUN: para-opt %s --split-input-file --para-widen-gradients | FileCheck %s
// RUN: para-opt %s --split-input-file --para-widen-gradients=outputs=true | FileCheck %s --check-prefix=OUTPUTS

// OUTPUTS-LABEL: func.func @main
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[A:.*]] = para.dot %arg0, %arg1 {{.*}} : tensor<4x3xbf16>, tensor<4x2xbf16> -> tensor<3x2xf32>
// CHECK-DAG: %[[B:.*]] = para.dot %arg1, %arg0 {{.*}} : tensor<4x2xbf16>, tensor<4x3xbf16> -> tensor<2x3xf32>
// CHECK: %[[T:.*]] = para.transpose %[[B]] [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
// CHECK: %[[S:.*]] = para.add_n %[[A]], %[[T]] : tensor<3x2xf32>
// CHECK: return %arg2, %[[S]]
func.func @main(%x: tensor<4x3xbf16>, %g: tensor<4x2xbf16>, %l: tensor<f32>)
    -> (tensor<f32> {para.kind = "output", para.name = "loss"}, tensor<3x2xf32> {para.kind = "gradient", para.name = "w"}) {
  %0 = para.dot %x, %g batch [] x [] contract [0] x [0] : tensor<4x3xbf16>, tensor<4x2xbf16> -> tensor<3x2xbf16>
  %1 = para.dot %g, %x batch [] x [] contract [0] x [0] : tensor<4x2xbf16>, tensor<4x3xbf16> -> tensor<2x3xbf16>
  %2 = para.transpose %1 [1, 0] : tensor<2x3xbf16> -> tensor<3x2xbf16>
  %3 = para.add_n %0, %2 : tensor<3x2xbf16>
  %4 = para.cast %3 : tensor<3x2xbf16> -> tensor<3x2xf32>
  return %l, %4 : tensor<f32>, tensor<3x2xf32>
}

// -----

// OUTPUTS-LABEL: func.func @main
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = para.dot {{.*}} -> tensor<3x2xbf16>
// CHECK: %[[W:.*]] = para.cast %[[A]] : tensor<3x2xbf16> -> tensor<3x2xf32>
// CHECK: return %[[A]], %[[W]]
func.func @main(%x: tensor<4x3xbf16>, %g: tensor<4x2xbf16>)
    -> (tensor<3x2xbf16> {para.kind = "output", para.name = "seen"}, tensor<3x2xf32> {para.kind = "gradient", para.name = "w"}) {
  %0 = para.dot %x, %g batch [] x [] contract [0] x [0] : tensor<4x3xbf16>, tensor<4x2xbf16> -> tensor<3x2xbf16>
  %1 = para.cast %0 : tensor<3x2xbf16> -> tensor<3x2xf32>
  return %0, %1 : tensor<3x2xbf16>, tensor<3x2xf32>
}

// -----

// An output that is declared f32 may be beyond what 16 bits hold: if asked for, it is not rounded first, nor is the product that it is made of.
// CHECK-LABEL: func.func @main
// CHECK: para.cast %{{.*}} : tensor<4x2xf32> -> tensor<4x2xbf16>
// OUTPUTS-LABEL: func.func @main
// OUTPUTS: %[[P:.*]] = para.dot %arg0, %arg1 {{.*}} : tensor<4x3xbf16>, tensor<3x2xbf16> -> tensor<4x2xf32>
// OUTPUTS-NOT: para.cast
// OUTPUTS: %[[Y:.*]] = para.add %[[P]], %arg2 : tensor<4x2xf32>
// OUTPUTS-NOT: para.cast
// OUTPUTS: return %[[Y]]
func.func @main(%x: tensor<4x3xbf16>, %w: tensor<3x2xbf16>, %b: tensor<4x2xf32>) -> (tensor<4x2xf32> {para.kind = "output", para.name = "y"}) {
  %0 = para.dot %x, %w batch [] x [] contract [1] x [0] : tensor<4x3xbf16>, tensor<3x2xbf16> -> tensor<4x2xbf16>
  %1 = para.cast %0 : tensor<4x2xbf16> -> tensor<4x2xf32>
  %2 = para.add %1, %b : tensor<4x2xf32>
  %3 = para.cast %2 : tensor<4x2xf32> -> tensor<4x2xbf16>
  %4 = para.cast %3 : tensor<4x2xbf16> -> tensor<4x2xf32>
  return %4 : tensor<4x2xf32>
}
