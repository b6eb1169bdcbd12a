#include "para/Interfaces/Precision.h"

#include "mlir/IR/BuiltinAttributes.h"

#include "para/Interfaces/Precision.cpp.inc"

using namespace mlir;
using namespace para;

PrecisionRule para::getPrecisionRule(Operation *op) {
  auto own = dyn_cast<PrecisionOpInterface>(op);
  return own ? own.getPrecisionRule() : PrecisionRule::Arithmetic;
}

void para::setFloatElement(Operation *op, Type element) {
  for (OpResult result : op->getResults())
    if (isNarrowOrF32(result.getType()))
      result.setType(RankedTensorType::get(cast<RankedTensorType>(result.getType()).getShape(), element));
  auto rounded = [&](APFloat number) {
    bool losesInfo;
    number.convert(cast<FloatType>(element).getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
    return number;
  };
  for (NamedAttribute attribute : op->getAttrs()) {
    if (auto number = dyn_cast<FloatAttr>(attribute.getValue()); number && isNarrowOrF32(number.getType()))
      op->setAttr(attribute.getName(), FloatAttr::get(element, rounded(number.getValue())));
    if (auto numbers = dyn_cast<DenseFPElementsAttr>(attribute.getValue()); numbers && isNarrowOrF32(numbers.getElementType()))
      op->setAttr(attribute.getName(), numbers.mapValues(element, [&](const APFloat &number) { return rounded(number).bitcastToAPInt(); }));
  }
}
