#include "para/IR/ParaDialect.h"

using namespace mlir;

#include "para/IR/ParaDialect.cpp.inc"

namespace para {
#define PARA_OP_FAMILY(Name) void register##Name##Ops(ParaDialect &);
#include "para/IR/OpFamilies.def"
#undef PARA_OP_FAMILY
/// In the family Shape, which owns constants.
Operation *materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc);
} // namespace para

void para::ParaDialect::initialize() {
  registerAttributes();
#define PARA_OP_FAMILY(Name) register##Name##Ops(*this);
#include "para/IR/OpFamilies.def"
#undef PARA_OP_FAMILY
}

Operation *para::ParaDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  return para::materializeConstant(builder, value, type, loc);
}
