//===- LayerSeconds.h - A layer's seconds by what they are of -----*- C++ -*-===//
#ifndef PARA_LIB_PLAN_LAYERSECONDS_H
#define PARA_LIB_PLAN_LAYERSECONDS_H

#include "para/Cost/Execution.h"

namespace para {

/// Seconds of one layer of a segment under a variant and sizes of the axes of replicas.
struct LayerSeconds {
  double forward = 0, backwardInput = 0, backwardWeight = 0;
  double forwardTraffic = 0, backwardTraffic = 0; ///< within the layer: over `tensor`, `expert`, `context`
  double forwardExchange = 0, backwardExchange = 0; ///< of these, of rows among experts
  double gather = 0, scatter = 0;                 ///< over replicas, in every microbatch: of parameters (ZeRO-3), of gradients (from ZeRO-2 on)
  double hostForward = 0, hostBackward = 0;       ///< of the host, to start all that
  double products = 0, streams = 0, attention = 0; ///< parts of `forward`
  double getAgain(const Execution &e) const { return streams + e.productsAgain * products + e.attentionAgain * attention; }
};

} // namespace para

#endif
