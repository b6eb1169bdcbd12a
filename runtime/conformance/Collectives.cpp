//===- Collectives.cpp - What every back end's communication must do ----------===//
//
// All ranks of a mesh a x b run all collectives, messages and their corner cases on known data and compare. Ranks come from
// PARA_TEST_RANKS; PARA_TEST_FAULT provokes failures: kill, exit, status, sequence.
//
//===----------------------------------------------------------------------===//
#include "Program.h"

#include "core/DType.h"

#include <csignal>
#include <cstring>
#include <unistd.h>
#include <vector>

using namespace para::conformance;
using namespace para::runtime;

static constexpr int64_t outAt = 1 << 20, arenaBytes = 32 << 20;
static int64_t numRanks, inner, outer;

namespace {
/// One communicator as a rank sees it.
struct Group {
  int32_t index;
  int64_t size, mine;
  std::vector<int64_t> ranks;
};
} // namespace

/// What rank `rank` contributes at element `i`: small integers, exact in every type and sum.
static double element(int64_t rank, int64_t i) { return double((i * 7 + rank * 3) % 11) - (i % 3 == 0 ? 4 : 0); }
static double typed(int32_t dtype, double value) { return dtype == PARA_U8 ? (value < 0 ? -value : value) : value; }

static double expectedReduction(const Group &group, int32_t dtype, int32_t reduction, int64_t i) {
  double result = typed(dtype, element(group.ranks[0], i));
  for (size_t m = 1; m < group.ranks.size(); ++m) {
    double next = typed(dtype, element(group.ranks[m], i));
    result = reduction == PARA_SUM ? result + next
             : reduction == PARA_MAX ? (next > result ? next : result)
                                     : (next < result ? next : result);
  }
  return result;
}

static void fill(char *at, int32_t dtype, int64_t rank, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    storeScalar(DType(dtype), at + i * elementBytes(DType(dtype)), typed(dtype, element(rank, i)));
}

template <typename Expected>
static para_status compare(const char *what, const char *at, int32_t dtype, int64_t count, Expected expected) {
  for (int64_t i = 0; i < count; ++i) {
    double found = loadScalar(DType(dtype), at + i * elementBytes(DType(dtype)));
    if (found != expected(i))
      return mismatch(what, i, found, expected(i));
  }
  return PARA_OK;
}

static para_status checkReductions(para_context *ctx, const Group &group, int32_t &sequence, int32_t dtype,
                                   int32_t reduction, int64_t count) {
  char *in = static_cast<char *>(para_arena(ctx)), *out = in + outAt;
  int64_t me = group.ranks[size_t(group.mine)], n = group.size, part = count * elementBytes(DType(dtype));
  auto reduced = [&](int64_t i) { return expectedReduction(group, dtype, reduction, i); };
  fill(in, dtype, me, count);
  PARA_STEP(para_all_reduce(ctx, 1, group.index, sequence++, in, out, count, dtype, reduction, "all_reduce"));
  PARA_STEP(compare("all-reduce", out, dtype, count, reduced));
  PARA_STEP(para_all_reduce(ctx, 1, group.index, sequence++, in, in, count, dtype, reduction, "all_reduce.in_place"));
  PARA_STEP(compare("all-reduce in place", in, dtype, count, reduced));
  auto mine = [&](int64_t i) { return reduced(group.mine * count + i); };
  fill(in, dtype, me, count * n);
  PARA_STEP(para_reduce_scatter(ctx, 1, group.index, sequence++, in, out, count, dtype, reduction, "reduce_scatter"));
  PARA_STEP(compare("reduce-scatter", out, dtype, count, mine));
  // The output at the input's start, where other ranks still read.
  PARA_STEP(para_reduce_scatter(ctx, 1, group.index, sequence++, in, in, count, dtype, reduction, "reduce_scatter.front"));
  PARA_STEP(compare("reduce-scatter to the front", in, dtype, count, mine));
  fill(in, dtype, me, count * n);
  char *own = in + group.mine * part;
  PARA_STEP(para_reduce_scatter(ctx, 1, group.index, sequence++, in, own, count, dtype, reduction, "reduce_scatter.own"));
  return compare("reduce-scatter in place", own, dtype, count, mine);
}

static para_status checkMoves(para_context *ctx, const Group &group, int32_t &sequence, int32_t dtype, int64_t count) {
  char *in = static_cast<char *>(para_arena(ctx)), *out = in + outAt;
  int64_t me = group.ranks[size_t(group.mine)], n = group.size, part = count * elementBytes(DType(dtype));
  auto gathered = [&](int64_t i) { return typed(dtype, element(group.ranks[size_t(i / count)], i % count)); };
  fill(in, dtype, me, count);
  PARA_STEP(para_all_gather(ctx, 1, group.index, sequence++, in, out, count, dtype, "all_gather"));
  PARA_STEP(compare("all-gather", out, dtype, count * n, gathered));
  fill(out + group.mine * part, dtype, me, count);
  PARA_STEP(para_all_gather(ctx, 1, group.index, sequence++, out + group.mine * part, out, count, dtype, "all_gather.own"));
  PARA_STEP(compare("all-gather in place", out, dtype, count * n, gathered));
  fill(out, dtype, me, count);
  PARA_STEP(para_all_gather(ctx, 1, group.index, sequence++, out, out, count, dtype, "all_gather.front"));
  PARA_STEP(compare("all-gather from the front", out, dtype, count * n, gathered));
  auto exchanged = [&](int64_t i) {
    return typed(dtype, element(group.ranks[size_t(i / count)], group.mine * count + i % count));
  };
  fill(in, dtype, me, count * n);
  PARA_STEP(para_all_to_all(ctx, 1, group.index, sequence++, in, out, count, dtype, "all_to_all"));
  PARA_STEP(compare("all-to-all", out, dtype, count * n, exchanged));
  PARA_STEP(para_all_to_all(ctx, 1, group.index, sequence++, in, in, count, dtype, "all_to_all.in_place"));
  return compare("all-to-all in place", in, dtype, count * n, exchanged);
}

static para_status checkGroup(para_context *ctx, const Group &group) {
  int32_t sequence = 0;
  for (int64_t count : {int64_t(1), int64_t(3), int64_t(64), int64_t(5000)}) {
    for (int32_t dtype : {PARA_F32, PARA_F64, PARA_F16, PARA_BF16, PARA_I32, PARA_I64})
      for (int32_t reduction : {PARA_SUM, PARA_MAX, PARA_MIN})
        PARA_STEP(checkReductions(ctx, group, sequence, dtype, reduction, count));
    for (int32_t dtype : {PARA_F32, PARA_BF16, PARA_I64, PARA_U8})
      PARA_STEP(checkMoves(ctx, group, sequence, dtype, count));
  }
  return PARA_OK;
}

/// A buffer beyond the caches and off the cache lines' boundaries.
static para_status checkLarge(para_context *ctx, const Group &group) {
  float *data = static_cast<float *>(para_arena(ctx)) + 1;
  constexpr int64_t count = 7000001;
  double ranks = double(group.size), sum = ranks * (ranks - 1) / 2;
  for (int64_t i = 0; i < count; ++i)
    data[i] = float(i % 97 + group.ranks[size_t(group.mine)]);
  PARA_STEP(para_all_reduce(ctx, 1, group.index, 0, data, data, count, PARA_F32, PARA_SUM, "all_reduce.large"));
  for (int64_t i = 0; i < count; ++i)
    if (double expected = ranks * double(i % 97) + sum; data[i] != expected)
      return mismatch("large all-reduce", i, data[i], expected);
  return PARA_OK;
}

/// More messages than any table holds, received in the opposite order, equal tags in the order of sending.
static para_status checkMessages(para_context *ctx, int32_t axis, int64_t size) {
  int64_t mine = para_coordinate(ctx, axis), *out = static_cast<int64_t *>(para_arena(ctx)), *in = out + 40000;
  constexpr int64_t messages = 150, words = 100;
  if (size < 2)
    return PARA_OK;
  int64_t next = (mine + 1) % size, previous = (mine + size - 1) % size;
  for (int64_t m = 0; m < messages; ++m) {
    for (int64_t i = 0; i < words; ++i)
      out[m * words + i] = mine * 1000000 + m * 1000 + i;
    PARA_STEP(para_send(ctx, 1, axis, next, (int64_t(1) << 33) + m / 2, out + m * words, words * 8, "send"));
  }
  for (int64_t pair = messages / 2; pair-- > 0;)
    for (int64_t m = 2 * pair; m < 2 * pair + 2; ++m) {
      PARA_STEP(para_recv(ctx, 1, axis, previous, (int64_t(1) << 33) + pair, in, words * 8, "recv"));
      for (int64_t i = 0; i < words; ++i)
        if (in[i] != previous * 1000000 + m * 1000 + i)
          return mismatch("message", m, double(in[i]), double(previous * 1000000 + m * 1000 + i));
    }
  for (int64_t pair = 0; pair < messages / 2; ++pair)
    PARA_STEP(para_wait(ctx, 1, (int64_t(1) << 33) + pair, "wait"));
  return PARA_OK;
}

static para_status run(para_context *ctx, int64_t, int64_t) {
  int64_t a = para_coordinate(ctx, 0), b = para_coordinate(ctx, 1), rank = a * inner + b;
  Group all{0, numRanks, rank, {}}, row{1, inner, b, {}}, column{2, outer, a, {}};
  for (int64_t i = 0; i < numRanks; ++i)
    all.ranks.push_back(i);
  for (int64_t i = 0; i < inner; ++i)
    row.ranks.push_back(a * inner + i);
  for (int64_t i = 0; i < outer; ++i)
    column.ranks.push_back(i * inner + b);
  PARA_STEP(checkLarge(ctx, all));
  PARA_STEP(checkMessages(ctx, 1, inner));
  for (const Group *group : {&all, &row, &column})
    PARA_STEP(checkGroup(ctx, *group));
  return checkMessages(ctx, 0, outer);
}

/// Ends or hangs the last rank in the middle of the program.
static para_status fault(para_context *ctx, int64_t, int64_t) {
  std::string kind = settingText("PARA_TEST_FAULT", "");
  int64_t rank = para_coordinate(ctx, 0) * inner + para_coordinate(ctx, 1);
  char *in = static_cast<char *>(para_arena(ctx));
  PARA_STEP(para_all_reduce(ctx, 1, 0, 0, in, in, 16, PARA_F32, PARA_SUM, "blocks.0.attention"));
  bool isVictim = rank == numRanks - 1;
  if (isVictim && kind == "kill") {
    PARA_STEP(para_zero(ctx, 0, in, 64, "blocks.0.mlp"));
    raise(SIGKILL);
  }
  if (isVictim && kind == "exit")
    _exit(7);
  if (isVictim && kind == "status")
    return para_send(ctx, 1, 0, 99, 0, in, 8, "blocks.0.mlp");
  return para_all_reduce(ctx, 1, 0, isVictim && kind == "sequence" ? 5 : 1, in, in, 16, PARA_F32, PARA_SUM, "blocks.1.mlp");
}

int main(int argc, char **argv) {
  numRanks = setting("PARA_TEST_RANKS", 1);
  inner = numRanks % 2 == 0 ? numRanks / 2 : numRanks;
  outer = numRanks / inner;
  bool isFault = !settingText("PARA_TEST_FAULT", "").empty();
  std::string manifest =
      "{\"version\": 1, \"model\": \"collectives\", \"mode\": \"infer\", \"mesh\": [{\"name\": \"a\", \"size\": " +
      std::to_string(outer) + "}, {\"name\": \"b\", \"size\": " + std::to_string(inner) +
      "}], \"communicators\": [{\"axes\": [\"a\", \"b\"]}, {\"axes\": [\"b\"]}, {\"axes\": [\"a\"]}], \"stages\": "
      "[{\"arena_bytes\": " +
      std::to_string(arenaBytes) + ", \"actions\": [{\"segment\": \"" + (isFault ? "fault" : "run") +
      "\"}], \"tensors\": []}]}";
  const para_segment segments[] = {{"run", run}, {"fault", fault}};
  return runProgram(argc, argv, manifest, segments, 2);
}
