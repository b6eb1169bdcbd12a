#include "para/IR/ParaDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

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

int64_t MeshAttr::getSize(StringRef axis) const {
  for (auto [name, size] : llvm::zip(getAxes(), getSizes().asArrayRef()))
    if (cast<StringAttr>(name).getValue() == axis)
      return size;
  return 1;
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
  auto isNames = [](Attribute list) {
    auto array = dyn_cast<ArrayAttr>(list);
    return array && llvm::all_of(array, llvm::IsaPred<StringAttr>);
  };
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
  auto positive = [&](ArrayRef<int64_t> numbers) {
    return numbers.size() == dims.size() && llvm::all_of(numbers, [](int64_t number) { return number > 0; });
  };
  if (!llvm::all_of(dims, isNames) || !isNames(partial) || !positive(units) || !positive(blocks)) {
    parser.emitError(loc, "a sharding is a list of axis names and a positive unit for each dimension, and a list of partial axes");
    return {};
  }
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), dims, DenseI64ArrayAttr::get(parser.getContext(), units),
             DenseI64ArrayAttr::get(parser.getContext(), blocks), partial, reduction);
}
