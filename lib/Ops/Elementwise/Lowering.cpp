//===- Lowering.cpp - Elements of elementwise ops -------------------------===//
#include "Elementwise/Elementwise.h"

using namespace mlir;
using namespace para;

Value AddNOp::emitElement(ElementEmitter &emitter, unsigned, ArrayRef<Coordinate> index) {
  Value sum = emitter.operand(0, index);
  for (unsigned i = 1; i < getInputs().size(); ++i)
    sum = scalar::add(emitter.b, sum, emitter.operand(i, index));
  return sum;
}
