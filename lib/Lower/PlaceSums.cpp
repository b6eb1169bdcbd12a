//===- PlaceSums.cpp - When a microbatch's part of a gradient is added ----===//
#include "OpFacts.h"
#include "UnderWay.h"

#include "para/IR/Phases.h"
#include "para/IR/Program.h"
#include "para/Lower/Passes.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_PLACESUMSPASS
#include "para/Lower/Passes.h.inc"
} // namespace para

namespace {
struct PlaceSumsPass : public para::impl::PlaceSumsPassBase<PlaceSumsPass> {
  using PlaceSumsPassBase::PlaceSumsPassBase;
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      auto limits = limitUnderWay(func);
      for (auto message : func.getBody().front().getOps<rt::CallOp>())
        if (Operation *limit = limits.lookup(message))
          for (Operation *user : message->getUsers())
            if (isAccumulate(user) && getChunkPhase(user) == getChunkPhase(message) && limit->isBeforeInBlock(user))
              user->moveBefore(limit);
    }
  }
};
} // namespace
