//===- Library.cpp --------------------------------------------------------===//
#include "para/Interfaces/Library.h"

#include "para/Interfaces/Library.cpp.inc"
