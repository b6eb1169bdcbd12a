// Optimizers that do not exist, and numbers that they do not have, are errors which list what there is.
// RUN: not para-opt %s --para-attach-loss="loss=mse:target=t" --para-differentiate --para-apply-optimizer="optimizer=adma" 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: no optimizer is called 'adma'; there are {{.*}}sgd{{.*}}adamw
// RUN: not para-opt %s --para-attach-loss="loss=mse:target=t" --para-differentiate --para-apply-optimizer="optimizer=sgd:beta1=0.5" 2>&1 | FileCheck %s --check-prefix=KEY
// KEY: error: optimizer sgd has no number 'beta1'; it has {{.*}}lr
// RUN: not para-opt %s --para-attach-loss="loss=mse:target=t" --para-differentiate --para-apply-optimizer="optimizer=sgd:lr=fast" 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: error: 'fast' is not a number (sgd:lr)
// RUN: not para-opt %s --para-attach-loss="loss=mse:target=t" --para-differentiate --para-apply-optimizer="optimizer=sgd:no_decay=@/no/such/file" 2>&1 | FileCheck %s --check-prefix=FILE
// FILE: error: cannot read the patterns of '/no/such/file'
// RUN: not para-opt %s --para-attach-loss="loss=mse:target=t" --para-apply-optimizer 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: has no gradients: para-differentiate comes first
func.func @main(%x: tensor<4x3xf32> {para.kind = "input", para.name = "x", para.batch_dim = 0 : i64},
                %w: tensor<3x2xf32> {para.kind = "parameter", para.name = "fc.weight", para.trainable},
                %b: tensor<2xf32> {para.kind = "parameter", para.name = "fc.bias", para.trainable})
    -> (tensor<4x2xf32> {para.kind = "output", para.name = "y"}) attributes {para.batch = 4 : i64} {
  %0 = para.dot %x, %w batch [] x [] contract [1] x [0] : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
  %1 = para.broadcast %b [1] : tensor<2xf32> -> tensor<4x2xf32>
  %2 = para.add %0, %1 : tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}
