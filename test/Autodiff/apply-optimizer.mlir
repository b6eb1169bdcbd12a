// Gradients become updates of parameters and state; the optimizer's numbers are arguments, decay leaves out what no_decay matches.
// RUN: para-opt %s --para-attach-loss="loss=mse:target=t" --para-differentiate --canonicalize --cse --para-apply-optimizer="optimizer=momentum:lr=0.1,weight_decay=0.5,no_decay=*bias" --canonicalize --cse | FileCheck %s
// RUN: para-opt %s --para-attach-loss="loss=mse:target=t" --para-differentiate --para-apply-optimizer="optimizer=sgd clip-norm=1" --canonicalize --cse | FileCheck %s --check-prefix=CLIP
// RUN: para-opt %s --para-attach-loss="loss=mse:target=t" --para-differentiate --para-apply-optimizer="optimizer=sgd clip-value=2" --canonicalize --cse | FileCheck %s --check-prefix=VALUE
// RUN: para-opt %s --para-attach-loss="loss=mse:target=t" --para-differentiate --para-apply-optimizer="optimizer=adamw keep-gradients=true" | FileCheck %s --check-prefix=ADAMW

// CHECK: %[[W:arg[0-9]+]]: tensor<3x2xf32> {para.kind = "parameter"
// CHECK-SAME: %[[LR:arg[0-9]+]]: tensor<f64> {para.default = 1.000000e-01 : f64, para.kind = "hyper", para.name = "lr"}
// CHECK-SAME: %[[MU:arg[0-9]+]]: tensor<f64> {para.default = 9.000000e-01 : f64, para.kind = "hyper", para.name = "momentum"}
// CHECK-SAME: %[[DECAY:arg[0-9]+]]: tensor<f64> {para.default = 5.000000e-01 : f64, para.kind = "hyper", para.name = "weight_decay"}
// CHECK-SAME: %[[M:arg[0-9]+]]: tensor<3x2xf32> {para.initial = 0.000000e+00 : f64, para.kind = "state", para.name = "fc.weight/momentum", para.state_of = "fc.weight"}
// CHECK-SAME: para.name = "grad_norm"
// CHECK-SAME: para.name = "fc.weight", para.updates = "fc.weight"
// CHECK-SAME: para.name = "fc.weight/momentum", para.updates = "fc.weight/momentum"
// CHECK-SAME: para.optimizer = "momentum"
// CHECK-DAG: %[[G:.*]] = para.transpose
// CHECK-DAG: %[[C:.*]] = para.cast %[[DECAY]]
// CHECK-DAG: %[[CB:.*]] = para.broadcast %[[C]] [] : tensor<f32> -> tensor<3x2xf32>
// CHECK: %[[CW:.*]] = para.mul %[[CB]], %[[W]]
// CHECK: para.add %[[G]], %[[CW]]
// CHECK: %[[NEW:.*]] = para.sub %[[W]], %{{.*}} : tensor<3x2xf32>
// No decay of the bias: the number is used for the weight alone.
// CHECK-NOT: para.broadcast %[[C]]
// CHECK: return %{{.*}}, %{{.*}}, %[[NEW]],

// The norm is over all parameters: squares of each, summed, then one root.
// CLIP: %[[S1:.*]] = para.reduce sum %{{.*}} [0, 1] : tensor<3x2xf32> -> tensor<f32>
// CLIP: %[[S2:.*]] = para.reduce sum %{{.*}} [0] : tensor<2xf32> -> tensor<f32>
// CLIP: %[[SUM:.*]] = para.add_n %[[S1]], %[[S2]] : tensor<f32>
// CLIP: %[[NORM:.*]] = para.sqrt %[[SUM]]
// CLIP: %[[BOUND:.*]] = para.add %[[NORM]],
// CLIP: para.div %{{.*}}, %[[BOUND]]
// CLIP: %[[FACTOR:.*]] = para.min
// CLIP: para.broadcast %[[FACTOR]] [] : tensor<f32> -> tensor<3x2xf32>
// CLIP: para.broadcast %[[FACTOR]] [] : tensor<f32> -> tensor<2xf32>

// VALUE-DAG: dense<2.000000e+00>
// VALUE-DAG: dense<-2.000000e+00>
// VALUE-DAG: para.min
// VALUE-DAG: para.max

// ADAMW: func.func @main
// ADAMW-SAME: para.name = "fc.weight/m"
// ADAMW-SAME: para.name = "fc.weight/v"
// ADAMW-SAME: para.name = "fc.bias/m"
// ADAMW-SAME: para.kind = "gradient", para.name = "fc.weight"
func.func @main(%x: tensor<4x3xf32> {para.kind = "input", para.name = "x", para.batch_dim = 0 : i64},
                %w: tensor<3x2xf32> {para.kind = "parameter", para.name = "fc.weight", para.trainable},
                %b: tensor<2xf32> {para.kind = "parameter", para.name = "fc.bias", para.trainable})
    -> (tensor<4x2xf32> {para.kind = "output", para.name = "y"}) attributes {para.batch = 4 : i64} {
  %0 = para.dot %x, %w batch [] x [] contract [1] x [0] : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
  %1 = para.broadcast %b [1] : tensor<2xf32> -> tensor<4x2xf32>
  %2 = para.add %0, %1 : tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}
