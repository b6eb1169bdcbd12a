//===- VerifyAttributes.cpp - What our attributes on ops and values are ----===//
#include "para/IR/Phases.h"
#include "para/IR/Program.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace para;

namespace {
using Check = bool (*)(Attribute);

bool isWhole(Attribute attr, int64_t least) {
  auto number = dyn_cast<IntegerAttr>(attr);
  return number && number.getType().isSignlessInteger(64) && number.getInt() >= least;
}
template <typename T> bool is(Attribute attr) { return isa<T>(attr); }
bool isCount(Attribute attr) { return isWhole(attr, 1); }
bool isIndex(Attribute attr) { return isWhole(attr, 0); }
bool areNames(Attribute attr) {
  auto list = dyn_cast<ArrayAttr>(attr);
  return list && llvm::all_of(list, llvm::IsaPred<StringAttr>);
}
bool isNumber(Attribute attr) {
  auto number = dyn_cast<FloatAttr>(attr);
  return number && number.getType().isF64();
}
bool isTensorType(Attribute attr) {
  auto type = dyn_cast<TypeAttr>(attr);
  auto tensor = type ? dyn_cast<RankedTensorType>(type.getValue()) : RankedTensorType();
  return tensor && tensor.hasStaticShape() && isElementType(tensor.getElementType());
}

bool areRanges(Attribute attr) {
  auto list = dyn_cast<ArrayAttr>(attr);
  return list && llvm::all_of(list, llvm::IsaPred<IndexRangeAttr>);
}

struct Rule {
  StringRef name;
  Check holds;
  StringRef expected;
};

// Names that are not here are free.
const Rule kOpRules[] = {{"para.mesh", is<MeshAttr>, "a mesh"},
                         {"para.microbatches", isCount, "a count"},
                         {"para.batch", isCount, "a count"},
                         {"para.stage", isIndex, "the index of a stage"},
                         {"para.places", is<DenseI64ArrayAttr>, "the pipeline's rank of each stage"},
                         {"para.phase", is<PhaseAttr>, "a phase"},
                         {"para.split", is<ShardingAttr>, "a sharding"},
                         {"para.target", is<ShardingAttr>, "a sharding"},
                         {"para.partial_operand", isIndex, "the index of an operand"},
                         {"para.local", areNames, "a list of axis names"},
                         {"para.origin", isIndex, "the index of an op"},
                         {"para.recompute", is<UnitAttr>, "nothing but itself"},
                         {"para.apart", is<UnitAttr>, "nothing but itself"},
                         {"para.regather", is<UnitAttr>, "nothing but itself"},
                         {"para.repeats", isIndex, "the index of an op"},
                         {"para.schedule", is<ArrayAttr>, "a list of actions"},
                         {"para.manifest", is<StringAttr>, "a text"},
                         {"para.mode", is<StringAttr>, "a text"},
                         {"para.model", is<StringAttr>, "a text"},
                         {"para.optimizer", is<StringAttr>, "a text"}};
const Rule kValueRules[] = {{"para.kind", is<StringAttr>, "a text"},
                            {"para.name", is<StringAttr>, "a text"},
                            {"para.updates", is<StringAttr>, "a text"},
                            {"para.state_of", is<StringAttr>, "a text"},
                            {"para.sharding", is<ShardingAttr>, "a sharding"},
                            {"para.used", is<ShardingAttr>, "a sharding"},
                            {"para.stage", isIndex, "the index of a stage"},
                            {"para.source", is<SourceAttr>, "a source"},
                            {"para.value", is<ElementsAttr>, "the elements of a tensor"},
                            {"para.batch_dim", isIndex, "the index of a dimension"},
                            {"para.default", isNumber, "a number of type f64"},
                            {"para.initial", isNumber, "a number of type f64"},
                            {"para.optional", is<UnitAttr>, "nothing but itself"},
                            {"para.index_ranges", areRanges, "a list of index ranges"},
                            {"para.global", isTensorType, "the type of a tensor"}};

LogicalResult check(ArrayRef<Rule> rules, Operation *op, const Twine &where, NamedAttribute attr) {
  for (const Rule &rule : rules)
    if (attr.getName() == rule.name && !rule.holds(attr.getValue()))
      return op->emitError() << where << rule.name << " is " << attr.getValue() << ", where " << rule.expected << " is expected";
  return success();
}

/// Passes are of chunks of the model, other phases of all.
LogicalResult checkPhase(Operation *op, StringRef what, Attribute attr) {
  ChunkPhase phase = getChunkPhase(attr);
  if (phase.chunk < 0 || phase.chunk >= kMostChunks)
    return op->emitError() << what << attr << ", which is no chunk";
  if (phase.chunk > 0 && !isPass(phase.phase))
    return op->emitError() << what << attr << ", where the phase is of all chunks";
  return success();
}

/// Stages are those that the module has places for, one on each rank of the mesh's pipeline if it says nothing else.
LogicalResult checkStage(Operation *op, const Twine &where, NamedAttribute attr) {
  if (attr.getName() != "para.stage")
    return success();
  auto module = op->getParentOfType<ModuleOp>();
  auto mesh = module ? module->getAttrOfType<MeshAttr>("para.mesh") : MeshAttr();
  auto places = module ? module->getAttrOfType<DenseI64ArrayAttr>("para.places") : DenseI64ArrayAttr();
  int64_t stage = cast<IntegerAttr>(attr.getValue()).getInt(), stages = places ? places.size() : mesh ? mesh.getSize("pipeline") : int64_t(1) << 20;
  if (stage >= stages)
    return op->emitError() << where << "para.stage is " << stage << ", where there are " << stages << " stages";
  return success();
}

/// The serial program is what plans are made for: what it says of its arguments must hold for their types. What a rank's program says is proved.
LogicalResult checkSerial(Operation *op, const Twine &where, RankedTensorType tensor, NamedAttribute attr) {
  auto function = cast<FunctionOpInterface>(op);
  if (SymbolTable::getSymbolName(op) != "main")
    return success();
  if (auto sharding = dyn_cast<ShardingAttr>(attr.getValue())) {
    if (sharding.getRank() != tensor.getRank())
      return op->emitError() << where << attr.getName().getValue() << " is for " << sharding.getRank() << " dimensions, the value has " << tensor.getRank();
    for (int64_t dim = 0; dim < tensor.getRank(); ++dim)
      if (int64_t part; llvm::MulOverflow<int64_t>(sharding.getUnits()[dim], sharding.getBlocks()[dim], part) || tensor.getDimSize(dim) % part)
        return op->emitError() << where << attr.getName().getValue() << " cuts dimension " << dim << " of " << tensor << " into parts that it does not have";
  }
  if (attr.getName() == "para.updates" || attr.getName() == "para.state_of") {
    bool found = false;
    for (unsigned index = 0; !found && index < function.getNumArguments(); ++index)
      found = function.getArgAttr(index, "para.name") == attr.getValue();
    if (!found)
      return op->emitError() << where << attr.getName().getValue() << " is " << attr.getValue() << ", which is no argument";
  }
  return success();
}

/// What an attribute of an argument or a result says about the value's type.
LogicalResult checkValue(Operation *op, const Twine &where, Type type, NamedAttribute attr) {
  if (failed(check(kValueRules, op, where, attr)) || failed(checkStage(op, where, attr)))
    return failure();
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || !isElementType(tensor.getElementType()))
    return op->emitError() << where << attr.getName().getValue() << " is on a value of type " << type << ", which is no tensor of static shape and known element type";
  if (auto dim = dyn_cast<IntegerAttr>(attr.getValue()); dim && attr.getName() == "para.batch_dim" && dim.getInt() >= tensor.getRank())
    return op->emitError() << where << "para.batch_dim is " << dim.getInt() << ", the value has " << tensor.getRank() << " dimensions";
  if (auto value = dyn_cast<ElementsAttr>(attr.getValue()); value && value.getShapedType().getShape() != tensor.getShape())
    return op->emitError() << where << attr.getName().getValue() << " is of type " << value.getShapedType() << ", the value of type " << tensor;
  return checkSerial(op, where, tensor, attr);
}
} // namespace

LogicalResult ParaDialect::verifyOperationAttribute(Operation *op, NamedAttribute attr) {
  if (failed(check(kOpRules, op, "", attr)) || failed(checkStage(op, "", attr)))
    return failure();
  if (attr.getName() == "para.partial_operand" && cast<IntegerAttr>(attr.getValue()).getInt() >= op->getNumOperands())
    return op->emitError() << "para.partial_operand is " << attr.getValue() << ", the op has " << op->getNumOperands() << " operands";
  if (attr.getName() == "para.target") {
    auto tensor = op->getNumResults() ? dyn_cast<RankedTensorType>(op->getResult(0).getType()) : RankedTensorType();
    auto target = cast<ShardingAttr>(attr.getValue());
    bool suits = tensor && target.getRank() == tensor.getRank();
    for (int64_t dim = 0, part; suits && dim < tensor.getRank(); ++dim)
      suits = !llvm::MulOverflow<int64_t>(target.getUnits()[dim], target.getBlocks()[dim], part) && tensor.getDimSize(dim) % part == 0;
    if (!suits)
      return op->emitError() << "para.target is " << target << ", which does not suit the result";
  }
  if (auto places = dyn_cast<DenseI64ArrayAttr>(attr.getValue()); places && attr.getName() == "para.places") {
    auto mesh = op->getAttrOfType<MeshAttr>("para.mesh");
    for (int64_t rank = 0; rank < (mesh ? mesh.getSize("pipeline") : 1); ++rank)
      if (!llvm::is_contained(places.asArrayRef(), rank))
        return op->emitError() << "para.places is " << places << ", which has no stage for rank " << rank << " of the pipeline";
    if (llvm::any_of(places.asArrayRef(), [&](int64_t rank) { return !mesh || rank < 0 || rank >= mesh.getSize("pipeline"); }))
      return op->emitError() << "para.places is " << places << ", which names ranks that the mesh's pipeline does not have";
  }
  if (attr.getName() == "para.phase" && failed(checkPhase(op, "para.phase is ", attr.getValue())))
    return failure();
  if (attr.getName() == "para.schedule")
    for (Attribute entry : cast<ArrayAttr>(attr.getValue())) {
      auto pair = dyn_cast<ArrayAttr>(entry);
      if (!pair || pair.size() != 2 || !isa<PhaseAttr>(pair[0]) || !isIndex(pair[1]))
        return op->emitError() << "has the action " << entry << ", which is no phase of a microbatch";
      if (failed(checkPhase(op, "has an action of the phase ", pair[0])))
        return failure();
    }
  return success();
}

LogicalResult ParaDialect::verifyRegionArgAttribute(Operation *op, unsigned region, unsigned index, NamedAttribute attr) {
  if (isa<FunctionOpInterface>(op) && region == 0)
    return checkValue(op, "argument " + Twine(index) + ": ", cast<FunctionOpInterface>(op).getArgumentTypes()[index], attr);
  return success();
}

LogicalResult ParaDialect::verifyRegionResultAttribute(Operation *op, unsigned region, unsigned index, NamedAttribute attr) {
  if (isa<FunctionOpInterface>(op) && region == 0)
    return checkValue(op, "result " + Twine(index) + ": ", cast<FunctionOpInterface>(op).getResultTypes()[index], attr);
  return success();
}
