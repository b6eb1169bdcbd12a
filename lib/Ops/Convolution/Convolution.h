#ifndef PARA_OPS_CONVOLUTION_H
#define PARA_OPS_CONVOLUTION_H

#include "Family.h"

#define GET_OP_CLASSES
#include "Convolution/Convolution.h.inc"

#endif
