//===- HostQueue.h - Kernels that the host enqueues ---------------*- C++ -*-===//
//
// A device works through what the host enqueues, in order. Where the host is slower, layer by layer, the device waits; a long kernel behind
// short ones does not make up for what they waited, one before them does.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LIB_PLAN_HOSTQUEUE_H
#define PARA_LIB_PLAN_HOSTQUEUE_H

#include "para/Cost/Execution.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace para {

/// The layers of a stage, in the order of the pass forward.
class HostQueue {
public:
  void add(double hostForward, double deviceForward, double hostBackward, double deviceBackward) {
    forward.push_back({hostForward, deviceForward});
    backward.push_back({hostBackward, deviceBackward});
  }
  /// What a pass takes beyond the seconds of the device.
  double getForwardWait(const Execution &execution) const { return getWait(forward, execution); }
  double getBackwardWait(const Execution &execution) const { return getWait(llvm::reverse(backward), execution); }

private:
  struct Layer {
    double host, device;
  };

  template <typename Layers>
  static double getWait(Layers &&layers, const Execution &execution) {
    double host = execution.passSeconds, end = 0, busy = 0;
    for (const Layer &layer : layers) {
      busy += layer.device;
      double begin = std::max(host, end);
      if (execution.blocksOnLaunches > 0) { // the host waits for each kernel
        host = end = begin + layer.host + layer.device;
        continue;
      }
      end = std::max(begin + layer.device, host + layer.host);
      host += layer.host;
    }
    return std::max(0.0, end - busy);
  }

  llvm::SmallVector<Layer> forward, backward;
};

} // namespace para

#endif
