// The cotangent of the loss is the scale, gradients are divided by it in f32, and a step whose norm is not finite changes the scale alone.
// RUN: para-opt %s "--para-differentiate=loss-scale=1024" "--para-apply-optimizer=optimizer=adam" --canonicalize --cse | FileCheck %s
// Every optimizer goes with it, those without bias corrections too.
// RUN: para-opt %s "--para-differentiate=loss-scale=1024" "--para-apply-optimizer=optimizer=sgd" | FileCheck %s --check-prefix=OTHER
// RUN: para-opt %s "--para-differentiate=loss-scale=1024" "--para-apply-optimizer=optimizer=momentum" | FileCheck %s --check-prefix=OTHER
// RUN: para-opt %s "--para-differentiate=loss-scale=1024" "--para-apply-optimizer=optimizer=nesterov" | FileCheck %s --check-prefix=OTHER
// RUN: para-opt %s "--para-differentiate=loss-scale=1024" "--para-apply-optimizer=optimizer=adagrad" | FileCheck %s --check-prefix=OTHER
// RUN: para-opt %s "--para-differentiate=loss-scale=1024" "--para-apply-optimizer=optimizer=rmsprop" | FileCheck %s --check-prefix=OTHER
// RUN: para-opt %s "--para-differentiate=loss-scale=1024" "--para-apply-optimizer=optimizer=lion" | FileCheck %s --check-prefix=OTHER
// RUN: para-opt %s "--para-differentiate=loss-scale=1024" "--para-apply-optimizer=optimizer=lamb" | FileCheck %s --check-prefix=COUNTED
// RUN: para-opt %s "--para-differentiate=loss-scale=1024" "--para-apply-optimizer=optimizer=adamw" | FileCheck %s --check-prefix=COUNTED

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<4xf32> {para.kind = "parameter"
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<f32> {para.initial = 1.024000e+03 : f64, para.kind = "state", para.name = "loss_scale", para.optional}
// CHECK-SAME: %[[GOOD:[a-z0-9]+]]: tensor<f32> {para.initial = 0.000000e+00 : f64, para.kind = "state", para.name = "loss_scale/good_steps", para.optional}
// CHECK-SAME: %[[SKIPPED:[a-z0-9]+]]: tensor<f32> {para.initial = 0.000000e+00 : f64, para.kind = "state", para.name = "loss_scale/skipped_steps", para.optional}
// The runtime counts all steps, the program those that are skipped.
// CHECK-NOT: bias_correction
// CHECK-SAME: tensor<f64> {para.default = 0.000000e+00 : f64, para.kind = "hyper", para.name = "step"}
// CHECK-NOT: bias_correction
// CHECK-SAME: ->
// CHECK-DAG: %[[LEAST:.*]] = para.constant dense<5.96046448E-8> : tensor<f32>
// CHECK-DAG: %[[HALF:.*]] = para.constant dense<5.000000e-01> : tensor<f32>
// CHECK: %[[SEED:.*]] = para.batch_term 0 %[[S]]
// CHECK: %[[INVERSE:.*]] = para.div %{{.*}}, %[[S]] : tensor<f32>
// CHECK: %[[NORM:.*]] = para.sqrt
// CHECK: %[[COUNTS:.*]] = para.compare le %[[NORM]], %{{.*}} : tensor<f32> -> tensor<i1>
// CHECK: para.cast %[[SKIPPED]] : tensor<f32> -> tensor<f64>
// CHECK: para.pow
// CHECK: %[[SPREAD:.*]] = para.broadcast %[[COUNTS]] [] : tensor<i1> -> tensor<4xi1>
// CHECK: %[[NEW:.*]] = para.select %[[SPREAD]], %{{.*}}, %[[W]]
// It is never zero, of which nothing would come but NaN.
// CHECK: %[[HALVED:.*]] = para.mul %[[S]], %[[HALF]] : tensor<f32>
// CHECK: %[[LESS:.*]] = para.max %[[HALVED]], %[[LEAST]] : tensor<f32>
// CHECK: %[[SCALE:.*]] = para.select %[[COUNTS]], %{{.*}}, %[[LESS]] : tensor<i1>, tensor<f32>

// OTHER-NOT: para.name = "step"
// OTHER: para.updates = "loss_scale/skipped_steps"
// COUNTED: para.name = "step"
// COUNTED-SAME: para.updates = "loss_scale/skipped_steps"
func.func @main(%w: tensor<4xf32> {para.kind = "parameter", para.name = "w", para.trainable}) -> (tensor<f32> {para.kind = "output", para.name = "loss"}) {
  %0 = para.mul %w, %w : tensor<4xf32>
  %1 = para.reduce sum %0 [0] : tensor<4xf32> -> tensor<f32>
  return %1 : tensor<f32>
}
