#ifndef PARA_OPS_COLLECTIVE_H
#define PARA_OPS_COLLECTIVE_H

#include "Family.h"

#define GET_OP_CLASSES
#include "Collective/Collective.h.inc"

#endif
