#include "para/Ops/CollectiveBuilder.h"

#include "Collective/Collective.h"

using namespace mlir;
using namespace para;

static ArrayAttr namesOf(OpBuilder &builder, ArrayRef<Axis> axes) {
  return builder.getArrayAttr(SmallVector<Attribute>(axes.begin(), axes.end()));
}

Value para::buildShardSlice(OpBuilder &builder, Location loc, Type type, Value input, int64_t dim, Axis axis, int64_t unit) {
  return ShardSliceOp::create(builder, loc, type, input, dim, axis, unit);
}
Value para::buildAllGather(OpBuilder &builder, Location loc, Type type, Value input, int64_t dim, Axis axis) {
  return AllGatherOp::create(builder, loc, type, input, dim, axis);
}
Value para::buildReduceScatter(OpBuilder &builder, Location loc, Type type, Value input, int64_t dim, Axis axis, ReductionKind kind) {
  return ReduceScatterOp::create(builder, loc, type, input, dim, axis, kind);
}
Value para::buildAllToAll(OpBuilder &builder, Location loc, Type type, Value input, int64_t from, int64_t to, Axis axis) {
  return AllToAllOp::create(builder, loc, type, input, from, to, axis);
}
Value para::buildAllReduce(OpBuilder &builder, Location loc, Value input, ArrayRef<Axis> axes, ReductionKind kind) {
  return AllReduceOp::create(builder, loc, TypeRange{input.getType()}, ValueRange{input}, namesOf(builder, axes), kind).getResult(0);
}
Value para::buildMask(OpBuilder &builder, Location loc, Value input, int64_t dim, ArrayRef<Axis> axes, int64_t size, int64_t unit, ReductionKind kind) {
  return MaskOp::create(builder, loc, input.getType(), input, dim, namesOf(builder, axes), size, unit, kind);
}
Value para::buildAccumulate(OpBuilder &builder, Location loc, Value input) { return AccumulateOp::create(builder, loc, input.getType(), input); }
void para::buildSend(OpBuilder &builder, Location loc, Value input, int64_t peer, int64_t tag) { SendOp::create(builder, loc, input, peer, tag); }
Value para::buildRecv(OpBuilder &builder, Location loc, Type type, int64_t peer, int64_t tag) { return RecvOp::create(builder, loc, type, peer, tag); }
