//===- TileSketch.cpp - What elements of scores are made of ---------------===//
#include "TileSketch.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace para;

TileSketch::TileSketch(const TileBody &body, FactsCache &facts)
    : body(body), b(body.block->front().getLoc(), body.block->front().getContext()), emitter(b, nothingKept, facts, body.block->getParentOp()) {
  b.setInsertionPointToEnd(&code);
  emitter.extents.assign(body.space.batch.begin(), body.space.batch.end());
  emitter.extents.append({body.space.outer(), body.space.inner()});
  for (size_t i = 0; i < emitter.extents.size(); ++i)
    emitter.loopValues.push_back(unknown(b.getI64Type()));
  for (BlockArgument v : body.block->getArguments())
    emitter.pointers[v] = unknown(LLVM::LLVMPointerType::get(b.getContext()));
  emitter.number = number;
  for (const TileScore &score : body.scores)
    leaf(score.op->getResult(0));
  for (const TileRowReduction &reduction : body.rowReductions)
    leaf(reduction.op->getResult(0));
}

TileSketch::~TileSketch() {
  while (!code.empty())
    code.back().erase();
}

Value TileSketch::unknown(Type type) {
  OperationState state(b.getLoc(), "builtin.unrealized_conversion_cast");
  state.addTypes(type);
  return b.create(state)->getResult(0);
}

Value TileSketch::leaf(Value v) { return emitter.rowValues[v] = unknown(getElementTypeOrSelf(v.getType())); }

Value TileSketch::element(Value v) {
  emitter.startBody();
  Value result = emitter.element(v, body.space.scoreIndex(shapeOf(v), b.getContext()));
  emitter.finishBody();
  return result;
}
