#ifndef PARA_OPS_SHAPE_H
#define PARA_OPS_SHAPE_H

#include "Family.h"

#define GET_OP_CLASSES
#include "Shape/Shape.h.inc"

#endif
