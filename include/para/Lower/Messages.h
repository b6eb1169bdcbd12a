//===- Messages.h - Messages of a device program, in order --------*- C++ -*-===//
#ifndef PARA_LOWER_MESSAGES_H
#define PARA_LOWER_MESSAGES_H

#include "para/Lower/Rt.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>

namespace para {

/// Something that a stage does with a message.
struct MessageStep {
  enum Kind { Send, Receive, Wait } kind;
  mlir::Operation *op;
  int64_t tag, microbatch, peer; ///< the program's tag, of which each microbatch has a message; a wait has no peer (-1)
};

/// What each stage does in a step, in the order of the schedule: of a device program with its manifest.
std::vector<std::vector<MessageStep>> readMessages(mlir::ModuleOp program);

/// Messages from one stage to another that arrive in the order in which they are sent.
struct Channel {
  int64_t from, to;
  std::vector<int64_t> tags; ///< empty: all from the one to the other that no other channel has
};
/// As the manifest has them.
std::vector<Channel> readChannels(mlir::ModuleOp program);

/// The order in which messages from a stage to another are sent and that in which they are received: tags and microbatches.
struct MessageOrder {
  using List = std::vector<std::pair<int64_t, int64_t>>;
  List sent, received;
};
std::map<std::pair<int64_t, int64_t>, MessageOrder> findOrders(mlir::ModuleOp program);

/// Channels in which messages arrive as they are sent: each tag is on the first that allows it; one whose own messages cross is on one with
/// others. Adds them to the manifest.
mlir::LogicalResult assignChannels(mlir::ModuleOp program);

} // namespace para

#endif
