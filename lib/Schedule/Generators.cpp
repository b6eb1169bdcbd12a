#include "para/Schedule/Schedule.h"

#include "para/IR/Phases.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace para;

namespace {
llvm::Error fail(const llvm::Twine &message) { return llvm::createStringError(llvm::inconvertibleErrorCode(), message); }

/// One stage's list in the making.
struct List {
  std::vector<Action> actions;
  void forward(int64_t microbatch, int64_t chunk = 0) { actions.push_back({Phase::Forward, microbatch, chunk}); }
  void backward(int64_t microbatch, int64_t chunk = 0, BackwardPart part = BackwardPart::Whole) { actions.push_back({Phase::Backward, microbatch, chunk, part}); }
};

struct Shape {
  int64_t stages, microbatches, chunks;
};

// All forwards, then all backwards.
void gpipe(List &list, int64_t, const Shape &shape) {
  for (int64_t m = 0; m < shape.microbatches; ++m)
    list.forward(m);
  for (int64_t m = 0; m < shape.microbatches; ++m)
    list.backward(m);
}

// As many forwards ahead as there are stages behind, then one backward for each forward.
void oneForwardOneBackward(List &list, int64_t stage, const Shape &shape) {
  int64_t forward = 0;
  while (forward < std::min(shape.stages - 1 - stage, shape.microbatches))
    list.forward(forward++);
  for (int64_t m = 0; m < shape.microbatches; ++m) {
    if (forward < shape.microbatches)
      list.forward(forward++);
    list.backward(m);
  }
}

// 1F1B over pairs of microbatch and chunk: groups of at least as many microbatches as there are stages run through all chunks, forwards from
// the first chunk, backwards from the last. Two forwards ahead for each stage behind, and one group for each chunk behind. What is left over
// makes the first groups larger: the next chunk of a smaller group would wait for its microbatches to come round, and stages for each other.
void interleaved(List &list, int64_t stage, const Shape &shape) {
  int64_t groups = std::max<int64_t>(1, shape.microbatches / shape.stages), begin = 0;
  std::vector<std::pair<int64_t, int64_t>> order; // microbatches and chunks
  for (int64_t group = 0; group < groups; ++group) {
    int64_t end = begin + shape.microbatches / groups + (group < shape.microbatches % groups);
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk)
      for (int64_t m = begin; m < end; ++m)
        order.push_back({m, chunk});
    begin = end;
  }
  int64_t total = int64_t(order.size()), largest = llvm::divideCeil(shape.microbatches, groups), forward = 0;
  int64_t ahead = std::min(2 * (shape.stages - 1 - stage) + (shape.chunks - 1) * largest, total);
  auto runForward = [&] {
    list.forward(order[forward].first, order[forward].second);
    ++forward;
  };
  while (forward < ahead)
    runForward();
  for (auto [microbatch, chunk] : order) {
    if (forward < total)
      runForward();
    list.backward(microbatch, shape.chunks - 1 - chunk);
  }
}

// The handcrafted schedules of Qi et al. (figures 2 and 3): `slope` forwards ahead for each stage behind; the gradients of weights are put
// off by `slope` microbatches for each stage before, which fills the waits at the end.
void zeroBubble(List &list, int64_t stage, const Shape &shape, int64_t slope) {
  int64_t forward = 0, weight = 0;
  while (forward < std::min(slope * (shape.stages - 1 - stage), shape.microbatches))
    list.forward(forward++);
  for (int64_t m = 0; m < shape.microbatches; ++m) {
    if (forward < shape.microbatches)
      list.forward(forward++);
    list.backward(m, 0, BackwardPart::Input);
    if (m >= slope * stage)
      list.backward(weight++, 0, BackwardPart::Weight);
  }
  while (weight < shape.microbatches)
    list.backward(weight++, 0, BackwardPart::Weight);
}
void zeroBubbleH1(List &list, int64_t stage, const Shape &shape) { zeroBubble(list, stage, shape, 1); }
void zeroBubbleH2(List &list, int64_t stage, const Shape &shape) { zeroBubble(list, stage, shape, 2); }

// Chunk 0 runs down the stages, chunk 1 up again; the last stage's backwards begin at once. No more activations than 1F1B. The rules are
// for at least 2 * stages - 1 microbatches; of those that are not there actions are left out, which leaves all waits possible.
void zeroBubbleV(List &list, int64_t stage, const Shape &shape) {
  int64_t behind = shape.stages - stage, most = std::max(shape.microbatches, 2 * shape.stages - 1);
  int64_t forward[2] = {0, 0}, backward[2] = {0, 0}, weight[2] = {0, 0};
  auto runForward = [&](int64_t chunk) {
    int64_t m = forward[chunk]++;
    if (m < shape.microbatches)
      list.forward(m, chunk);
  };
  auto runBackward = [&](int64_t chunk) {
    int64_t m = backward[chunk]++;
    if (m < shape.microbatches)
      list.backward(m, chunk, BackwardPart::Input);
  };
  auto runWeight = [&](int64_t chunk) {
    int64_t m = weight[chunk]++;
    if (m < shape.microbatches)
      list.backward(m, chunk, BackwardPart::Weight);
  };
  for (int64_t i = 0; i < 2 * behind - 1; ++i)
    runForward(0);
  for (int64_t i = 0; i < stage; ++i) {
    runForward(1);
    runForward(0);
  }
  for (int64_t i = 0; i < behind; ++i) {
    runForward(1);
    runBackward(1);
    runWeight(1);
  }
  while (forward[1] < forward[0] || forward[0] < most) {
    if (forward[0] < most)
      runForward(0);
    runBackward(0);
    runWeight(0);
    runForward(1);
    runBackward(1);
    runWeight(1);
  }
  for (int64_t i = 0; i < stage; ++i) {
    runBackward(0);
    runBackward(1);
  }
  for (int64_t i = 0; i < behind; ++i) {
    runBackward(0);
    runWeight(0);
  }
  for (int64_t chunk : {1, 0})
    while (weight[chunk] < backward[chunk])
      runWeight(chunk);
}

struct Generator {
  llvm::StringRef name;
  void (*make)(List &list, int64_t stage, const Shape &shape);
  int64_t chunks = 1; ///< 0: the number behind the colon
  bool folded = false;
};
constexpr llvm::StringLiteral kChunksFollow = "interleaved:";
constexpr Generator kGenerators[] = {
    {"gpipe", gpipe},        {"1f1b", oneForwardOneBackward}, {"interleaved:V", interleaved, 0},
    {"zb-h1", zeroBubbleH1}, {"zb-h2", zeroBubbleH2},         {"zb-v", zeroBubbleV, 2, true},
};

struct Found {
  const Generator *generator;
  int64_t chunks;
};
llvm::Expected<Found> find(llvm::StringRef name) {
  for (const Generator &generator : kGenerators)
    if (generator.chunks > 0 && generator.name == name)
      return Found{&generator, generator.chunks};
  llvm::StringRef number = name;
  if (number.consume_front(kChunksFollow) || name == kChunksFollow.drop_back()) {
    int64_t chunks = 0;
    if (number.getAsInteger(10, chunks) || chunks < 2 || chunks > kMostChunks)
      return fail("the schedule '" + name + "' needs a number of chunks from 2 to " + llvm::Twine(kMostChunks) + ", as in interleaved:2");
    return Found{llvm::find_if(kGenerators, [](const Generator &generator) { return generator.chunks == 0; }), chunks};
  }
  return fail("no pipeline schedule is called '" + name + "'; there are " + llvm::join(getScheduleNames(), ", "));
}

} // namespace

llvm::ArrayRef<llvm::StringRef> para::getScheduleNames() {
  static const auto names = llvm::map_to_vector(kGenerators, [](const Generator &generator) { return generator.name; });
  return names;
}

llvm::Error para::checkScheduleName(llvm::StringRef name) { return find(name).takeError(); }

int64_t para::getScheduleChunks(llvm::StringRef name) {
  auto found = find(name);
  if (found)
    return found->chunks;
  llvm::consumeError(found.takeError());
  return 1;
}

std::string para::listOneChunkSchedules() {
  llvm::SmallVector<llvm::StringRef> names;
  for (const Generator &generator : kGenerators)
    if (generator.chunks == 1)
      names.push_back(generator.name);
  return llvm::join(names, ", ");
}

bool para::isNaive(llvm::StringRef name) {
  auto schedule = makeSchedule(name, 1, 1);
  if (schedule)
    return schedule->stages.front().size() == 2; // a forward and a backward
  llvm::consumeError(schedule.takeError());
  return false;
}

llvm::Expected<Schedule> para::makeSchedule(llvm::StringRef name, int64_t stages, int64_t microbatches) {
  auto found = find(name);
  if (!found)
    return found.takeError();
  Schedule schedule;
  schedule.chunks = found->chunks;
  schedule.folded = found->generator->folded;
  for (int64_t stage = 0; stage < stages; ++stage) {
    List list;
    found->generator->make(list, stage, {stages, microbatches, found->chunks});
    schedule.stages.push_back(std::move(list.actions));
  }
  return schedule;
}
