#ifndef PARA_OPS_CONTRACTION_H
#define PARA_OPS_CONTRACTION_H

#include "Family.h"

#define GET_OP_CLASSES
#include "Contraction/Contraction.h.inc"

#endif
