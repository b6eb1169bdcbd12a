// Gradients of the trained parameters become results under their names; what does not lead to one is not differentiated.
// RUN: para-opt %s --para-attach-loss="loss=mse:target=t" --para-differentiate --canonicalize --cse | FileCheck %s
// RUN: para-opt %s --para-select-parameters=freeze=*weight --para-attach-loss="loss=mse:target=t" --para-differentiate --canonicalize --cse | FileCheck %s --check-prefix=BIAS
// Ops of the backward pass are marked on their locations and keep the names of the forward ones.
// RUN: para-opt %s --para-attach-loss="loss=mse:target=t" --para-differentiate --mlir-print-debuginfo | FileCheck %s --check-prefix=LOC

// CHECK: -> (tensor<f32> {para.kind = "output", para.name = "loss"}, tensor<3x2xf32> {para.kind = "gradient", para.name = "fc.weight"}, tensor<2xf32> {para.kind = "gradient", para.name = "fc.bias"})
// CHECK: %[[D:.*]] = para.sub
// CHECK: %[[N:.*]] = para.extent
// The loss is one term here, and its cotangent is weighed with it.
// CHECK: %[[MEAN:.*]] = para.div %{{.*}}, %[[N]]
// CHECK: %[[LOSS:.*]] = para.batch_term 0 %[[MEAN]]
// CHECK: %[[ONE:.*]] = para.batch_term 0 %{{.*}}
// CHECK: %[[SEED:.*]] = para.div %[[ONE]], %[[N]]
// CHECK: %[[G:.*]] = para.broadcast %[[SEED]] []
// CHECK: %[[P:.*]] = para.mul %[[G]], %[[D]]
// CHECK: %[[DY:.*]] = para.add_n %[[P]], %[[P]]
// CHECK-DAG: %[[DB:.*]] = para.reduce sum %[[DY]] [0] : tensor<4x2xf32> -> tensor<2xf32>
// CHECK-DAG: %[[DW:.*]] = para.dot %[[DY]], %{{.*}} batch [] x [] contract [0] x [0] : tensor<4x2xf32>, tensor<4x3xf32> -> tensor<2x3xf32>
// CHECK-DAG: %[[DWT:.*]] = para.transpose %[[DW]] [1, 0]
// CHECK: return %[[LOSS]], %[[DWT]], %[[DB]]

// BIAS: -> (tensor<f32> {para.kind = "output", para.name = "loss"}, tensor<2xf32> {para.kind = "gradient", para.name = "fc.bias"})
// BIAS: para.dot
// BIAS-NOT: para.dot

// LOC: para.dot {{.*}} loc(#[[BACK:loc[0-9]+]])
// LOC: #{{loc[0-9]+}} = loc({{.*}}backward
func.func @main(%x: tensor<4x3xf32> {para.kind = "input", para.name = "x", para.batch_dim = 0 : i64},
                %w: tensor<3x2xf32> {para.kind = "parameter", para.name = "fc.weight", para.trainable},
                %b: tensor<2xf32> {para.kind = "parameter", para.name = "fc.bias", para.trainable})
    -> (tensor<4x2xf32> {para.kind = "output", para.name = "y"}) attributes {para.batch = 4 : i64} {
  %0 = para.dot %x, %w batch [] x [] contract [1] x [0] : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
  %1 = para.broadcast %b [1] : tensor<2xf32> -> tensor<4x2xf32>
  %2 = para.add %0, %1 : tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}
