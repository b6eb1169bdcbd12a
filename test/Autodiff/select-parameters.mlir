// Globs choose what is trained: `trainable` leaves only what it matches, `freeze` takes away.
// RUN: para-opt %s --para-select-parameters=freeze=*bias | FileCheck %s --check-prefix=FREEZE
// RUN: para-opt %s --para-select-parameters=trainable=fc.b*,*scale | FileCheck %s --check-prefix=ONLY
// RUN: para-opt %s --para-select-parameters | FileCheck %s --check-prefix=NONE

// FREEZE: para.name = "fc.weight", para.trainable}
// FREEZE-SAME: para.name = "fc.bias"}
// FREEZE-SAME: para.name = "fc.scale"}
// ONLY: para.name = "fc.weight"}
// ONLY-SAME: para.name = "fc.bias", para.trainable}
// ONLY-SAME: para.name = "fc.scale", para.trainable}
// NONE: para.name = "fc.weight", para.trainable}
// NONE-SAME: para.name = "fc.bias", para.trainable}
// NONE-SAME: para.name = "fc.scale"}
func.func @main(%w: tensor<3x2xf32> {para.kind = "parameter", para.name = "fc.weight", para.trainable},
                %b: tensor<2xf32> {para.kind = "parameter", para.name = "fc.bias", para.trainable},
                %s: tensor<2xf32> {para.kind = "parameter", para.name = "fc.scale"})
    -> (tensor<2xf32> {para.kind = "output", para.name = "y"}) {
  return %b : tensor<2xf32>
}
