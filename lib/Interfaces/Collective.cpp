#include "para/Interfaces/Collective.h"

#include "para/Interfaces/Collective.cpp.inc"
