#include "para/Interfaces/Relayout.h"

#include "para/Interfaces/Relayout.cpp.inc"
