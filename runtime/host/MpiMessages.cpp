//===- MpiMessages.cpp - Point to point over MPI ------------------------------===//
//
// The program's tags have 64 bits, MPI's fewer: they are folded, and every message starts with a header that holds the
// whole tag, so that two tags which fold alike are an error and never a wrong buffer.
//
//===----------------------------------------------------------------------===//
#include "Messages.h"
#include "MpiSupport.h"

#include <algorithm>

namespace para::runtime {

namespace {
struct Header {
  int64_t tag, bytes;
};

class MpiMessages : public Messages {
public:
  explicit MpiMessages(para_context *ctx) : ctx(ctx) {
    MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
    void *value = nullptr;
    int isSet = 0;
    MPI_Comm_get_attr(communicator, MPI_TAG_UB, &value, &isSet);
    if (isSet)
      upperBound = *static_cast<int *>(value);
  }
  ~MpiMessages() override {
    int isFinalized = 0;
    MPI_Finalized(&isFinalized);
    if (!isFinalized)
      MPI_Comm_free(&communicator);
  }
  para_status send(int64_t peer, int64_t tag, const char *buffer, int64_t bytes, const char *op) override;
  para_status receive(int64_t peer, int64_t tag, char *buffer, int64_t bytes, const char *op) override;
  para_status wait(int64_t tag, const char *op) override;
  para_status waitForAll(const char *op) override;

private:
  struct Outgoing {
    int64_t peer, tag;
    Header header;
    std::vector<MPI_Request> requests;
  };
  int fold(int64_t tag) const { return int(uint64_t(tag) % (uint64_t(upperBound) + 1)); }
  para_status complete(Outgoing &message, const char *op);
  para_context *ctx;
  MPI_Comm communicator = MPI_COMM_NULL;
  int upperBound = 32767;
  std::vector<std::unique_ptr<Outgoing>> outgoing;
};
} // namespace

para_status MpiMessages::send(int64_t peer, int64_t tag, const char *buffer, int64_t bytes, const char *op) {
  auto message = std::make_unique<Outgoing>(Outgoing{peer, tag, {tag, bytes}, {}});
  message->requests.reserve(size_t(bytes / mpiPieceBytes + 2));
  auto start = [&](const void *data, int64_t count) {
    message->requests.emplace_back();
    return MPI_Isend(data, int(count), MPI_BYTE, int(peer), fold(tag), communicator, &message->requests.back());
  };
  int code = start(&message->header, sizeof(Header));
  for (int64_t at = 0; at < bytes && code == MPI_SUCCESS; at += mpiPieceBytes)
    code = start(buffer + at, std::min(mpiPieceBytes, bytes - at));
  if (code != MPI_SUCCESS)
    return ctx->fail(op, mpiError(code));
  outgoing.push_back(std::move(message));
  ctx->bytesSent += bytes;
  return PARA_OK;
}

para_status MpiMessages::receive(int64_t peer, int64_t tag, char *buffer, int64_t bytes, const char *op) {
  Header header{};
  if (para_status status = exchangeBytes(ctx, communicator, -1, nullptr, 0, int(peer), &header, sizeof(header),
                                         fold(tag), peer, op))
    return status;
  if (header.tag != tag || header.bytes != bytes)
    return ctx->fail(op, format("rank %lld sends %lld bytes with tag %lld where %lld with tag %lld are expected",
                                (long long)peer, (long long)header.bytes, (long long)header.tag, (long long)bytes,
                                (long long)tag));
  return exchangeBytes(ctx, communicator, -1, nullptr, 0, int(peer), buffer, bytes, fold(tag), peer, op);
}

para_status MpiMessages::complete(Outgoing &message, const char *op) {
  int code = MPI_SUCCESS;
  bool isAlive = waitUntil(ctx, message.peer, op, [&] {
    int isDone = 0;
    code = MPI_Testall(int(message.requests.size()), message.requests.data(), &isDone, MPI_STATUSES_IGNORE);
    return isDone || code != MPI_SUCCESS;
  });
  if (code != MPI_SUCCESS)
    return ctx->fail(op, mpiError(code));
  return isAlive ? PARA_OK : PARA_PEER_FAILED;
}

para_status MpiMessages::wait(int64_t tag, const char *op) {
  for (size_t i = 0; i < outgoing.size();) {
    if (outgoing[i]->tag != tag) {
      ++i;
      continue;
    }
    if (para_status status = complete(*outgoing[i], op))
      return status;
    outgoing.erase(outgoing.begin() + std::ptrdiff_t(i));
  }
  return PARA_OK;
}

para_status MpiMessages::waitForAll(const char *op) {
  for (auto &message : outgoing)
    if (para_status status = complete(*message, op))
      return status;
  outgoing.clear();
  return PARA_OK;
}

std::unique_ptr<Messages> makeMpiMessages(para_context *ctx) { return std::make_unique<MpiMessages>(ctx); }

} // namespace para::runtime
