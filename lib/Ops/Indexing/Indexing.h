#ifndef PARA_OPS_INDEXING_H
#define PARA_OPS_INDEXING_H

#include "Family.h"

#define GET_OP_CLASSES
#include "Indexing/Indexing.h.inc"

#endif
