//===- StuckProgram.cpp - A program for CUDA whose ranks do not come ----------===//
//
// Two stages of PARA_TEST_RANKS / 2 ranks each, `data` within a stage; each run is two collectives and a message from stage 0 to stage 1.
// PARA_TEST_FAULT says what the last rank does in its second run: stop, missing, order (its collectives change places), message (it does not
// receive), die, leave (it ends as if it were done), grow (it makes a call more), late (it sleeps for PARA_TEST_SECONDS before it enqueues), slow (a kernel of its takes so long), split (as long in small parts).
// PARA_TEST_OTHERS_SECONDS: how long the other ranks sleep in that run before they enqueue. PARA_TEST_SPLIT_SECONDS: how long ncclCommSplit takes.
//
//===----------------------------------------------------------------------===//
#include "conformance/Program.h"
#include "cuda/Context.h"
#include "rehearsal/Rehearsal.h"

#include <csignal>
#include <unistd.h>

using namespace para::conformance;

static int64_t numRanks;
static int runs = 0;

static para::runtime::cuda::Nccl served;

static int splitSlowly(void *parent, int color, int key, void **made, void *config) {
  usleep(useconds_t(setting("PARA_TEST_SPLIT_SECONDS", 0)) * 1000000);
  return served.ncclCommSplit(parent, color, key, made, config);
}

// The linker puts these in the place of para::runtime::rehearsal::fill for NCCL's table.
extern "C" void __real__ZN4para7runtime9rehearsal4fillERNS0_4cuda4NcclE(para::runtime::cuda::Nccl &);
extern "C" void __wrap__ZN4para7runtime9rehearsal4fillERNS0_4cuda4NcclE(para::runtime::cuda::Nccl &nccl) {
  __real__ZN4para7runtime9rehearsal4fillERNS0_4cuda4NcclE(nccl);
  served = nccl;
  nccl.ncclCommSplit = splitSlowly;
}

static void sleepFor(const int64_t *args) { usleep(useconds_t(args[0])); }
static const para_thread_kernel threadKernels[] = {{"sleep_for", sleepFor, 1, 1, 0}};
static const para_kernel kernel = {"sleep_for", nullptr, 1, 1, 0};

static para_status sleepOnDevice(para_context *ctx, double seconds, const char *op) {
  int64_t args[] = {int64_t(seconds * 1e6)};
  return para_launch(ctx, 0, &kernel, 1, args, 1, op);
}

static para_status run(para_context *ctx, int64_t, int64_t) {
  int64_t stage = para_coordinate(ctx, 0), rank = stage * numRanks / 2 + para_coordinate(ctx, 1);
  bool isFaulty = ++runs == 2 && rank == numRanks - 1;
  std::string fault = isFaulty ? settingText("PARA_TEST_FAULT", "") : "";
  double seconds = double(setting("PARA_TEST_SECONDS", 2));
  char *arena = static_cast<char *>(para_arena(ctx));
  if (runs == 2 && !isFaulty)
    usleep(useconds_t(setting("PARA_TEST_OTHERS_SECONDS", 0)) * 1000000);
  if (fault == "die")
    raise(SIGKILL);
  if (fault == "leave") {
    ctx->control->rank(ctx->rank).state = int32_t(para::runtime::RankState::Finished);
    _exit(0);
  }
  if (fault == "grow")
    PARA_STEP(para_copy(ctx, 0, arena + 6208, arena + 6144, 1024, "layer.0.grow"));
  if (fault == "stop")
    raise(SIGSTOP);
  if (fault == "late")
    usleep(useconds_t(seconds * 1e6));
  if (fault == "slow")
    PARA_STEP(sleepOnDevice(ctx, seconds, "layer.0.slow"));
  for (int part = 0; fault == "split" && part < 256; ++part)
    PARA_STEP(sleepOnDevice(ctx, seconds / 256, "layer.0.split"));
  // The sums come behind what is on stream 0, on the stream of communication.
  PARA_STEP(para_event_record(ctx, 0, 1));
  PARA_STEP(para_event_wait(ctx, 1, 1));
  auto sum = [&](int32_t which) {
    char *at = arena + 1024 * which;
    return para_all_reduce(ctx, 1, which, 0, at, at, 16, PARA_F32, PARA_SUM, which ? "layer.0.weight" : "layer.0.bias");
  };
  if (fault == "order") {
    PARA_STEP(sum(1));
    PARA_STEP(sum(0));
  } else {
    PARA_STEP(sum(0));
    if (fault != "missing")
      PARA_STEP(sum(1));
  }
  if (stage == 0) {
    PARA_STEP(para_send(ctx, 0, 0, 1, 7, arena + 4096, 64, "layer.1"));
    return para_wait(ctx, 0, 7, "layer.1");
  }
  return fault == "message" ? para_status(PARA_OK) : para_recv(ctx, 0, 0, 0, 7, arena + 4096, 64, "layer.1");
}

int main(int argc, char **argv) {
  numRanks = setting("PARA_TEST_RANKS", 4);
  std::string stage = "{\"arena_bytes\": 8192, \"actions\": [{\"segment\": \"run\"}], \"tensors\": []}";
  std::string manifest = "{\"version\": 1, \"model\": \"stuck\", \"mode\": \"infer\", \"target\": \"rehearsal\", \"mesh\": [{\"name\": \"pipeline\", \"size\": 2}, "
                         "{\"name\": \"data\", \"size\": " + std::to_string(numRanks / 2) + "}], \"communicators\": [{\"axes\": [\"data\"]}, {\"axes\": [\"data\"]}], "
                         "\"messages\": [[0, 1]], \"stages\": [" + stage + ", " + stage + "]}";
  const para_segment segments[] = {{"run", run}};
  para_program program{PARA_ABI_VERSION, 1, manifest.data(), manifest.size(), segments, nullptr, 0, threadKernels, 1};
  return para_main(argc, argv, &program);
}
