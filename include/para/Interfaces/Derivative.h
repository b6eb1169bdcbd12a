//===- Derivative.h - Reverse-mode rules of ops ------------------*- C++ -*-===//
#ifndef PARA_INTERFACES_DERIVATIVE_H
#define PARA_INTERFACES_DERIVATIVE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

#include "para/Interfaces/Derivative.h.inc"

#endif
