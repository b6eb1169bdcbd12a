// Collectives of one kind over the same ranks become one message, up to a number of bytes, where all that is sent is there by then.
// RUN: para-opt %s --para-bucket-collectives | FileCheck %s
// RUN: para-opt %s --para-bucket-collectives=bytes=40 | FileCheck %s --check-prefix=SMALL

// CHECK-LABEL: func.func @spmd
// CHECK: %[[B:.*]]:2 = para.all_reduce sum %arg0, %arg1 ["data"] {{.*}} : tensor<8xf32>, tensor<2xf32> -> tensor<8xf32>, tensor<2xf32>
// Another kind, another communicator, and a phase of its own are messages of their own.
// CHECK: para.all_reduce max %arg0 ["data"]
// CHECK: para.all_reduce sum %arg0 ["tensor"]
// This one needs the result of the bucket.
// CHECK: %[[N:.*]] = para.neg %[[B]]#0
// CHECK: para.all_reduce sum %[[N]] ["data"]
// CHECK: para.all_reduce sum %arg1 ["data"] {para.phase = #para<phase update>

// 32 and 8 bytes fit into 40 together, and another 32 do not.
// SMALL: para.all_reduce sum %arg0, %arg1 ["data"]
module attributes {para.mesh = #para.mesh<["data", "tensor"], [2, 2]>} {
  func.func @spmd(%x: tensor<8xf32>, %y: tensor<2xf32>) -> (tensor<8xf32>, tensor<2xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<2xf32>) {
    %0 = para.all_reduce sum %x ["data"] {para.phase = #para<phase backward>, para.stage = 0 : i64} : tensor<8xf32> -> tensor<8xf32>
    %1 = para.all_reduce sum %y ["data"] {para.phase = #para<phase backward>, para.stage = 0 : i64} : tensor<2xf32> -> tensor<2xf32>
    %2 = para.all_reduce max %x ["data"] {para.phase = #para<phase backward>, para.stage = 0 : i64} : tensor<8xf32> -> tensor<8xf32>
    %3 = para.all_reduce sum %x ["tensor"] {para.phase = #para<phase backward>, para.stage = 0 : i64} : tensor<8xf32> -> tensor<8xf32>
    %4 = para.neg %0 {para.phase = #para<phase backward>, para.stage = 0 : i64} : tensor<8xf32>
    %5 = para.all_reduce sum %4 ["data"] {para.phase = #para<phase backward>, para.stage = 0 : i64} : tensor<8xf32> -> tensor<8xf32>
    %6 = para.all_reduce sum %y ["data"] {para.phase = #para<phase update>, para.stage = 0 : i64} : tensor<2xf32> -> tensor<2xf32>
    return %0, %1, %2, %3, %5, %6 : tensor<8xf32>, tensor<2xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<2xf32>
  }
}
