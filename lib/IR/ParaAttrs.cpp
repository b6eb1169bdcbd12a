#include "para/IR/ParaDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace para;

#include "para/IR/ParaEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "para/IR/ParaAttrs.cpp.inc"

void ParaDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "para/IR/ParaAttrs.cpp.inc"
      >();
}

bool para::isElementType(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return integer ? integer.isSignless() && llvm::is_contained({1u, 8u, 16u, 32u, 64u}, integer.getWidth())
                 : isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type);
}

int64_t MeshAttr::getSize(StringRef axis) const {
  for (auto [name, size] : llvm::zip(getAxes(), getSizes().asArrayRef()))
    if (cast<StringAttr>(name).getValue() == axis)
      return size;
  return 1;
}

int64_t MeshAttr::getSize(StringAttr axis) const {
  ArrayRef<Attribute> axes = getAxes().getValue();
  size_t place = llvm::find(axes, Attribute(axis)) - axes.begin();
  return place < axes.size() ? getSizes()[place] : 1;
}

int64_t MeshAttr::getNumRanks() const {
  int64_t ranks = 1;
  for (auto [name, size] : llvm::zip(getAxes(), getSizes().asArrayRef()))
    if (cast<StringAttr>(name).getValue() != "microbatch")
      ranks *= size;
  return ranks;
}

ShardingAttr ShardingAttr::getReplicated(MLIRContext *ctx, int64_t rank) {
  auto empty = ArrayAttr::get(ctx, {});
  SmallVector<Attribute> dims(rank, empty);
  SmallVector<int64_t> units(rank, 1);
  return get(ctx, ArrayAttr::get(ctx, dims), DenseI64ArrayAttr::get(ctx, units), DenseI64ArrayAttr::get(ctx, units), empty, ReductionKind::Sum);
}

using Emitter = function_ref<InFlightDiagnostic()>;

/// Adds the names of `axes`; fails where one is no name, empty, or there already.
static LogicalResult addAxes(Emitter emitError, StringRef what, Attribute axes, llvm::SmallDenseSet<Attribute> &seen) {
  auto list = dyn_cast<ArrayAttr>(axes);
  if (!list)
    return emitError() << what << " has " << axes << " where a list of axis names is expected";
  for (Attribute axis : list) {
    auto name = dyn_cast<StringAttr>(axis);
    if (!name || name.getValue().empty())
      return emitError() << what << " has " << axis << " where the name of an axis is expected";
    if (!seen.insert(axis).second)
      return emitError() << what << " has the axis " << axis << " twice";
  }
  return success();
}

LogicalResult MeshAttr::verify(Emitter emitError, ArrayAttr axes, DenseI64ArrayAttr sizes) {
  llvm::SmallDenseSet<Attribute> seen;
  if (failed(addAxes(emitError, "a mesh", axes, seen)))
    return failure();
  if (axes.size() != size_t(sizes.size()))
    return emitError() << "a mesh has " << axes.size() << " axes and " << sizes.size() << " sizes";
  int64_t ranks = 1;
  for (auto [axis, size] : llvm::zip(axes, sizes.asArrayRef())) {
    if (size < 1) // C1
      return emitError() << "the mesh axis " << axis << " has the size " << size << ", and must have 1 or more";
    if (llvm::MulOverflow(ranks, size, ranks)) // C2
      return emitError() << "a mesh is larger than 2^63";
  }
  return success();
}

LogicalResult ShardingAttr::verify(Emitter emitError, ArrayAttr dims, DenseI64ArrayAttr units, DenseI64ArrayAttr blocks, ArrayAttr partial, ReductionKind) {
  llvm::SmallDenseSet<Attribute> cut, summed;
  for (Attribute dim : dims)
    if (failed(addAxes(emitError, "a sharding", dim, cut)))
      return failure();
  if (failed(addAxes(emitError, "a sharding", partial, summed)))
    return failure();
  for (ArrayRef<int64_t> numbers : {units.asArrayRef(), blocks.asArrayRef()})
    if (numbers.size() != dims.size() || llvm::any_of(numbers, [](int64_t number) { return number < 1; })) // C1
      return emitError() << "a sharding has a unit and a number of blocks for each dimension, of 1 or more";
  return success();
}

LogicalResult SourceAttr::verify(Emitter emitError, StringAttr, int64_t offset, int64_t bytes, Type elementType) {
  int64_t end;
  if (offset < 0 || bytes < 0 || llvm::AddOverflow(offset, bytes, end))
    return emitError() << "a source of " << bytes << " bytes cannot be at byte " << offset;
  if (!isElementType(elementType))
    return emitError() << "a source cannot have elements of type " << elementType;
  if (int64_t size = (elementType.getIntOrFloatBitWidth() + 7) / 8; bytes % size)
    return emitError() << "a source of " << bytes << " bytes has no whole number of " << elementType << " elements";
  return success();
}

LogicalResult IndexRangeAttr::verify(Emitter emitError, int64_t begin, int64_t end, DenseI64ArrayAttr, DenseI64ArrayAttr offsets, DenseI64ArrayAttr sizes, StringAttr) {
  if (begin > end)
    return emitError() << "a range from " << begin << " to " << end << " ends before it begins";
  if (offsets.size() != sizes.size())
    return emitError() << "a box has " << offsets.size() << " offsets and " << sizes.size() << " sizes";
  if (llvm::any_of(offsets.asArrayRef(), [](int64_t n) { return n < 0; }) || llvm::any_of(sizes.asArrayRef(), [](int64_t n) { return n < 0; }))
    return emitError() << "a box has no negative offsets or sizes";
  return success();
}

static SmallVector<StringRef> namesOf(ArrayAttr axes) {
  return llvm::map_to_vector(axes, [](Attribute axis) { return cast<StringAttr>(axis).getValue(); });
}

SmallVector<StringRef> ShardingAttr::getAxes(int64_t dim) const { return namesOf(cast<ArrayAttr>(getDims()[dim])); }
SmallVector<StringRef> ShardingAttr::getPartialAxes() const { return namesOf(getPartial()); }

bool ShardingAttr::isReplicated() const {
  return getPartial().empty() && llvm::all_of(getDims(), [](Attribute dim) { return cast<ArrayAttr>(dim).empty(); });
}

// <[["data"], []], units = [1, 1], partial = ["tensor"] sum>; units and partial only where they say something.
void ShardingAttr::print(AsmPrinter &printer) const {
  printer << "<" << getDims();
  auto printNumbers = [&](StringRef name, ArrayRef<int64_t> numbers) {
    if (llvm::all_of(numbers, [](int64_t number) { return number == 1; }))
      return;
    printer << ", " << name << " = [";
    llvm::interleaveComma(numbers, printer);
    printer << "]";
  };
  printNumbers("units", getUnits());
  printNumbers("blocks", getBlocks());
  if (!getPartial().empty())
    printer << ", partial = " << getPartial() << " " << stringifyReductionKind(getReduction());
  printer << ">";
}

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  ArrayAttr dims, partial = ArrayAttr::get(parser.getContext(), {});
  SmallVector<int64_t> units, blocks;
  ReductionKind reduction = ReductionKind::Sum;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseAttribute(dims))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    bool isUnits = succeeded(parser.parseOptionalKeyword("units"));
    if (isUnits || succeeded(parser.parseOptionalKeyword("blocks"))) {
      auto element = [&] { return parser.parseInteger((isUnits ? units : blocks).emplace_back()); };
      if (parser.parseEqual() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, element))
        return {};
      continue;
    }
    std::string kind;
    if (parser.parseKeyword("partial") || parser.parseEqual() || parser.parseAttribute(partial) ||
        parser.parseKeywordOrString(&kind))
      return {};
    auto symbol = symbolizeReductionKind(kind);
    if (!symbol) {
      parser.emitError(loc, "unknown reduction '") << kind << "'";
      return {};
    }
    reduction = *symbol;
  }
  if (units.empty())
    units.assign(dims.size(), 1);
  if (blocks.empty())
    blocks.assign(dims.size(), 1);
  if (parser.parseGreater())
    return {};
  // A sharding in the making may have an axis on both sides; one that is written may not.
  auto emitError = [&] { return parser.emitError(loc); };
  llvm::SmallDenseSet<Attribute> seen;
  SmallVector<Attribute> lists(dims.begin(), dims.end());
  lists.push_back(partial);
  for (Attribute axes : lists)
    if (failed(addAxes(emitError, "a sharding", axes, seen)))
      return {};
  return parser.getChecked<ShardingAttr>(loc, parser.getContext(), dims, DenseI64ArrayAttr::get(parser.getContext(), units),
                                         DenseI64ArrayAttr::get(parser.getContext(), blocks), partial, reduction);
}
