// A cast there and back again through floats that have all numbers of the first is nothing; one that rounds stays.
// RUN: para-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @casts
// CHECK-NEXT: %[[R:.*]] = para.cast %arg1 : tensor<4xf32> -> tensor<4xbf16>
// CHECK-NEXT: %[[W:.*]] = para.cast %[[R]] : tensor<4xbf16> -> tensor<4xf32>
// CHECK-NEXT: %[[B:.*]] = para.cast %arg0 : tensor<4xbf16> -> tensor<4xf16>
// CHECK-NEXT: %[[C:.*]] = para.cast %[[B]] : tensor<4xf16> -> tensor<4xbf16>
// CHECK-NEXT: return %arg0, %[[W]], %[[C]]
func.func @casts(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> (tensor<4xbf16>, tensor<4xf32>, tensor<4xbf16>) {
  %0 = para.cast %x : tensor<4xbf16> -> tensor<4xf32>
  %1 = para.cast %0 : tensor<4xf32> -> tensor<4xbf16>
  %2 = para.cast %y : tensor<4xf32> -> tensor<4xbf16>
  %3 = para.cast %2 : tensor<4xbf16> -> tensor<4xf32>
  %4 = para.cast %x : tensor<4xbf16> -> tensor<4xf16>
  %5 = para.cast %4 : tensor<4xf16> -> tensor<4xbf16>
  return %1, %3, %5 : tensor<4xbf16>, tensor<4xf32>, tensor<4xbf16>
}
