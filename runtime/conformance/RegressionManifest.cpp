//===- RegressionManifest.cpp - Its layout and manifest ------------------------===//
#include "Program.h"
#include "Regression.h"

#include <nlohmann/json.hpp>

namespace para::conformance {

using Json = nlohmann::ordered_json;

Regression::Regression() {
  plan = settingText("PARA_TEST_PLAN", "replicated");
  ranks = setting("PARA_TEST_RANKS", 1);
  microbatches = setting("PARA_TEST_MICROBATCHES", 1);
  hasEvaluate = setting("PARA_TEST_EVALUATE", 0) != 0;
  isPipeline = plan == "pipeline";
  isSharded = plan == "sharded";
  dataRanks = isPipeline ? ranks / 2 : ranks;
  rows = ((batch + microbatches - 1) / microbatches + dataRanks - 1) / dataRanks;
  localFeatures = isSharded ? (features + dataRanks - 1) / dataRanks : features;
  auto place = [&](const char *name, int64_t elements) {
    offsets[name] = arenaBytes;
    arenaBytes += (elements * 8 + 63) / 64 * 64;
  };
  place("w", localFeatures);
  place("w/m", localFeatures);
  place("b", 1);
  place("b/m", 1);
  place("x", microbatches * rows * features);
  place("y", microbatches * rows);
  place("lr", 1);
  place("momentum", 1);
  place("loss", 1);
  place("grad_norm", 1);
  place("w.grad", localFeatures);
  place("b.grad", 1);
  place("w.full", localFeatures * dataRanks);
  place("w.grad.full", localFeatures * dataRanks);
  place("pred", microbatches * rows);
  place("dpred", microbatches * rows);
  arenaBytes += setting("PARA_TEST_EXTRA_BYTES", 0);
}

int64_t Regression::bytesSent(int64_t rank) const {
  int64_t n = dataRanks, part = localFeatures * 8;
  auto allReduce = [&](int64_t count) {
    // Our elements outside of our piece, and our piece to everyone else.
    int64_t index = rank % n, piece = count * (index + 1) / n - count * index / n;
    return 8 * (count - piece + (n - 1) * piece);
  };
  if (n == 1 && !isPipeline)
    return 0;
  if (isSharded) // gather of w, reductions of loss, b, w, and of the squared norm
    return 2 * (n - 1) * part + 3 * allReduce(1);
  if (isPipeline) {
    int64_t sent = microbatches * rows * 8;
    return n == 1 ? sent : sent + (rank / n == 0 ? allReduce(features) : 2 * allReduce(1));
  }
  return 2 * allReduce(1) + allReduce(features);
}

static Json tensor(const Regression &r, const char *name, const char *kind, Json shape, Json dims, Json local,
                   const char *at = nullptr) {
  return {{"name", name}, {"kind", kind}, {"dtype", "f64"},  {"shape", shape},
          {"dims", dims}, {"local", local}, {"offset", r.offsets.at(at ? at : name)}};
}

static Json stage(const Regression &r, int64_t index) {
  bool hasW = !r.isPipeline || index == 0, hasB = !r.isPipeline || index == 1;
  Json tensors = Json::array(), none = Json::array(), actions = Json::array();
  Json wDims = Json::array({r.isSharded ? Json::array({"data"}) : none});
  if (hasW) {
    for (auto [name, kind, at] : {std::tuple{"w", "parameter", "w"}, {"w/m", "state", "w/m"}, {"w", "gradient", "w.grad"}})
      tensors.push_back(tensor(r, name, kind, {r.features}, wDims, {r.localFeatures}, at));
    // 0.5 0.25 0 -0.25 -0.5 as f32: a source of another type than the tensor.
    tensors[0]["source"] = {{"data", "AAAAPwAAgD4AAAAAAACAvgAAAL8="}, {"dtype", "f32"}};
    tensors[0]["trainable"] = true;
    Json x = tensor(r, "x", "input", {r.batch, r.features}, {{"microbatch", "data"}, none}, {r.rows, r.features});
    x["stacked"] = r.microbatches;
    tensors.push_back(x);
  }
  if (hasB) {
    for (auto [name, kind, at] : {std::tuple{"b", "parameter", "b"}, {"b/m", "state", "b/m"}, {"b", "gradient", "b.grad"}})
      tensors.push_back(tensor(r, name, kind, none, none, none, at));
    tensors[tensors.size() - 3]["source"] = {{"data", "AADAPw=="}, {"dtype", "f32"}}; // 1.5
    Json y = tensor(r, "y", "input", {r.batch}, Json::array({{"microbatch", "data"}}), {r.rows});
    y["stacked"] = r.microbatches;
    tensors.push_back(y);
    tensors.push_back(tensor(r, "loss", "output", none, none, none));
  }
  if (!r.isPipeline)
    tensors.push_back(tensor(r, "grad_norm", "output", none, none, none));
  for (const char *name : {"lr", "momentum"})
    tensors.push_back(tensor(r, name, "hyper", none, none, none));
  auto add = [&](const char *segment, int64_t microbatch) {
    actions.push_back({{"segment", segment}, {"microbatch", microbatch}, {"slot", 0}});
  };
  add("prepare", 0);
  for (int64_t m = 0; m < r.microbatches; ++m)
    add(!r.isPipeline ? "both" : index == 0 ? "forward" : "loss", m);
  if (r.isPipeline && index == 0)
    for (int64_t m = 0; m < r.microbatches; ++m)
      add("backward", m);
  if (hasB)
    add("reduce_loss", 0);
  Json evaluate = actions;
  add("update", 0);
  Json result = {{"arena_bytes", r.arenaBytes}, {"slots", 1}, {"slot_bytes", 0}, {"actions", actions}};
  if (r.hasEvaluate)
    result["evaluate"] = evaluate;
  result["tensors"] = tensors;
  return result;
}

std::string Regression::manifest() const {
  Json none = Json::array(), mesh = Json::array();
  if (isPipeline)
    mesh.push_back({{"name", "pipeline"}, {"size", 2}});
  mesh.push_back({{"name", "data"}, {"size", dataRanks}});
  Json sent = Json::array();
  for (int64_t rank = 0; rank < ranks; ++rank)
    sent.push_back(bytesSent(rank));
  Json json = {{"version", 1},
               {"model", "regression"},
               {"mode", "train"},
               {"target", "host"},
               {"precision", "f64"},
               {"mesh", mesh},
               {"batch", batch},
               {"microbatches", microbatches},
               {"hyper", {{{"name", "lr"}, {"value", 0.05}}, {{"name", "momentum"}, {"value", 0.9}}}},
               {"schedule", {{"kind", "cosine"}, {"warmup", 2}, {"total", 20}, {"min", 0.001}}},
               {"communicators", {{{"axes", {"data"}}}}},
               {"stages", none},
               {"inputs",
                {{{"name", "x"}, {"type", "f64"}, {"shape", {batch, features}}},
                 {{"name", "y"}, {"type", "f64"}, {"shape", {batch}}}}},
               {"outputs", {{{"name", "loss"}, {"type", "f64"}, {"shape", none}}}},
               {"parameters",
                {{{"name", "w"}, {"type", "f64"}, {"shape", {features}}, {"trainable", true}},
                 {{"name", "b"}, {"type", "f64"}, {"shape", none}, {"trainable", true}}}},
               {"plan", {{"recipe", plan}, {"bytes_sent", sent}}}}; // what a run is held against
  for (int64_t i = 0; i < (isPipeline ? 2 : 1); ++i)
    json["stages"].push_back(stage(*this, i));
  return json.dump();
}

} // namespace para::conformance
