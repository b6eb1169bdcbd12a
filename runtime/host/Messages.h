//===- Messages.h - Point to point of the host back end ---------*- C++ -*-===//
#ifndef PARA_RUNTIME_HOST_MESSAGES_H
#define PARA_RUNTIME_HOST_MESSAGES_H

#include "Context.h"

namespace para::runtime {

/// Sends return at once; the buffer is free after wait() for its tag.
class Messages {
public:
  virtual ~Messages() = default;
  virtual para_status send(int64_t peer, int64_t tag, const char *buffer, int64_t bytes, const char *op) = 0;
  virtual para_status receive(int64_t peer, int64_t tag, char *buffer, int64_t bytes, const char *op) = 0;
  virtual para_status wait(int64_t tag, const char *op) = 0;
  /// Until no send is under way.
  virtual para_status waitForAll(const char *op) = 0;
};

std::unique_ptr<Messages> createMessages(para_context *ctx);
std::unique_ptr<Messages> makeMpiMessages(para_context *ctx);

} // namespace para::runtime

#endif
