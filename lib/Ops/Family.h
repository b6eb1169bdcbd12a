//===- Family.h - What every family of ops includes -------------*- C++ -*-===//
#ifndef PARA_OPS_FAMILY_H
#define PARA_OPS_FAMILY_H

#include "Verify.h"

#include "para/IR/ParaDialect.h"
#include "para/Interfaces/Collective.h"
#include "para/Interfaces/Derivative.h"
#include "para/Interfaces/Element.h"
#include "para/Interfaces/IndexUse.h"
#include "para/Interfaces/Library.h"
#include "para/Interfaces/Precision.h"
#include "para/Interfaces/Relayout.h"
#include "para/Interfaces/Structure.h"
#include "para/Ops/TensorBuilder.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace para {
#define PARA_OP_FAMILY(Name) void register##Name##Ops(ParaDialect &);
#include "para/IR/OpFamilies.def"
#undef PARA_OP_FAMILY
} // namespace para

#endif
