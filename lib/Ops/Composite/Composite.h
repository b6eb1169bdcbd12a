#ifndef PARA_OPS_COMPOSITE_H
#define PARA_OPS_COMPOSITE_H

#include "Family.h"

#define GET_OP_CLASSES
#include "Composite/Composite.h.inc"

#endif
