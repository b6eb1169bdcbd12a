#include "PlanFlags.h"
#include "para/Schedule/Schedule.h"
#include "para/Support/JsonFile.h"

#include "llvm/ADT/StringExtras.h"

using namespace para;
using llvm::StringRef;
using llvm::Twine;

namespace {
llvm::Error fail(const Twine &message) { return llvm::createStringError(llvm::inconvertibleErrorCode(), message); }

int64_t getSize(const Plan &plan, StringRef axis) {
  const PlanAxis *known = findPlanAxis(axis);
  return known ? plan.*known->size : 1;
}

bool isTheSame(StringRef a, StringRef b) { return llvm::cantFail(parseConstraint(a)) == llvm::cantFail(parseConstraint(b)); } // checked as they were read

//===----------------------------------------------------------------------===//
// What flags fix of a plan, and what it has
//===----------------------------------------------------------------------===//

struct Asked {
  std::string flag, there;
  bool agrees;
};

std::vector<Asked> listAsked(const Plan &plan, const DriverOptions &options) {
  std::vector<Asked> asked;
  for (const auto &[name, size] : options.mesh)
    asked.push_back({"--mesh " + name + "=" + std::to_string(size), std::to_string(getSize(plan, name)), getSize(plan, name) == size});
  if (options.microbatches > 0)
    asked.push_back({"--microbatches " + std::to_string(options.microbatches), std::to_string(plan.microbatches), options.microbatches == plan.microbatches});
  if (options.zero >= 0)
    asked.push_back({"--zero=" + std::to_string(options.zero), std::to_string(plan.zero), options.zero == plan.zero});
  if (!options.recompute.empty() && !(options.recompute == "auto" && !isPlanFile(options)))
    asked.push_back({"--recompute=" + options.recompute, plan.recompute, options.recompute == plan.recompute});
  if (!options.schedule.empty())
    asked.push_back({"--pipeline-schedule=" + options.schedule, plan.schedule, options.schedule == plan.schedule});
  if (options.sequenceParallel)
    asked.push_back({"--sequence-parallel", "none", plan.sequenceParallel});
  if (options.noSequenceParallel)
    asked.push_back({"--sequence-parallel=off", "it", !plan.sequenceParallel});
  if (options.evenStages)
    asked.push_back({"--stages=even", "stages of its own", plan.stages.empty()});
  for (const auto &[name, text] : options.shards)
    if (auto it = plan.shards.find(name); it != plan.shards.end())
      asked.push_back({"--shard '" + name + "=" + text + "'", it->second + " there", isTheSame(text, it->second)});
  return asked;
}

/// "--mesh expert=2": the plan's own mesh, as it may be typed.
std::string describeMeshFlag(const Plan &plan) {
  std::string text;
  for (const PlanAxis &axis : getPlanAxes())
    if (plan.*axis.size > 1)
      text += (text.empty() ? "--mesh " : ",") + axis.name.str() + "=" + std::to_string(plan.*axis.size);
  return text;
}

llvm::Error checkAsked(const Plan &plan, const DriverOptions &options) {
  for (const Asked &asked : listAsked(plan, options))
    if (!asked.agrees) {
      bool hasOther = isPlanFile(options) || StringRef(asked.flag).starts_with("--mesh") || plan.getNumRanks() == 1;
      std::string byHand = hasOther ? "" : ", or give the mesh by hand (" + describeMeshFlag(plan) + " " + asked.flag + ")";
      return fail(asked.flag + " contradicts --plan=" + options.plan + ", which has " + asked.there + ": leave one of them out" + byHand);
    }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// What does nothing under a plan
//===----------------------------------------------------------------------===//

/// A flag that works along axes of the mesh, and does nothing where the plan has one rank of each.
struct Along {
  std::string flag;
  std::vector<StringRef> axes; ///< the usual one first
  StringRef use;               ///< of their ranks
  StringRef rest = "the flag"; ///< what else may be left out
};

std::vector<Along> listAlong(const Plan &plan, const DriverOptions &options) {
  std::vector<Along> flags;
  bool isFile = isPlanFile(options); // with which flags agree
  if (options.zero > 0 && !isFile)
    flags.push_back({"--zero=" + std::to_string(options.zero), {"data", "expert", "context"}, "cut over"});
  if (!options.schedule.empty() && !isFile)
    flags.push_back({"--pipeline-schedule=" + options.schedule, {"pipeline"}, "order microbatches of"});
  if (options.evenStages)
    flags.push_back({"--stages=even", {"pipeline"}, "have stages"});
  for (const auto &[name, text] : options.shards)
    if (!isFile || !plan.shards.count(name))
      for (const std::string &axis : getShardAxes({{name, text}}))
        flags.push_back({"--shard '" + name + "=" + text + "'", {findPlanAxis(axis)->name}, "cut it over", "the axis"});
  return flags;
}

/// An error where a flag does nothing under the plan. Where that is because a size of 1 was given, a note.
llvm::Error checkAlong(const Plan &plan, const DriverOptions &options, std::vector<std::string> &notes) {
  bool isOneRank = plan.getNumRanks() == 1, isOneGiven = isOneRank && (options.ranks == 1 || !options.machine.empty());
  auto tell = [&](bool isOnPurpose, const Twine &flag, const Twine &why, const Twine &wayOut) -> llvm::Error {
    if (!isOnPurpose)
      return fail(flag + ": " + why + ": " + wayOut);
    if (std::string note = (flag + " does nothing here: " + why + ", as was asked").str(); !llvm::is_contained(notes, note))
      notes.push_back(std::move(note));
    return llvm::Error::success();
  };
  if (isOneRank && options.plan != "auto" && !isPlanFile(options))
    if (llvm::Error error = tell(isOneGiven || !options.mesh.empty(), "--plan=" + options.plan, "the recipe spreads the model over ranks, and there is one",
                                 "give more (--ranks N, or --machine SPEC), or leave the recipe out"))
      return error;
  for (const Along &along : listAlong(plan, options)) {
    if (llvm::any_of(along.axes, [&](StringRef axis) { return getSize(plan, axis) > 1; }))
      continue;
    bool isOnPurpose = isOneGiven || llvm::any_of(along.axes, [&](StringRef axis) { return options.mesh.count(axis.str()) > 0; });
    if (llvm::Error error = tell(isOnPurpose, along.flag, "the mesh (" + plan.getMeshText() + ") has no ranks of " + llvm::join(along.axes, ", ") + " to " + along.use,
                                 "give some (--mesh " + along.axes.front() + "=N), or leave " + along.rest + " out"))
      return error;
  }
  return llvm::Error::success();
}

/// What the model's annotations ask of the mesh, of values and of stages.
llvm::Error checkAnnotated(const Plan &plan, const DriverOptions &options) {
  if (options.configuration.empty())
    return llvm::Error::success();
  auto differ = [&](const Twine &what, const Twine &asked, const Twine &there) {
    return fail("--plan=" + options.plan + " has " + what + there + ", which contradicts the model's annotations ('" +
                options.configuration + "'): " + asked + "; --ignore-annotations leaves them out");
  };
  for (const auto &[name, size] : options.mesh)
    if (getSize(plan, name) != size)
      return differ(name + "=", Twine(size), Twine(getSize(plan, name)));
  for (const auto &[name, text] : options.shards)
    if (auto it = plan.shards.find(name); it != plan.shards.end() && !isTheSame(it->second, text))
      return differ("'" + name + "' as ", text, it->second);
  for (const auto &[node, stage] : options.stages)
    if (auto it = plan.stages.find(node); it != plan.stages.end() && it->second != stage)
      return differ("'" + node + "' on stage ", Twine(stage), Twine(it->second));
  return llvm::Error::success();
}
} // namespace

llvm::Expected<Plan> para::readPlan(StringRef path) {
  auto json = readJsonFile("plan", path);
  if (!json)
    return json.takeError();
  auto plan = Plan::fromJson(*json);
  if (!plan)
    return fail("the plan '" + path + "': " + llvm::toString(plan.takeError()));
  return plan;
}

llvm::Expected<int64_t> para::getAskedRanks(const DriverOptions &options) {
  int64_t asked = options.ranks;
  std::string flag = "--ranks " + std::to_string(asked) + " asks for others";
  if (!options.machine.empty()) {
    auto machine = Machine::get(options.machine);
    if (!machine)
      return machine.takeError();
    asked = machine->getNumRanks();
    flag = "--machine=" + options.machine + " has " + std::to_string(asked);
    if (options.ranks > 0 && options.ranks != asked)
      return fail("--ranks " + Twine(options.ranks) + " contradicts --machine=" + options.machine + ", which has " + Twine(asked) + " devices: leave one of them out");
  }
  if (isPlanFile(options)) {
    auto plan = readPlan(options.plan);
    if (!plan)
      return plan.takeError();
    if (asked > 0 && asked != plan->getNumRanks())
      return fail("--plan=" + options.plan + " is for " + Twine(plan->getNumRanks()) + " ranks, and " + flag + ": leave one of them out");
    return plan->getNumRanks();
  }
  if (asked == 0)
    for (const auto &[axis, size] : options.mesh) // within bounds, each and together: checkMesh()
      asked = std::max<int64_t>(1, asked) * size;
  if (asked > kMostRanks)
    return fail(Twine(asked) + " ranks are asked for (--ranks, --machine); the most is " + Twine(kMostRanks));
  return asked;
}

PlanRequest para::makeRequest(const DriverOptions &options, const Machine &machine, int64_t ranks, int64_t batch) {
  PlanRequest request;
  request.ranks = ranks;
  request.batch = batch;
  request.train = options.train;
  request.microbatches = options.microbatches;
  request.bucketBytes = machine.getBucketBytes();
  request.zero = options.zero;
  request.schedule = options.schedule;
  request.recompute = options.recompute;
  request.sequenceParallel = options.sequenceParallel;
  request.noSequenceParallel = options.noSequenceParallel;
  request.evenStages = options.evenStages;
  request.oneStageARank = options.emit == "onnx"; // which has no words for more
  request.mesh = options.mesh;
  request.shards = options.shards;
  request.stages = options.stages;
  return request;
}

llvm::Expected<Plan> para::settlePlan(Plan plan, const DriverOptions &options, int64_t batch, std::vector<std::string> &notes) {
  if (llvm::Error error = checkAnnotated(plan, options))
    return std::move(error);
  if (options.sequenceParallel && plan.tensor == 1)
    return fail("--sequence-parallel: the plan has no tensor-parallel ranks (--plan=tensor, or --mesh tensor=N with N > 1)");
  if (options.plan != "auto")
    if (llvm::Error error = checkAsked(plan, options))
      return std::move(error);
  if (llvm::Error error = checkAlong(plan, options, notes))
    return std::move(error);
  if (llvm::Error error = checkBatch(plan, options, batch))
    return std::move(error);
  plan.shards.insert(options.shards.begin(), options.shards.end());
  plan.stages.insert(options.stages.begin(), options.stages.end());
  return plan;
}

std::vector<std::string> para::findIdleFlags(const Plan &plan, const DriverOptions &options) {
  std::vector<std::string> notes;
  if (llvm::Error error = checkAlong(plan, options, notes))
    notes.push_back(llvm::toString(std::move(error)));
  if (!options.schedule.empty() && plan.pipeline > 1 && plan.microbatches == 1 && isNaive(plan.schedule))
    notes.push_back("--pipeline-schedule=" + options.schedule + " does nothing here: one microbatch has no order; --microbatches M gives more");
  return notes;
}

llvm::Error para::checkBatch(const std::optional<Plan> &plan, const DriverOptions &options, int64_t batch) {
  int64_t microbatches = plan ? plan->microbatches : options.microbatches;
  if (microbatches <= batch)
    return llvm::Error::success();
  std::string whose = plan ? "--plan=" + options.plan + " has " + std::to_string(microbatches) + " microbatches" : "--microbatches " + std::to_string(microbatches);
  return fail(whose + ": a batch of " + Twine(batch) + " cannot run in so many; at most " + Twine(batch) + ", or a larger batch (--dim batch=N)");
}
