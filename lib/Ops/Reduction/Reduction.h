#ifndef PARA_OPS_REDUCTION_H
#define PARA_OPS_REDUCTION_H

#include "Family.h"

#define GET_OP_CLASSES
#include "Reduction/Reduction.h.inc"

#endif
