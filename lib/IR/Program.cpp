#include "para/IR/Program.h"

#include "para/IR/Phases.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace para;

FailureOr<func::FuncOp> para::getMain(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal() || !main.getBody().hasOneBlock())
    return module.emitError("has no function @main of one block");
  auto isTensor = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape() && isElementType(tensor.getElementType());
  };
  for (Type type : llvm::concat<const Type>(main.getArgumentTypes(), main.getResultTypes()))
    if (!isTensor(type))
      return main.emitError() << "takes or makes a value of type " << type << ", which is no tensor of static shape and known element type";
  return main;
}

static StringRef textOf(Attribute attr) {
  auto text = dyn_cast_if_present<StringAttr>(attr);
  return text ? text.getValue() : StringRef();
}

StringRef para::getArgKind(func::FuncOp func, unsigned index) { return textOf(func.getArgAttr(index, "para.kind")); }
StringRef para::getArgName(func::FuncOp func, unsigned index) { return textOf(func.getArgAttr(index, "para.name")); }
StringRef para::getResultKind(func::FuncOp func, unsigned index) { return textOf(func.getResultAttr(index, "para.kind")); }
StringRef para::getResultName(func::FuncOp func, unsigned index) { return textOf(func.getResultAttr(index, "para.name")); }

int para::getArgIndex(func::FuncOp func, StringRef name) {
  for (unsigned index = 0; index < func.getNumArguments(); ++index)
    if (getArgName(func, index) == name)
      return index;
  return -1;
}

BlockArgument para::addArgument(func::FuncOp func, Type type, StringRef kind, StringRef name, Location loc) {
  Builder builder(func.getContext());
  auto attributes = builder.getDictionaryAttr({builder.getNamedAttr("para.kind", builder.getStringAttr(kind)),
                                               builder.getNamedAttr("para.name", builder.getStringAttr(name))});
  unsigned index = func.getNumArguments();
  (void)func.insertArgument(index, type, attributes, loc);
  return func.getArgument(index);
}

ProgramResult para::makeResult(Value value, StringRef kind, StringRef name, StringRef updates) {
  Builder builder(value.getContext());
  SmallVector<NamedAttribute> attributes = {builder.getNamedAttr("para.kind", builder.getStringAttr(kind)),
                                            builder.getNamedAttr("para.name", builder.getStringAttr(name))};
  if (!updates.empty())
    attributes.push_back(builder.getNamedAttr("para.updates", builder.getStringAttr(updates)));
  return {value, builder.getDictionaryAttr(attributes)};
}

SmallVector<ProgramResult> para::getResults(func::FuncOp func) {
  SmallVector<ProgramResult> results;
  for (auto [index, value] : llvm::enumerate(func.getBody().front().getTerminator()->getOperands())) {
    auto attributes = func.getResultAttrDict(index);
    results.push_back({value, attributes ? attributes : DictionaryAttr::get(func.getContext())});
  }
  return results;
}

void para::setResults(func::FuncOp func, ArrayRef<ProgramResult> results) {
  auto values = llvm::map_to_vector(results, [](const ProgramResult &result) { return result.value; });
  func.getBody().front().getTerminator()->setOperands(values);
  func.setFunctionType(FunctionType::get(func.getContext(), func.getArgumentTypes(), ValueRange(values).getTypes()));
  func.setAllResultAttrs(llvm::map_to_vector(results, [](const ProgramResult &result) { return result.attributes; }));
}

StringRef para::getNodeName(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName().getValue();
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (StringRef name = getNodeName(part); !name.empty())
        return name;
  return {};
}

StringRef para::getTensorName(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc)) {
    auto tensor = dyn_cast<NameLoc>(name.getChildLoc());
    return tensor ? tensor.getName().getValue() : StringRef();
  }
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (StringRef name = getTensorName(part); !name.empty())
        return name;
  return {};
}

// FusedLoc::get drops a location that is fused with itself only where there is no metadata, so the mark stays.
Location para::withPhase(Location loc, Phase phase) {
  if (auto fused = dyn_cast<FusedLocWith<PhaseAttr>>(loc))
    loc = fused.getLocations().front();
  return FusedLoc::get({loc}, PhaseAttr::get(loc.getContext(), phase), loc.getContext());
}

std::optional<Phase> para::getMarkedPhase(Location loc) {
  if (auto fused = dyn_cast<FusedLocWith<PhaseAttr>>(loc))
    return fused.getMetadata().getValue();
  return std::nullopt;
}

Phase para::getPhase(Operation *op) {
  return getChunkPhase(op).phase;
}
