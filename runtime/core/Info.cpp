//===- Info.cpp - --help and --info -------------------------------------------===//
#include "Flags.h"

#include "Hyper.h"
#include "Json.h"

namespace para::runtime {

std::string helpText(const Manifest &manifest, const std::string &program) {
  std::string text = "usage: " + program + " [flags]\n\n" + manifest.model + ", compiled for " +
                     (manifest.isTraining() ? "training" : "inference") + " on " + std::to_string(manifest.ranks()) +
                     (manifest.ranks() == 1 ? " rank\n\n" : " ranks\n\n");
  if (manifest.isTraining()) {
    text += "  --data FILE            training set: .npz, folder of .npy or input_N.pb, or token file .u16\n"
            "  --steps N, --epochs N  train until step N of the run, or N times through the data (default: one epoch)\n"
            "  --batch B              samples a step; the compiled one is the default and the only one\n"
            "  --shuffle SEED|none    order of the samples (default none: in file order, going round)\n"
            "  --validate FILE        held-out data, with --validate-every N (default: at the end)\n"
            "  --save DIR             checkpoints, with --save-every N (default: at the end)\n"
            "  --metrics FILE         one JSON line a step\n";
    for (auto &[name, value] : manifest.hyper) {
      if (isDerivedNumber(name))
        continue;
      text += "  --" + name + " X" + std::string(name.size() < 18 ? 18 - name.size() : 1, ' ') + " default " +
              roundTrip(value) + "\n";
    }
  } else {
    text += "  --inputs FILE          .npz, or a folder of .npy or input_N.pb\n"
            "  --outputs FILE         results as .npz\n";
  }
  text += "  --load DIR             newest complete checkpoint\n"
          "  --init=KIND            file, normal:DEVIATION, kaiming, xavier, zeros; a list is tried in order\n"
          "  --seed S               of --init and of the program's random numbers\n"
          "  --repeat N, --warmup N time the program; --json for machines\n"
          "  --ranks N, --threads T ranks (as compiled) and threads a rank (default: cores / ranks)\n"
          "  --trace FILE           Perfetto trace of all ranks\n"
          "  --progress=WHEN        auto, always, never\n"
          "  --verbose              also tell how steps ran, and what memory libraries took\n"
          "  --dump-state FILE      parameters, states and outputs at the end, as .npz\n";
  if (manifest.isTraining())
    text += "  --dump-grads FILE      gradients of the first step, as .npz\n";
  return text + "  --info[=json]          inputs, outputs, parameters and the plan\n";
}

static Json listInterfaces(const std::vector<Interface> &list, bool areParameters) {
  Json result = Json::array();
  for (const Interface &entry : list) {
    Json item = {{"name", entry.name}, {"type", dtypeName(entry.type)}, {"shape", entry.shape}};
    if (areParameters)
      item["trainable"] = entry.trainable;
    result.push_back(item);
  }
  return result;
}

std::string infoJson(const Manifest &manifest) {
  Json json;
  json["model"] = manifest.model;
  json["mode"] = manifest.mode;
  json["target"] = manifest.target;
  json["precision"] = manifest.precision;
  json["batch"] = manifest.batch;
  json["microbatches"] = manifest.microbatches;
  json["ranks"] = manifest.ranks();
  for (const MeshAxis &axis : manifest.mesh)
    json["mesh"][axis.name] = axis.size;
  json["inputs"] = listInterfaces(manifest.inputs, false);
  json["outputs"] = listInterfaces(manifest.outputs, false);
  json["parameters"] = listInterfaces(manifest.parameters, true);
  json["plan"] = Json::parse(manifest.planJson, nullptr, false);
  json["arena_bytes"] = manifest.arenaBytesPerRank();
  json["peak_bytes"] = manifest.arenaBytesPerRank(); // a rank takes its arena at the start, and nothing else for tensors
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// "zero1 x zb-v + full recomputation": what the plan is called, and what its name leaves out.
static std::string describePlan(const Manifest &manifest) {
  Json plan = Json::parse(manifest.planJson, nullptr, false);
  if (!plan.is_object())
    return "";
  auto text = [&](const char *key) { return plan.contains(key) && plan[key].is_string() ? plan[key].get<std::string>() : std::string(); };
  std::string described = text("recipe");
  auto add = [&](const std::string &part) { described += (described.empty() ? "" : ", ") + part; };
  int pipeline = manifest.axisIndex("pipeline");
  if (std::string schedule = text("schedule"); pipeline >= 0 && manifest.mesh[size_t(pipeline)].size > 1 && described.find(schedule) == std::string::npos)
    add("microbatches by " + schedule);
  if (plan.contains("zero") && plan["zero"].is_number_integer() && plan["zero"] > 0 && described.find("zero") == std::string::npos)
    add("ZeRO " + std::to_string(plan["zero"].get<int>()));
  if (std::string recompute = text("recompute"); !recompute.empty() && recompute != "none" && described.find("recomputation") == std::string::npos)
    add(recompute + " recomputation");
  return described;
}

std::string infoText(const Manifest &manifest) {
  std::string text = "model       " + manifest.model + " (" + manifest.mode + ", " + manifest.target + ", " +
                     manifest.precision + ")\nmesh       ";
  for (const MeshAxis &axis : manifest.mesh)
    text += " " + axis.name + "=" + std::to_string(axis.size);
  text += "\nbatch       " + std::to_string(manifest.batch) + " in " + std::to_string(manifest.microbatches) +
          (manifest.microbatches == 1 ? " microbatch\n" : " microbatches\n");
  if (std::string plan = describePlan(manifest); !plan.empty())
    text += "plan        " + plan + "\n";
  auto list = [&](const char *title, const std::vector<Interface> &entries, bool areParameters) {
    text += std::string(title) + "\n";
    for (const Interface &entry : entries)
      text += "  " + entry.name + "  " + dtypeName(entry.type) + shapeText(entry.shape) +
              (areParameters && !entry.trainable ? "  frozen" : "") + "\n";
  };
  list("inputs", manifest.inputs, false);
  list("outputs", manifest.outputs, false);
  list("parameters", manifest.parameters, true);
  std::vector<int64_t> arenas = manifest.arenaBytesPerRank();
  text += "rank  arena bytes\n";
  for (size_t rank = 0; rank < arenas.size(); ++rank)
    text += format("%4zu  %11lld\n", rank, (long long)arenas[rank]);
  return text;
}

} // namespace para::runtime
