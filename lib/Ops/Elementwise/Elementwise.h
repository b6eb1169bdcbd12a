#ifndef PARA_OPS_ELEMENTWISE_H
#define PARA_OPS_ELEMENTWISE_H

#include "Family.h"

#define GET_OP_CLASSES
#include "Elementwise/Elementwise.h.inc"

#endif
