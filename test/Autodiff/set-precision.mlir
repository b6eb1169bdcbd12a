// Values are stored in 16 bits: products take and give them, arithmetic is f32 and its result rounded, sums stay f32, masters keep their type.
// RUN: para-opt %s --split-input-file "--para-set-precision=precision=bf16 train=true" --canonicalize | FileCheck %s
// Without training nothing needs the masters: parameters of which only the rounding is used are stored narrow.
// RUN: para-opt %s --split-input-file --para-set-precision=precision=f16 --canonicalize | FileCheck %s --check-prefix=INFER
// A model of f32 stays as it is if no type is given, and one of 16 bits keeps its own.
// RUN: para-opt %s --split-input-file --para-set-precision | FileCheck %s --check-prefix=OWN
// RUN: para-opt %s --split-input-file --para-set-precision=train=true | FileCheck %s --check-prefix=TRAIN
// RUN: not para-opt %s --split-input-file --para-set-precision=precision=f8 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: no precision of 16 bits is called 'f8'; there are bf16, f16

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x3xf32>
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<3x2xf32> {para.kind = "parameter", para.name = "w", para.trainable}
// CHECK-SAME: -> (tensor<4x2xf32>
// CHECK-DAG: %[[X16:.*]] = para.cast %[[X]] : tensor<4x3xf32> -> tensor<4x3xbf16>
// A product takes a parameter as it is stored, and looks through moves: they are of the narrow copy.
// CHECK-DAG: %[[W16:.*]] = para.cast %[[W]] : tensor<3x2xf32> -> tensor<3x2xbf16>
// CHECK-DAG: %[[T:.*]] = para.transpose %[[W16]] [1, 0] : tensor<3x2xbf16> -> tensor<2x3xbf16>
// CHECK: %[[P:.*]] = para.dot %[[X16]], %[[T]] {{.*}} -> tensor<4x2xbf16>
// CHECK: %[[P32:.*]] = para.cast %[[P]] : tensor<4x2xbf16> -> tensor<4x2xf32>
// The bias is no operand of a product: it is added as it is.
// CHECK: %[[Y:.*]] = para.add %[[P32]], %{{.*}} : tensor<4x2xf32>
// CHECK: %[[Y16:.*]] = para.cast %[[Y]] : tensor<4x2xf32> -> tensor<4x2xbf16>
// CHECK: %[[Y32:.*]] = para.cast %[[Y16]] : tensor<4x2xbf16> -> tensor<4x2xf32>
// CHECK: %[[S:.*]] = para.reduce sum %[[Y32]] [1] : tensor<4x2xf32> -> tensor<4xf32>
// What is made of sums alone is not rounded; with a narrow value it is.
// CHECK: %[[Q:.*]] = para.sqrt %[[S]] : tensor<4xf32>
// CHECK: %[[B:.*]] = para.broadcast %[[Q]] [0] : tensor<4xf32> -> tensor<4x2xf32>
// CHECK: %[[R:.*]] = para.mul %[[Y32]], %[[B]] : tensor<4x2xf32>
// CHECK: %[[R16:.*]] = para.cast %[[R]] : tensor<4x2xf32> -> tensor<4x2xbf16>
// CHECK: %[[Z:.*]] = para.softmax %[[R16]] 1 : tensor<4x2xbf16> -> tensor<4x2xbf16>
// CHECK: %[[Z32:.*]] = para.cast %[[Z]] : tensor<4x2xbf16> -> tensor<4x2xf32>
// CHECK: return %[[Z32]]

// INFER-LABEL: func.func @main
// INFER-SAME: %[[W:[a-z0-9]+]]: tensor<3x2xf16> {para.kind = "parameter", para.name = "w", para.trainable}
// INFER-SAME: tensor<2xf32> {para.kind = "parameter", para.name = "b", para.trainable}
// INFER-NOT: para.cast %[[W]]
// INFER: return

// OWN-LABEL: func.func @main
// OWN-NOT: para.cast
// OWN: return
func.func @main(%x: tensor<4x3xf32> {para.kind = "input", para.name = "x"},
                %w: tensor<3x2xf32> {para.kind = "parameter", para.name = "w", para.trainable},
                %b: tensor<2xf32> {para.kind = "parameter", para.name = "b", para.trainable})
    -> (tensor<4x2xf32> {para.kind = "output", para.name = "y"}) {
  %t = para.transpose %w [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
  %p = para.dot %x, %t batch [] x [] contract [1] x [1] : tensor<4x3xf32>, tensor<2x3xf32> -> tensor<4x2xf32>
  %s = para.broadcast %b [1] : tensor<2xf32> -> tensor<4x2xf32>
  %y = para.add %p, %s : tensor<4x2xf32>
  %r = para.reduce sum %y [1] : tensor<4x2xf32> -> tensor<4xf32>
  %q = para.sqrt %r : tensor<4xf32>
  %u = para.broadcast %q [0] : tensor<4xf32> -> tensor<4x2xf32>
  %m = para.mul %y, %u : tensor<4x2xf32>
  %z = para.softmax %m 1 : tensor<4x2xf32> -> tensor<4x2xf32>
  return %z : tensor<4x2xf32>
}

// -----

// A trained parameter of a narrow type becomes an f32 master; numbers of places, which 16 bits do not hold, stay f32, in products too; a table is
// not rounded as a whole for the rows that are taken of it.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[I:[a-z0-9]+]]: tensor<4xi64>
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<9x3xf32> {para.kind = "parameter", para.name = "w", para.trainable}
// CHECK: %[[G:.*]] = para.gather %[[W]], %[[I]] 0 : tensor<9x3xf32>, tensor<4xi64> -> tensor<4x3xf32>
// CHECK: %[[G16:.*]] = para.cast %[[G]] : tensor<4x3xf32> -> tensor<4x3xbf16>
// CHECK: %[[N:.*]] = para.cast %[[I]] : tensor<4xi64> -> tensor<4xf32>
// CHECK: para.dot %[[N]], %{{.*}} {{.*}} : tensor<4xf32>, tensor<3xf32> -> tensor<4x3xf32>

// A narrow type that is not the model's takes its place.
// INFER-LABEL: func.func @main
// INFER: para.cast %{{.*}} : tensor<9x3xbf16> -> tensor<9x3xf16>

// OWN-LABEL: func.func @main
// OWN-SAME: %[[W:[a-z0-9]+]]: tensor<9x3xbf16>
// OWN: para.gather %[[W]], %{{.*}} : tensor<9x3xbf16>, tensor<4xi64> -> tensor<4x3xbf16>
func.func @main(%i: tensor<4xi64> {para.kind = "input", para.name = "i"},
                %w: tensor<9x3xbf16> {para.kind = "parameter", para.name = "w", para.trainable})
    -> (tensor<4x3xbf16> {para.kind = "output", para.name = "y"}) {
  %g = para.gather %w, %i 0 : tensor<9x3xbf16>, tensor<4xi64> -> tensor<4x3xbf16>
  %n = para.cast %i : tensor<4xi64> -> tensor<4xbf16>
  %f = para.constant dense<[1.0, 0.5, 0.25]> : tensor<3xbf16>
  %a = para.dot %n, %f batch [] x [] contract [] x [] : tensor<4xbf16>, tensor<3xbf16> -> tensor<4x3xbf16>
  %s = para.sin %a : tensor<4x3xbf16>
  %y = para.mul %g, %s : tensor<4x3xbf16>
  return %y : tensor<4x3xbf16>
}

// -----

// A model of several types, if none is given: what it declares f32 stays so, products too, for it may be beyond 16 bits; what it declares narrow is.
// OWN-LABEL: func.func @main
// OWN-SAME: %[[X:[a-z0-9]+]]: tensor<4x3xf32>
// OWN-SAME: %[[I:[a-z0-9]+]]: tensor<4xi64>
// OWN-SAME: %[[W:[a-z0-9]+]]: tensor<3x2xf32>
// OWN-SAME: %[[T:[a-z0-9]+]]: tensor<9x2xf32>
// OWN-SAME: %[[B:[a-z0-9]+]]: tensor<2xf16>
// OWN-SAME: %[[V:[a-z0-9]+]]: tensor<2x2xf16>
// OWN-SAME: %[[U:[a-z0-9]+]]: tensor<2x2xbf16>
// OWN: %[[P:.*]] = para.dot %[[X]], %[[W]] {{.*}} : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
// OWN: %[[G:.*]] = para.gather %[[T]], %[[I]] 0 : tensor<9x2xf32>, tensor<4xi64> -> tensor<4x2xf32>
// OWN: %[[B32:.*]] = para.cast %[[B]] : tensor<2xf16> -> tensor<2xf32>
// OWN: %[[S:.*]] = para.broadcast %[[B32]] [1] : tensor<2xf32> -> tensor<4x2xf32>
// OWN: %[[Y:.*]] = para.add %[[P]], %[[S]] : tensor<4x2xf32>
// OWN: %[[Z:.*]] = para.add %[[Y]], %[[G]] : tensor<4x2xf32>
// OWN: %[[D:.*]] = para.tanh %[[Z]] : tensor<4x2xf32>
// OWN: %[[D16:.*]] = para.cast %[[D]] {para.apart} : tensor<4x2xf32> -> tensor<4x2xf16>
// OWN: %[[Q:.*]] = para.dot %[[D16]], %[[V]] {{.*}} : tensor<4x2xf16>, tensor<2x2xf16> -> tensor<4x2xf16>
// From one 16-bit type to the other by way of f32, and each keeps its numbers.
// OWN: %[[Q32:.*]] = para.cast %[[Q]] : tensor<4x2xf16> -> tensor<4x2xf32>
// OWN: %[[QB:.*]] = para.cast %[[Q32]] : tensor<4x2xf32> -> tensor<4x2xbf16>
// OWN: %[[R:.*]] = para.dot %[[QB]], %[[U]] {{.*}} : tensor<4x2xbf16>, tensor<2x2xbf16> -> tensor<4x2xbf16>
// OWN: return %[[Z]], %[[Q]], %[[R]] : tensor<4x2xf32>, tensor<4x2xf16>, tensor<4x2xbf16>

// To be trained, narrow parameters have masters, and are narrow where the model says so.
// TRAIN-LABEL: func.func @main
// TRAIN-LABEL: func.func @main
// TRAIN-LABEL: func.func @main
// TRAIN-SAME: %[[B:[a-z0-9]+]]: tensor<2xf32>
// TRAIN-SAME: %[[V:[a-z0-9]+]]: tensor<2x2xf32>
// TRAIN-SAME: %[[U:[a-z0-9]+]]: tensor<2x2xf32>
// TRAIN: para.dot {{.*}} : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
// TRAIN: para.broadcast %[[B]] [1] : tensor<2xf32> -> tensor<4x2xf32>
// TRAIN: %[[V16:.*]] = para.cast %[[V]] : tensor<2x2xf32> -> tensor<2x2xf16>
// TRAIN: para.dot %{{.*}}, %[[V16]] {{.*}} : tensor<4x2xf16>, tensor<2x2xf16> -> tensor<4x2xf16>
// TRAIN: %[[U16:.*]] = para.cast %[[U]] : tensor<2x2xf32> -> tensor<2x2xbf16>
// TRAIN: para.dot %{{.*}}, %[[U16]] {{.*}} : tensor<4x2xbf16>, tensor<2x2xbf16> -> tensor<4x2xbf16>

// With a type given all are of it.
// INFER-LABEL: func.func @main
// CHECK-LABEL: func.func @main
// CHECK: para.dot {{.*}} : tensor<4x3xbf16>, tensor<3x2xbf16> -> tensor<4x2xbf16>
func.func @main(%x: tensor<4x3xf32> {para.kind = "input", para.name = "x"},
                %i: tensor<4xi64> {para.kind = "input", para.name = "i"},
                %w: tensor<3x2xf32> {para.kind = "parameter", para.name = "w", para.trainable},
                %t: tensor<9x2xf32> {para.kind = "parameter", para.name = "t", para.trainable},
                %b: tensor<2xf16> {para.kind = "parameter", para.name = "b", para.trainable},
                %v: tensor<2x2xf16> {para.kind = "parameter", para.name = "v", para.trainable},
                %u: tensor<2x2xbf16> {para.kind = "parameter", para.name = "u", para.trainable})
    -> (tensor<4x2xf32> {para.kind = "output", para.name = "z"}, tensor<4x2xf16> {para.kind = "output", para.name = "q"},
        tensor<4x2xbf16> {para.kind = "output", para.name = "r"}) {
  %p = para.dot %x, %w batch [] x [] contract [1] x [0] : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
  %g = para.gather %t, %i 0 : tensor<9x2xf32>, tensor<4xi64> -> tensor<4x2xf32>
  %c = para.cast %b : tensor<2xf16> -> tensor<2xf32>
  %s = para.broadcast %c [1] : tensor<2xf32> -> tensor<4x2xf32>
  %y = para.add %p, %s : tensor<4x2xf32>
  %z = para.add %y, %g : tensor<4x2xf32>
  %d = para.tanh %z : tensor<4x2xf32>
  %e = para.cast %d : tensor<4x2xf32> -> tensor<4x2xf16>
  %q = para.dot %e, %v batch [] x [] contract [1] x [0] : tensor<4x2xf16>, tensor<2x2xf16> -> tensor<4x2xf16>
  %h = para.cast %q : tensor<4x2xf16> -> tensor<4x2xbf16>
  %r = para.dot %h, %u batch [] x [] contract [1] x [0] : tensor<4x2xbf16>, tensor<2x2xbf16> -> tensor<4x2xbf16>
  return %z, %q, %r : tensor<4x2xf32>, tensor<4x2xf16>, tensor<4x2xbf16>
}

// -----

// Of a table whose rows are looked up, and which is a factor too, only the roundings are used: it is kept in 16 bits. What is given out is not.
// CHECK-LABEL: func.func @main
// INFER-LABEL: func.func @main
// INFER-SAME: %[[I:[a-z0-9]+]]: tensor<4xi64>
// INFER-SAME: %[[T:[a-z0-9]+]]: tensor<9x3xf16> {para.kind = "parameter", para.name = "t", para.trainable}
// INFER-SAME: %[[U:[a-z0-9]+]]: tensor<9x3xf32> {para.kind = "parameter", para.name = "u", para.trainable}
// INFER: %[[G:.*]] = para.gather %[[T]], %[[I]] 0 : tensor<9x3xf16>, tensor<4xi64> -> tensor<4x3xf16>
// INFER-NOT: para.cast %[[T]]
// INFER: para.dot %[[G]], %[[T]] {{.*}} : tensor<4x3xf16>, tensor<9x3xf16> -> tensor<4x9xf16>
// INFER: return %{{.*}}, %[[U]]
// OWN-LABEL: func.func @main
// TRAIN-LABEL: func.func @main
func.func @main(%i: tensor<4xi64> {para.kind = "input", para.name = "i"},
                %t: tensor<9x3xf32> {para.kind = "parameter", para.name = "t", para.trainable},
                %u: tensor<9x3xf32> {para.kind = "parameter", para.name = "u", para.trainable})
    -> (tensor<4x9xf32> {para.kind = "output", para.name = "y"}, tensor<9x3xf32> {para.kind = "output", para.name = "z"}) {
  %g = para.gather %t, %i 0 : tensor<9x3xf32>, tensor<4xi64> -> tensor<4x3xf32>
  %h = para.gather %u, %i 0 : tensor<9x3xf32>, tensor<4xi64> -> tensor<4x3xf32>
  %s = para.add %g, %h : tensor<4x3xf32>
  %p = para.dot %s, %t batch [] x [] contract [1] x [1] : tensor<4x3xf32>, tensor<9x3xf32> -> tensor<4x9xf32>
  %q = para.dot %g, %t batch [] x [] contract [1] x [1] : tensor<4x3xf32>, tensor<9x3xf32> -> tensor<4x9xf32>
  %y = para.add %p, %q : tensor<4x9xf32>
  return %y, %u : tensor<4x9xf32>, tensor<9x3xf32>
}
