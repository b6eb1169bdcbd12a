//===- RankChecks.cpp - Collectives, messages, errors --------------------------===//
#include "Suite.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace para::conformance {

namespace {
constexpr int32_t reductions[] = {PARA_SUM, PARA_MAX, PARA_MIN};

/// What a rank brings at element i: small whole numbers, which every type holds, and sums of them.
double element(int32_t dtype, int64_t rank, int64_t i) {
  double value = double((i * 7 + rank * 3) % 11) - (i % 3 == 0 ? 4 : 0);
  return dtype == PARA_U8 ? std::abs(value) : value;
}

double reduced(int32_t dtype, int32_t reduction, const std::vector<int64_t> &ranks, int64_t i) {
  double result = element(dtype, ranks[0], i);
  for (size_t m = 1; m < ranks.size(); ++m) {
    double next = element(dtype, ranks[m], i);
    result = reduction == PARA_SUM ? result + next : reduction == PARA_MAX ? std::max(result, next) : std::min(result, next);
  }
  return result;
}

struct Members {
  int32_t communicator;
  std::vector<int64_t> ranks;
  int64_t mine, me; ///< its number among them, and in the job
  int64_t size() const { return int64_t(ranks.size()); }
};

void addReductions(Suite &suite, const Members &group, int32_t &sequence, int32_t dtype, int32_t reduction, int64_t count) {
  int64_t bytes = count * elementBytes(DType(dtype)), n = group.size();
  auto mine = [=](int64_t i) { return element(dtype, group.me, i); };
  auto all = [=](int64_t i) { return reduced(dtype, reduction, group.ranks, i); };
  auto part = [=](int64_t i) { return all(group.mine * count + i); };
  std::string of = format(" of %lld %s over communicator %d, reduction %d", (long long)count, dtypeName(DType(dtype)), group.communicator, reduction);
  para_context *ctx = suite.context();
  int32_t communicator = group.communicator;
  for (bool isInPlace : {false, true}) {
    int64_t in = suite.room(bytes, 4 * 8), out = isInPlace ? in : suite.room(bytes, 2 * 8);
    suite.add({(isInPlace ? "all-reduce in place" : "all-reduce") + of, {{in, elements(dtype, count, mine)}}, {{out, elements(dtype, count, all)}},
               [&suite, ctx, communicator, number = sequence++, in, out, count, dtype, reduction] {
                 return para_all_reduce(ctx, 1, communicator, number, suite.at(in), suite.at(out), count, dtype, reduction, "all_reduce");
               }});
    int64_t whole = suite.room(bytes * n), own = isInPlace ? whole + group.mine * bytes : suite.room(bytes);
    suite.add({(isInPlace ? "reduce-scatter in place" : "reduce-scatter") + of, {{whole, elements(dtype, count * n, mine)}}, {{own, elements(dtype, count, part)}},
               [&suite, ctx, communicator, number = sequence++, whole, own, count, dtype, reduction] {
                 return para_reduce_scatter(ctx, 1, communicator, number, suite.at(whole), suite.at(own), count, dtype, reduction, "reduce_scatter");
               }});
  }
}

void addMoves(Suite &suite, const Members &group, int32_t &sequence, int32_t dtype, int64_t count) {
  int64_t bytes = count * elementBytes(DType(dtype)), n = group.size();
  std::string of = format(" of %lld %s over communicator %d", (long long)count, dtypeName(DType(dtype)), group.communicator);
  auto mine = [=](int64_t i) { return element(dtype, group.me, i); };
  auto gathered = [=](int64_t i) { return element(dtype, group.ranks[size_t(i / count)], i % count); };
  auto exchanged = [=](int64_t i) { return element(dtype, group.ranks[size_t(i / count)], group.mine * count + i % count); };
  para_context *ctx = suite.context();
  int32_t communicator = group.communicator;
  for (bool isInPlace : {false, true}) {
    int64_t out = suite.room(bytes * n), in = isInPlace ? out + group.mine * bytes : suite.room(bytes);
    suite.add({(isInPlace ? "all-gather in place" : "all-gather") + of, {{in, elements(dtype, count, mine)}}, {{out, elements(dtype, count * n, gathered)}},
               [&suite, ctx, communicator, number = sequence++, in, out, count, dtype] {
                 return para_all_gather(ctx, 1, communicator, number, suite.at(in), suite.at(out), count, dtype, "all_gather");
               }});
  }
  int64_t in = suite.room(bytes * n), out = suite.room(bytes * n);
  suite.add({"all-to-all" + of, {{in, elements(dtype, count * n, mine)}}, {{out, elements(dtype, count * n, exchanged)}},
             [&suite, ctx, communicator, number = sequence++, in, out, count, dtype] {
               return para_all_to_all(ctx, 1, communicator, number, suite.at(in), suite.at(out), count, dtype, "all_to_all");
             }});
}
} // namespace

Status checkCollectives(Suite &suite) {
  for (int64_t count : {int64_t(1), int64_t(3), int64_t(64), int64_t(5001)})
    for (int32_t communicator = 0; communicator < int32_t(suite.manifest.communicators.size()); ++communicator) {
      Members group{communicator, suite.manifest.members(size_t(communicator), suite.world.rank()), 0, suite.world.rank()};
      group.mine = std::find(group.ranks.begin(), group.ranks.end(), group.me) - group.ranks.begin();
      int32_t sequence = 0;
      for (int32_t dtype : {PARA_F32, PARA_F64, PARA_F16, PARA_BF16, PARA_I32, PARA_I64})
        for (int32_t reduction : reductions)
          addReductions(suite, group, sequence, dtype, reduction, count);
      for (int32_t dtype : {PARA_F32, PARA_F64, PARA_F16, PARA_BF16, PARA_I8, PARA_U8, PARA_I16, PARA_I32, PARA_I64})
        addMoves(suite, group, sequence, dtype, count);
      PARA_TRY(suite.run());
    }
  return Status::success();
}

/// Each stage sends to each other one messages of many sizes and takes theirs, in the order in which they are sent; a buffer that was sent is used again.
Status checkMessages(Suite &suite) {
  constexpr int64_t sizes[] = {1, 8, 77, 4096, 100003};
  int axis = suite.manifest.axisIndex("pipeline");
  int64_t stages = suite.manifest.mesh[size_t(axis)].size, stage = suite.manifest.coordinates(suite.world.rank())[size_t(axis)];
  auto content = [](int64_t from, int64_t to, int64_t bytes) {
    return elements(PARA_U8, bytes, [=](int64_t i) { return double((i * 13 + from * 50 + to * 7 + bytes) % 251); });
  };
  auto tag = [&](int64_t from, int64_t to, size_t message) { return (int64_t(1) << 33) + (from * stages + to) * 100 + int64_t(message); };
  para_context *ctx = suite.context();
  // All sends come first: one that waits for its receiver must not hold up what is behind it.
  for (bool sends : {true, false})
    for (int64_t other = 0; other < stages; ++other)
      for (size_t message = 0; message < std::size(sizes) && other != stage; ++message) {
        int64_t bytes = sizes[message], at = suite.room(bytes, int64_t(message));
        if (sends)
          suite.add({"send", {{at, content(stage, other, bytes)}}, {{at, std::vector<char>(size_t(bytes))}}, [=, &suite] {
                       para_status status = para_send(ctx, 1, axis, other, tag(stage, other, message), suite.at(at), bytes, "send");
                       return status;
                     }});
        else
          suite.add({format("message %zu from stage %lld", message, (long long)other), {}, {{at, content(other, stage, bytes)}}, [=, &suite] {
                       return para_recv(ctx, 1, axis, other, tag(other, stage, message), suite.at(at), bytes, "recv");
                     }});
      }
  // The sends' buffers, which came first, each behind a wait.
  int64_t begin = 0;
  std::vector<std::pair<int64_t, int64_t>> buffers;
  for (int64_t other = 0; other < stages; ++other)
    for (size_t message = 0; message < std::size(sizes) && other != stage; ++message) {
      buffers.push_back({begin + int64_t(message), sizes[message]});
      begin = (begin + int64_t(message) + sizes[message] + 255) / 256 * 256;
    }
  suite.add({"buffers of messages that were sent", {}, {}, [=, &suite] {
               size_t next = 0;
               for (int64_t other = 0; other < stages; ++other)
                 for (size_t message = 0; message < std::size(sizes) && other != stage; ++message) {
                   auto [at, bytes] = buffers[next++];
                   if (para_status status = para_wait(ctx, 1, tag(stage, other, message), "wait"))
                     return status;
                   if (para_status status = para_zero(ctx, 1, suite.at(at), bytes, "again"))
                     return status;
                 }
               return para_status(PARA_OK);
             }});
  return suite.run();
}

Status checkErrors(Suite &suite) {
  const char *told = std::getenv("PARA_CONFORMANCE_FAULT");
  std::string fault = told ? told : "";
  para_context *ctx = suite.context();
  char *at = suite.at(0);
  bool isLast = suite.world.rank() == suite.world.size() - 1;
  static const para_kernel empty = {"empty", nullptr, 1, 0, 0};
  static const para_matmul_desc strange = [] {
    para_matmul_desc desc{};
    desc.dtype = desc.c_dtype = PARA_I64, desc.m = desc.n = desc.k = 1;
    desc.a_row_stride = desc.a_column_stride = desc.b_row_stride = desc.b_column_stride = desc.c_row_stride = 1;
    return desc;
  }();
  suite.add({fault, {}, {}, [=]() -> para_status {
               if (fault == "sequence") // The members count differently.
                 return para_all_reduce(ctx, 1, 0, isLast ? 5 : 1, at, at, 16, PARA_F32, PARA_SUM, "blocks.1.mlp");
               if (!isLast)
                 return para_all_reduce(ctx, 1, 0, 0, at, at, 16, PARA_F32, PARA_SUM, "blocks.0.attention");
               if (fault == "peer")
                 return para_send(ctx, 1, 0, 99, 0, at, 8, "blocks.0.mlp");
               if (fault == "communicator")
                 return para_all_reduce(ctx, 1, 77, 0, at, at, 16, PARA_F32, PARA_SUM, "blocks.0.mlp");
               if (fault == "type")
                 return para_all_gather(ctx, 1, 0, 0, at, at + 4096, 16, 55, "blocks.0.mlp");
               if (fault == "kernel")
                 return para_launch(ctx, 0, &empty, 1, nullptr, 0, "blocks.0.mlp");
               if (fault == "product")
                 return para_matmul(ctx, 0, &strange, at, at + 64, at + 128, "blocks.0.mlp");
               return PARA_ERROR;
             }});
  return suite.run();
}

} // namespace para::conformance
