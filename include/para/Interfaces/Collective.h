//===- Collective.h - Communication between ranks ----------------*- C++ -*-===//
#ifndef PARA_INTERFACES_COLLECTIVE_H
#define PARA_INTERFACES_COLLECTIVE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

#include "para/Interfaces/Collective.h.inc"

#endif
