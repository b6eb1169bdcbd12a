#include "para/IR/Program.h"
#include "para/Plan/Layers.h"
#include "para/Plan/Passes.h"

using namespace mlir;

namespace para {
#define GEN_PASS_DEF_FOLDLAYERSPASS
#include "para/Plan/Passes.h.inc"
} // namespace para

namespace {
struct FoldLayersPass : para::impl::FoldLayersPassBase<FoldLayersPass> {
  void runOnOperation() override {
    auto main = para::getMain(getOperation());
    if (failed(main))
      return signalPassFailure();
    SmallVector<int64_t> repeats;
    for (const para::Segment &segment : para::foldLayers(*main))
      repeats.push_back(segment.repeat);
    (*main)->setAttr("para.parts", DenseI64ArrayAttr::get(&getContext(), repeats));
  }
};
} // namespace
