// Every op of the family is read as it is printed, in its own syntax.
// RUN: para-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @ops
func.func @ops(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>, %c: tensor<2x3xi1>, %i: tensor<2x3xi64>) {
  // CHECK: para.neg %{{[a-z0-9_]+}} : tensor<2x3xf32>
  %0 = para.neg %x : tensor<2x3xf32>
  // CHECK: para.abs %{{[a-z0-9_]+}} : tensor<2x3xf32>
  %1 = para.abs %x : tensor<2x3xf32>
  // CHECK: para.sign %{{[a-z0-9_]+}} : tensor<2x3xf32>
  %2 = para.sign %x : tensor<2x3xf32>
  // CHECK: para.floor %{{[a-z0-9_]+}} : tensor<2x3xf32>
  %3 = para.floor %x : tensor<2x3xf32>
  // CHECK: para.exp %{{[a-z0-9_]+}} : tensor<2x3xf32>
  %4 = para.exp %x : tensor<2x3xf32>
  // CHECK: para.log %{{[a-z0-9_]+}} : tensor<2x3xf32>
  %5 = para.log %x : tensor<2x3xf32>
  // CHECK: para.sqrt %{{[a-z0-9_]+}} : tensor<2x3xf32>
  %6 = para.sqrt %x : tensor<2x3xf32>
  // CHECK: para.tanh %{{[a-z0-9_]+}} : tensor<2x3xf32>
  %7 = para.tanh %x : tensor<2x3xf32>
  // CHECK: para.erf %{{[a-z0-9_]+}} : tensor<2x3xf32>
  %8 = para.erf %x : tensor<2x3xf32>
  // CHECK: para.sin %{{[a-z0-9_]+}} : tensor<2x3xf32>
  %9 = para.sin %x : tensor<2x3xf32>
  // CHECK: para.cos %{{[a-z0-9_]+}} : tensor<2x3xf32>
  %10 = para.cos %x : tensor<2x3xf32>
  // CHECK: para.sigmoid %{{[a-z0-9_]+}} : tensor<2x3xf32>
  %11 = para.sigmoid %x : tensor<2x3xf32>
  // CHECK: para.relu %{{[a-z0-9_]+}} : tensor<2x3xf32>
  %12 = para.relu %x : tensor<2x3xf32>
  // CHECK: para.not %{{[a-z0-9_]+}} : tensor<2x3xi1>
  %13 = para.not %c : tensor<2x3xi1>
  // CHECK: para.add %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x3xf32>
  %14 = para.add %x, %y : tensor<2x3xf32>
  // CHECK: para.sub %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x3xf32>
  %15 = para.sub %x, %y : tensor<2x3xf32>
  // CHECK: para.mul %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x3xf32>
  %16 = para.mul %x, %y : tensor<2x3xf32>
  // CHECK: para.div %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x3xf32>
  %17 = para.div %x, %y : tensor<2x3xf32>
  // CHECK: para.max %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x3xf32>
  %18 = para.max %x, %y : tensor<2x3xf32>
  // CHECK: para.min %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x3xf32>
  %19 = para.min %x, %y : tensor<2x3xf32>
  // CHECK: para.pow %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x3xf32>
  %20 = para.pow %x, %y : tensor<2x3xf32>
  // CHECK: para.add %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x3xi64>
  %21 = para.add %i, %i : tensor<2x3xi64>
  // CHECK: para.mul %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x3xi1>
  %22 = para.mul %c, %c : tensor<2x3xi1>
  // CHECK: para.compare eq %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x3xf32> -> tensor<2x3xi1>
  %23 = para.compare eq %x, %y : tensor<2x3xf32> -> tensor<2x3xi1>
  // CHECK: para.compare ne %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x3xf32> -> tensor<2x3xi1>
  %24 = para.compare ne %x, %y : tensor<2x3xf32> -> tensor<2x3xi1>
  // CHECK: para.compare lt %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x3xf32> -> tensor<2x3xi1>
  %25 = para.compare lt %x, %y : tensor<2x3xf32> -> tensor<2x3xi1>
  // CHECK: para.compare le %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x3xf32> -> tensor<2x3xi1>
  %26 = para.compare le %x, %y : tensor<2x3xf32> -> tensor<2x3xi1>
  // CHECK: para.compare gt %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x3xf32> -> tensor<2x3xi1>
  %27 = para.compare gt %x, %y : tensor<2x3xf32> -> tensor<2x3xi1>
  // CHECK: para.compare ge %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x3xf32> -> tensor<2x3xi1>
  %28 = para.compare ge %x, %y : tensor<2x3xf32> -> tensor<2x3xi1>
  // CHECK: para.select %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x3xi1>, tensor<2x3xf32>
  %29 = para.select %c, %x, %y : tensor<2x3xi1>, tensor<2x3xf32>
  // CHECK: para.cast %{{[a-z0-9_]+}} : tensor<2x3xf32> -> tensor<2x3xi64>
  %30 = para.cast %x : tensor<2x3xf32> -> tensor<2x3xi64>
  // CHECK: para.cast %{{[a-z0-9_]+}} : tensor<2x3xi64> -> tensor<2x3xbf16>
  %31 = para.cast %i : tensor<2x3xi64> -> tensor<2x3xbf16>
  // CHECK: para.add_n %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x3xf32>
  %32 = para.add_n %x, %y, %x : tensor<2x3xf32>
  return
}
