//===- LayerNames.h - What people call a layer --------------------*- C++ -*-===//
//
// Layers are found by structure (Layers.h); people know them by the modules whose parameters they use, or else by the model's nodes.
//
// Example: a block that uses model.layers.3.mlp.up_proj.weight and its brothers is "model.layers.3".
//
//===----------------------------------------------------------------------===//
#ifndef PARA_PLAN_LAYERNAMES_H
#define PARA_PLAN_LAYERNAMES_H

#include "para/Plan/Layers.h"

#include <map>

namespace para {

struct LayerName {
  std::string begin, end;  ///< the same, where a layer is within a module
  std::string first, last; ///< nodes of the model
};

/// Parameters that each node of @main uses itself, by the node's name.
using NodeParameters = std::map<std::string, std::vector<std::string>>;
NodeParameters getNodeParameters(mlir::func::FuncOp main);

/// Of every layer of the model, in order: of each segment all the parts that it stands for.
std::vector<LayerName> nameLayers(llvm::ArrayRef<Segment> segments, const NodeParameters &parameters);

/// Of consecutive layers: "model.layers.1 … layers.30", or the one name.
std::string nameRow(const LayerName &first, const LayerName &last);

} // namespace para

#endif
