#include "para/Plan/Plan.h"
#include "para/Cost/Machine.h"
#include "para/Plan/Recipes.h"
#include "para/Schedule/Schedule.h"
#include "para/Support/JsonFile.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace para;

static constexpr PlanAxis kAxes[] = {
    {"pipeline", &Plan::pipeline}, {"data", &Plan::data}, {"expert", &Plan::expert}, {"context", &Plan::context}, {"tensor", &Plan::tensor},
};
static constexpr llvm::StringLiteral kReplicaAxes[] = {"data", "expert", "context"};

ArrayRef<PlanAxis> para::getPlanAxes() { return kAxes; }
ArrayRef<llvm::StringLiteral> para::getReplicaAxes() { return kReplicaAxes; }

bool para::isGatheredAxis(StringRef axis) { return axis == "data" || axis == "context"; }

const PlanAxis *para::findPlanAxis(StringRef name) {
  const PlanAxis *axis = llvm::find_if(kAxes, [&](const PlanAxis &axis) { return axis.name == name; });
  return axis == std::end(kAxes) ? nullptr : axis;
}

std::set<std::string> para::getShardAxes(const std::map<std::string, std::string> &shards) {
  std::set<std::string> axes;
  for (const auto &[name, text] : shards)
    if (auto constraint = parseConstraint(text); !constraint)
      llvm::consumeError(constraint.takeError()); // reported where it is applied
    else
      for (const auto &dim : constraint->dims)
        if (dim)
          axes.insert(dim->axes.begin(), dim->axes.end());
  return axes;
}

std::string para::findMissingAxis(const Plan &plan, const std::set<std::string> &axes, const std::map<std::string, int64_t> &given) {
  for (const std::string &name : axes)
    if (const PlanAxis *axis = findPlanAxis(name); axis && plan.*axis->size == 1 && !given.count(name))
      return name;
  return "";
}

std::string para::listPlanAxes() { return "data, expert, context, tensor, pipeline"; }

/// Axes that most plans have are written in any case.
static bool isUsual(const PlanAxis &axis) { return axis.name != "expert" && axis.name != "context"; }

int64_t Plan::getNumStages() const { return pipeline > 1 ? pipeline * getScheduleChunks(schedule) : 1; }

MeshAttr Plan::getMesh(MLIRContext *ctx) const {
  Builder builder(ctx);
  SmallVector<StringRef> names;
  SmallVector<int64_t> sizes;
  for (const PlanAxis &axis : kAxes)
    if (isUsual(axis) || this->*axis.size > 1) {
      names.push_back(axis.name);
      sizes.push_back(this->*axis.size);
    }
  names.push_back(kMicrobatch);
  sizes.push_back(microbatches);
  return MeshAttr::get(ctx, builder.getStrArrayAttr(names), builder.getDenseI64ArrayAttr(sizes));
}

std::string Plan::getMeshText(StringRef separator) const {
  std::string text;
  for (StringRef name : {"data", "expert", "context", "tensor", "pipeline"})
    if (const PlanAxis *axis = findPlanAxis(name); isUsual(*axis) || this->*axis->size > 1)
      text += (text.empty() ? "" : separator.str()) + name.str() + "=" + std::to_string(this->*axis->size);
  return text;
}

llvm::json::Object Plan::getMeshJson() const {
  llvm::json::Object object;
  for (const PlanAxis &axis : kAxes)
    if (isUsual(axis) || this->*axis.size > 1)
      object[axis.name] = this->*axis.size;
  return object;
}

llvm::json::Object Plan::toJson() const {
  llvm::json::Object mesh = getMeshJson();
  for (const std::string &axis : getShardAxes(shards)) // be they 1
    mesh[axis] = this->*findPlanAxis(axis)->size;
  llvm::json::Object object{{"version", 1},
                            {"recipe", recipe},
                            {"mesh", std::move(mesh)},
                            {"zero", zero},
                            {"microbatches", microbatches},
                            {"schedule", schedule},
                            {"recompute", recompute},
                            {"sequence_parallel", sequenceParallel},
                            {"bucket_bytes", bucketBytes}};
  if (!shards.empty()) {
    llvm::json::Object list;
    for (const auto &[name, text] : shards)
      list[name] = text;
    object["shard"] = std::move(list);
  }
  if (!stages.empty()) {
    llvm::json::Object list;
    for (const auto &[node, stage] : stages)
      list[node] = stage;
    object["stages"] = std::move(list);
  }
  return object;
}

static llvm::Error fail(const llvm::Twine &message) { return llvm::createStringError(llvm::inconvertibleErrorCode(), message); }

llvm::Expected<Plan> Plan::fromJson(const llvm::json::Value &value) {
  const llvm::json::Object *object = value.getAsObject();
  if (!object)
    return fail("a plan is a JSON object");
  Plan plan;
  if (llvm::Error error = checkKeys(*object, "a plan", {"version", "recipe", "mesh", "zero", "microbatches", "schedule", "recompute", "sequence_parallel", "bucket_bytes", "shard", "stages"}))
    return std::move(error);
  for (llvm::StringRef key : {"mesh", "shard", "stages"})
    if (const llvm::json::Value *entry = object->get(key); entry && entry->kind() != llvm::json::Value::Object)
      return fail("'" + key + "' of the plan must be an object");
  if (const llvm::json::Value *entry = object->get("recipe"); entry && entry->kind() != llvm::json::Value::String)
    return fail("'recipe' of the plan must be a name");
  auto version = object->getInteger("version");
  if (!version || *version != 1)
    return fail("a plan of version 1 is expected");
  plan.recipe = object->getString("recipe").value_or("file").str();
  auto read = [&](const llvm::json::Object &from, llvm::StringRef key, int64_t &target) -> llvm::Error {
    const llvm::json::Value *entry = from.get(key);
    if (!entry)
      return llvm::Error::success();
    auto number = entry->getAsInteger();
    if (!number || *number < 1 || *number > kMostRanks)
      return fail("'" + key + "' of the plan must be a whole number from 1 on");
    target = *number;
    return llvm::Error::success();
  };
  if (const llvm::json::Object *mesh = object->getObject("mesh"))
    for (const auto &[key, size] : *mesh) {
      const PlanAxis *axis = findPlanAxis(llvm::StringRef(key));
      if (!axis)
        return fail("the axis '" + llvm::StringRef(key) + "' of the plan's mesh is not known; there are " + listPlanAxes());
      if (llvm::Error error = read(*mesh, axis->name, plan.*axis->size))
        return std::move(error);
    }
  if (llvm::Error error = read(*object, "microbatches", plan.microbatches))
    return std::move(error);
  if (const llvm::json::Value *value = object->get("zero")) {
    auto number = value->getAsInteger();
    if (!number || *number < 0 || *number > 3)
      return fail("'zero' of the plan must be 0 to 3");
    plan.zero = int(*number);
  }
  plan.schedule = object->getString("schedule").value_or("1f1b").str();
  if (const llvm::json::Value *value = object->get("schedule"); value && value->kind() != llvm::json::Value::String)
    return fail("'schedule' of the plan must be a name");
  if (llvm::Error error = checkScheduleName(plan.schedule))
    return std::move(error);
  if (const llvm::json::Value *value = object->get("recompute")) {
    plan.recompute = value->getAsString().value_or("").str();
    if (!llvm::is_contained(getRecomputeNames(), plan.recompute))
      return fail("'recompute' of the plan must be one of " + llvm::join(getRecomputeNames(), ", "));
  }
  if (const llvm::json::Value *value = object->get("sequence_parallel")) {
    auto flag = value->getAsBoolean();
    if (!flag)
      return fail("'sequence_parallel' of the plan must be true or false");
    plan.sequenceParallel = *flag;
  }
  if (plan.sequenceParallel && plan.tensor == 1)
    return fail("'sequence_parallel' of the plan needs a mesh with tensor > 1");
  if (const llvm::json::Value *bytes = object->get("bucket_bytes")) {
    auto number = bytes->getAsInteger();
    if (!number || *number < 0)
      return fail("'bucket_bytes' of the plan must be a whole number from 0 on");
    plan.bucketBytes = *number;
  }
  if (const llvm::json::Object *shards = object->getObject("shard"))
    for (const auto &[name, value] : *shards) {
      auto text = value.getAsString();
      if (!text)
        return fail("what 'shard' of the plan asks of '" + llvm::StringRef(name) + "' is no text");
      if (auto constraint = parseConstraint(*text); !constraint)
        return constraint.takeError();
      std::map<std::string, int64_t> given;
      if (const llvm::json::Object *mesh = object->getObject("mesh"))
        for (const auto &[axis, size] : *mesh)
          given[llvm::StringRef(axis).str()] = 1;
      if (std::string axis = findMissingAxis(plan, getShardAxes({{"", text->str()}}), given); !axis.empty())
        return fail("'shard' of the plan cuts '" + llvm::StringRef(name) + "' over " + axis + ", which its mesh does not have");
      plan.shards[llvm::StringRef(name).str()] = text->str();
    }
  if (const llvm::json::Object *stages = object->getObject("stages"))
    for (const auto &[node, stage] : *stages) {
      auto number = stage.getAsInteger();
      if (!number)
        return fail("the stage of '" + llvm::StringRef(node) + "' is not a number");
      if (*number < 0 || *number >= plan.getNumStages())
        return fail("'" + llvm::StringRef(node) + "' is on stage " + llvm::Twine(*number) + ", and stages of the plan's mesh are 0 to " +
                    llvm::Twine(plan.getNumStages() - 1) + " ('pipeline')");
      plan.stages[llvm::StringRef(node).str()] = *number;
    }
  if (llvm::Error error = checkRecipeWords(plan.recipe, plan, [&](llvm::StringRef key) { return object->get(key) != nullptr; }))
    return std::move(error);
  return plan;
}
