#include "para/Interfaces/Derivative.h"

#include "para/Interfaces/Derivative.cpp.inc"
