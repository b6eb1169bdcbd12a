// What an integer input may be follows from where it is an index: through ops that move elements, to the part of it that gets there.
// RUN: para-opt %s --para-derive-index-ranges --split-input-file | FileCheck %s

// Two parts of one input, as a model that predicts the next token has it; what is moved is counted in the input.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %arg0: tensor<4x9xi64> {para.index_ranges = [#para.index_range<-96, 96, [], [0, 0], [4, 8], "wte">, #para.index_range<0, 96, [-100], [0, 1], [4, 8], "loss">]
func.func @main(%text: tensor<4x9xi64> {para.kind = "input", para.name = "text"}, %table: tensor<96x2xf32> {para.kind = "parameter", para.name = "t"},
                %scores: tensor<32x96xf32> {para.kind = "input", para.name = "scores"}) -> (tensor<4x8x2xf32>, tensor<32xf32>, tensor<32xi1>) {
  %ids = para.slice %text [0, 0] [1, 1] : tensor<4x9xi64> -> tensor<4x8xi64>
  %narrow = para.cast %ids : tensor<4x8xi64> -> tensor<4x8xi32>
  %wrapped = para.index %narrow of 96 from_end : tensor<4x8xi32> loc("wte")
  %rows = para.gather %table, %wrapped 0 : tensor<96x2xf32>, tensor<4x8xi32> -> tensor<4x8x2xf32>
  %next = para.slice %text [0, 1] [1, 1] : tensor<4x9xi64> -> tensor<4x8xi64>
  %labels = para.reshape %next : tensor<4x8xi64> -> tensor<32xi64>
  %ignored = para.constant dense<-100> : tensor<32xi64>
  %valid = para.compare ne %labels, %ignored : tensor<32xi64> -> tensor<32xi1>
  %losses = para.cross_entropy %scores, %labels : tensor<32x96xf32>, tensor<32xi64> -> tensor<32xf32> loc("loss")
  return %rows, %losses, %valid : tensor<4x8x2xf32>, tensor<32xf32>, tensor<32xi1>
}

// -----

// Labels with a value that is replaced before it is used: legal is what it is replaced for.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %arg0: tensor<8xi32> {para.index_ranges = [#para.index_range<-5, 5, [-100], [0], [8], "pick">]
func.func @main(%labels: tensor<8xi32> {para.kind = "input", para.name = "labels"}) -> tensor<8xi32> {
  %none = para.constant dense<-100> : tensor<8xi32>
  %zero = para.constant dense<0> : tensor<8xi32>
  %is = para.compare eq %none, %labels : tensor<8xi32> -> tensor<8xi1>
  %is_not = para.not %is : tensor<8xi1>
  %safe = para.select %is_not, %labels, %zero : tensor<8xi1>, tensor<8xi32>
  %index = para.index %safe of 5 from_end : tensor<8xi32> loc("pick")
  return %index : tensor<8xi32>
}

// -----

// Moving: transpose, concatenation with others, padding, repetition. Each use is said once.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %arg0: tensor<4x6xi64> {para.index_ranges = [#para.index_range<0, 7, [], [1, 0], [3, 6], "first">]
// CHECK-SAME: %arg1: tensor<2x4xi64> {para.index_ranges = [#para.index_range<0, 7, [], [0, 1], [2, 3], "first">]
// CHECK-SAME: %arg2: tensor<3xi64> {para.index_ranges = [#para.index_range<0, 7, [], [0], [2], "second">]
// CHECK-SAME: %arg3: tensor<1x3xi64> {para.index_ranges = [#para.index_range<-3, 3, [], [0, 1], [1, 2], "third">]
func.func @main(%a: tensor<4x6xi64> {para.kind = "input", para.name = "a"}, %b: tensor<2x4xi64> {para.kind = "input", para.name = "b"},
                %c: tensor<3xi64> {para.kind = "input", para.name = "c"}, %d: tensor<1x3xi64> {para.kind = "input", para.name = "d"})
    -> (tensor<8x3xi64>, tensor<8x3xi64>, tensor<4xi64>, tensor<5x2xi64>) {
  %turned = para.transpose %a [1, 0] : tensor<4x6xi64> -> tensor<6x4xi64>
  %both = para.concat %turned, %b 0 : tensor<6x4xi64>, tensor<2x4xi64> -> tensor<8x4xi64>
  %rest = para.slice %both [0, 1] [1, 1] : tensor<8x4xi64> -> tensor<8x3xi64>
  %0 = para.index %rest of 7 : tensor<8x3xi64> loc("first")
  %1 = para.index %rest of 7 : tensor<8x3xi64> loc("again")
  %padded = para.pad %c [2] [1] with(0 : i64) : tensor<3xi64> -> tensor<5xi64>
  %cut = para.slice %padded [0] [1] : tensor<5xi64> -> tensor<4xi64>
  %2 = para.index %cut of 7 : tensor<4xi64> loc("second")
  %many = para.broadcast %d [0, 1] : tensor<1x3xi64> -> tensor<5x3xi64>
  %last = para.slice %many [0, 1] [1, 1] : tensor<5x3xi64> -> tensor<5x2xi64>
  %3 = para.index %last of 3 from_end : tensor<5x2xi64> loc("third")
  return %0, %1, %2, %3 : tensor<8x3xi64>, tensor<8x3xi64>, tensor<4xi64>, tensor<5x2xi64>
}

// -----

// What is not certain says nothing: arithmetic, a choice by something else, every second element, a part of what is laid flat.
// CHECK-LABEL: func.func @main
// CHECK-NOT: index_range
func.func @main(%a: tensor<8xi64> {para.kind = "input", para.name = "a"}, %m: tensor<8xi1> {para.kind = "input", para.name = "m"},
                %b: tensor<8xi64> {para.kind = "input", para.name = "b"}, %c: tensor<8xi64> {para.kind = "input", para.name = "c"},
                %d: tensor<2x4xi64> {para.kind = "input", para.name = "d"}) -> (tensor<8xi64>, tensor<8xi64>, tensor<4xi64>, tensor<5xi64>, tensor<8xi64>) {
  %one = para.constant dense<1> : tensor<8xi64>
  %more = para.add %a, %one : tensor<8xi64>
  %0 = para.index %more of 7 : tensor<8xi64>
  %some = para.select %m, %b, %one : tensor<8xi1>, tensor<8xi64>
  %1 = para.index %some of 7 : tensor<8xi64>
  %second = para.slice %c [0] [2] : tensor<8xi64> -> tensor<4xi64>
  %2 = para.index %second of 7 : tensor<4xi64>
  %flat = para.reshape %d : tensor<2x4xi64> -> tensor<8xi64>
  %part = para.slice %flat [1] [1] : tensor<8xi64> -> tensor<5xi64>
  %3 = para.index %part of 7 : tensor<5xi64>
  // Tested for one value, and replaced where it is another.
  %is = para.compare eq %a, %one : tensor<8xi64> -> tensor<8xi1>
  %other = para.select %is, %a, %one : tensor<8xi1>, tensor<8xi64>
  %4 = para.index %other of 7 : tensor<8xi64>
  return %0, %1, %2, %3, %4 : tensor<8xi64>, tensor<8xi64>, tensor<4xi64>, tensor<5xi64>, tensor<8xi64>
}

// -----

// A test of all elements in another shape is one of them, a test of some is not.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %arg0: tensor<1x4xi64> {para.index_ranges = [#para.index_range<0, 7, [-100], [0, 0], [1, 4], "all">]
// CHECK-SAME: %arg1: tensor<4xi64> {para.index_ranges = [#para.index_range<0, 7, [], [0], [4], "some">]
func.func @main(%a: tensor<1x4xi64> {para.kind = "input", para.name = "a"}, %b: tensor<4xi64> {para.kind = "input", para.name = "b"})
    -> (tensor<1x4xi64>, tensor<4xi64>, tensor<4xi1>, tensor<3xi1>) {
  %flat = para.reshape %a : tensor<1x4xi64> -> tensor<4xi64>
  %none = para.constant dense<-100> : tensor<4xi64>
  %is = para.compare ne %flat, %none : tensor<4xi64> -> tensor<4xi1>
  %0 = para.index %a of 7 : tensor<1x4xi64> loc("all")
  %part = para.slice %b [1] [1] : tensor<4xi64> -> tensor<3xi64>
  %few = para.constant dense<-100> : tensor<3xi64>
  %are = para.compare ne %part, %few : tensor<3xi64> -> tensor<3xi1>
  %1 = para.index %b of 7 : tensor<4xi64> loc("some")
  return %0, %1, %is, %are : tensor<1x4xi64>, tensor<4xi64>, tensor<4xi1>, tensor<3xi1>
}
