// Attributes that say nothing are refused where they stand.
// RUN: para-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{unknown reduction 'product'}}
module attributes {test.a = #para.sharding<[[]], partial = ["data"] product>} {
}

// -----

// expected-error @+1 {{a sharding has a unit and a number of blocks for each dimension, of 1 or more}}
module attributes {test.a = #para.sharding<[["data"], []], units = [0, 1]>} {
}

// -----

// expected-error @+1 {{a sharding has a unit and a number of blocks for each dimension, of 1 or more}}
module attributes {test.a = #para.sharding<[["data"]], blocks = [1, 1]>} {
}

// -----

// expected-error @+1 {{a sharding has 3 : i64 where the name of an axis is expected}}
module attributes {test.a = #para.sharding<[[3]]>} {
}

// -----

// expected-error @+1 {{a sharding has the axis "data" twice}}
module attributes {test.a = #para.sharding<[["data"], ["tensor", "data"]]>} {
}

// -----

// expected-error @+1 {{a sharding has the axis "data" twice}}
module attributes {test.a = #para.sharding<[["data"]], partial = ["data"] sum>} {
}

// -----

// expected-error @+1 {{a sharding has "" where the name of an axis is expected}}
module attributes {test.a = #para.sharding<[[""]]>} {
}

// -----

// expected-error @+1 {{a sharding has "data" where a list of axis names is expected}}
module attributes {test.a = #para.sharding<["data"]>} {
}

// -----

// expected-error @+1 {{a sharding has a unit and a number of blocks for each dimension, of 1 or more}}
module attributes {test.a = #para.sharding<[["data"]], units = [-4]>} {
}

// -----

// expected-error @+1 {{a mesh has the axis "data" twice}}
module attributes {test.a = #para.mesh<["data", "data"], [2, 2]>} {
}

// -----

// expected-error @+1 {{a mesh has "" where the name of an axis is expected}}
module attributes {test.a = #para.mesh<["data", ""], [2, 2]>} {
}

// -----

// expected-error @+1 {{a mesh has 7 : i64 where the name of an axis is expected}}
module attributes {test.a = #para.mesh<[7], [2]>} {
}

// -----

// expected-error @+1 {{the mesh axis "data" has the size 0, and must have 1 or more}}
module attributes {test.a = #para.mesh<["data"], [0]>} {
}

// -----

// expected-error @+1 {{the mesh axis "tensor" has the size -2, and must have 1 or more}}
module attributes {test.a = #para.mesh<["data", "tensor"], [2, -2]>} {
}

// -----

// expected-error @+1 {{a mesh has 2 axes and 1 sizes}}
module attributes {test.a = #para.mesh<["data", "tensor"], [2]>} {
}

// -----

// expected-error @+1 {{a mesh is larger than 2^63}}
module attributes {test.a = #para.mesh<["data", "tensor"], [4611686018427387904, 2]>} {
}

// -----

// expected-error @+1 {{a source of 8 bytes cannot be at byte -1}}
module attributes {test.a = #para.source<"m.onnx", -1, 8, f32>} {
}

// -----

// expected-error @+1 {{a source of 7 bytes has no whole number of 'f32' elements}}
module attributes {test.a = #para.source<"m.onnx", 0, 7, f32>} {
}

// -----

// expected-error @+1 {{a source cannot have elements of type 'index'}}
module attributes {test.a = #para.source<"m.onnx", 0, 8, index>} {
}

// -----

// Where an attribute of the dialect stands it has the type that passes take it for.
// expected-error @+1 {{para.mesh is 3 : i64, where a mesh is expected}}
module attributes {para.mesh = 3} {
}

// -----

// expected-error @+1 {{para.batch is 0 : i64, where a count is expected}}
func.func @main() attributes {para.batch = 0} { return }

// -----

// expected-error @+1 {{has the action ["forward", 0], which is no phase of a microbatch}}
func.func @main() attributes {para.schedule = [["forward", 0]]} { return }

// -----

// expected-error @+1 {{argument 0: para.name is 1 : i64, where a text is expected}}
func.func @main(%x: tensor<4xf32> {para.name = 1}) { return }

// -----

// expected-error @+1 {{argument 0: para.batch_dim is 1, the value has 1 dimensions}}
func.func @main(%x: tensor<4xf32> {para.batch_dim = 1}) { return }

// -----

// expected-error @+1 {{argument 0: para.name is on a value of type 'tensor<?xf32>', which is no tensor of static shape and known element type}}
func.func @main(%x: tensor<?xf32> {para.name = "x"}) { return }

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{para.partial_operand is 1 : i64, the op has 1 operands}}
  %0 = para.neg %x {para.partial_operand = 1} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{result 0: para.updates is "v", which is no argument}}
func.func @main(%w: tensor<3xf32> {para.name = "w"}) -> (tensor<3xf32> {para.name = "v", para.updates = "v"}) {
  return %w : tensor<3xf32>
}

// -----

// expected-error @+1 {{argument 0: para.sharding is for 2 dimensions, the value has 1}}
func.func @main(%w: tensor<3xf32> {para.sharding = #para.sharding<[[], []]>}) { return }

// -----

// expected-error @+1 {{argument 0: para.sharding cuts dimension 0 of 'tensor<3xf32>' into parts that it does not have}}
func.func @main(%w: tensor<3xf32> {para.sharding = #para.sharding<[["data"]], units = [2]>}) { return }

// -----

module attributes {para.mesh = #para.mesh<["pipeline", "data"], [2, 2]>} {
  // expected-error @+1 {{argument 0: para.stage is 2, where there are 2 stages}}
  func.func @main(%w: tensor<3xf32> {para.stage = 2}) { return }
}

// -----

func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error @+1 {{which does not suit the result}}
  %0 = para.neg %x {para.target = #para.sharding<[["data"]], blocks = [2]>} : tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// expected-error @+1 {{argument 0: para.index_ranges is [3], where a list of index ranges is expected}}
func.func @main(%x: tensor<3xi64> {para.index_ranges = [3]}) { return }

// -----

// expected-error @+1 {{a box has 2 offsets and 1 sizes}}
func.func @main(%x: tensor<3xi64> {para.index_ranges = [#para.index_range<0, 3, [], [0, 0], [3], "node">]}) { return }

// -----

// A rank of the pipeline without a stage.
// expected-error @+1 {{which has no stage for rank 1 of the pipeline}}
module attributes {para.mesh = #para.mesh<["pipeline"], [2]>, para.places = array<i64: 0, 0>} {
}

// -----

// expected-error @+1 {{which names ranks that the mesh's pipeline does not have}}
module attributes {para.mesh = #para.mesh<["pipeline"], [2]>, para.places = array<i64: 0, 1, 2>} {
}

// -----

module attributes {para.mesh = #para.mesh<["pipeline"], [2]>, para.places = array<i64: 0, 1, 0, 1>} {
  func.func @fits(%w: tensor<3xf32> {para.stage = 3}) { return }
  // expected-error @+1 {{argument 0: para.stage is 4, where there are 4 stages}}
  func.func @main(%w: tensor<3xf32> {para.stage = 4}) { return }
}

// -----

func.func @main(%x: tensor<3xf32>) {
  // expected-error @+1 {{where the phase is of all chunks}}
  %0 = para.neg %x {para.phase = #para<phase update, 1>} : tensor<3xf32>
  return
}

// -----

func.func @main(%x: tensor<3xf32>) {
  // expected-error @+1 {{which is no chunk}}
  %0 = para.neg %x {para.phase = #para<phase forward, -1>} : tensor<3xf32>
  return
}

// -----

func.func @main(%x: tensor<3xf32>) {
  // expected-error @+1 {{which is no chunk}}
  %0 = para.neg %x {para.phase = #para<phase forward, 1099511627776>} : tensor<3xf32>
  return
}

// -----

// expected-error @+1 {{has an action of the phase #para<phase update, 3>, where the phase is of all chunks}}
func.func @main(%x: tensor<3xf32>) attributes {para.schedule = [[#para<phase update, 3>, 0]]} {
  return
}
