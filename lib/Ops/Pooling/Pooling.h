#ifndef PARA_OPS_POOLING_H
#define PARA_OPS_POOLING_H

#include "Family.h"

#define GET_OP_CLASSES
#include "Pooling/Pooling.h.inc"

#endif
