//===- Presets.h - Machines that can be bought --------------------*- C++ -*-===//
#ifndef PARA_LIB_COST_PRESETS_H
#define PARA_LIB_COST_PRESETS_H

#include "para/Cost/Machine.h"

namespace para {

/// What a node of a maker has, and what joins nodes.
struct Preset {
  llvm::StringRef name;
  int64_t devices; ///< joined by the innermost links
  Device device;
  Level inside, outside;
  int64_t nodesOfLeaf; ///< that one layer of switches joins
};

const std::vector<Preset> &getPresets();

} // namespace para

#endif
