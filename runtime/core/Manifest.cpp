//===- Manifest.cpp - Reading the manifest ------------------------------------===//
#include "Manifest.h"

#include "Json.h"
#include "Shard.h"

#include <algorithm>
#include <set>

namespace para::runtime {

static int64_t product(const std::vector<int64_t> &sizes) {
  int64_t total = 1;
  for (int64_t size : sizes)
    total *= size;
  return total;
}

int64_t Tensor::localElements() const { return product(local); }
int64_t Tensor::globalElements() const { return product(shape); }

int64_t Manifest::ranks() const {
  int64_t total = 1;
  for (const MeshAxis &axis : mesh)
    total *= axis.size;
  return total;
}

int Manifest::axisIndex(const std::string &name) const {
  for (size_t i = 0; i < mesh.size(); ++i)
    if (mesh[i].name == name)
      return int(i);
  return -1;
}

std::vector<int64_t> Manifest::coordinates(int64_t rank) const {
  std::vector<int64_t> result(mesh.size());
  for (size_t i = mesh.size(); i-- > 0;) {
    result[i] = rank % mesh[i].size;
    rank /= mesh[i].size;
  }
  return result;
}

int64_t Manifest::rankOf(const std::vector<int64_t> &coordinates) const {
  int64_t rank = 0;
  for (size_t i = 0; i < mesh.size(); ++i)
    rank = rank * mesh[i].size + coordinates[i];
  return rank;
}

std::vector<int64_t> Manifest::arenaBytesPerRank() const {
  std::vector<int64_t> bytes;
  for (int64_t rank = 0; rank < ranks(); ++rank)
    bytes.push_back(stages[size_t(stageOf(rank))].arenaBytes);
  return bytes;
}

int64_t Manifest::stageOf(int64_t rank) const {
  int axis = axisIndex("pipeline");
  return axis < 0 ? 0 : coordinates(rank)[axis];
}

std::vector<int64_t> Manifest::members(size_t index, int64_t rank) const {
  std::vector<int64_t> base = coordinates(rank);
  std::vector<int> axes;
  int64_t count = 1;
  for (const std::string &name : communicators[index]) {
    axes.push_back(axisIndex(name));
    count *= mesh[axes.back()].size;
  }
  std::vector<int64_t> result;
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    std::vector<int64_t> at = base;
    for (size_t k = axes.size(); k-- > 0;) {
      at[axes[k]] = rest % mesh[axes[k]].size;
      rest /= mesh[axes[k]].size;
    }
    result.push_back(rankOf(at));
  }
  return result;
}

static bool decodeBase64(const std::string &text, std::string &bytes) {
  static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  uint32_t word = 0;
  int bits = 0;
  for (char c : text) {
    if (c == '=')
      break;
    const char *at = c ? std::strchr(alphabet, c) : nullptr;
    if (!at)
      return false;
    word = (word << 6) | uint32_t(at - alphabet);
    if ((bits += 6) >= 8)
      bytes.push_back(char(word >> (bits -= 8)));
  }
  return true;
}

static void readDType(JsonReader &reader, const char *field, DType &dtype) {
  std::string name;
  reader.required(field, name);
  if (!name.empty() && !parseDType(name, dtype))
    reader.complain("has the unknown type '" + name + "'");
}

static Status readSource(const Json &json, const std::string &path, TensorSource &source) {
  JsonReader reader(json, path);
  std::string data;
  reader.optional("data", data);
  readDType(reader, "dtype", source.dtype);
  if (!data.empty()) {
    if (!decodeBase64(data, source.inlineBytes))
      reader.complain("'data' is not base64");
    source.bytes = int64_t(source.inlineBytes.size());
  } else if (reader.find("file", false)) {
    reader.required("file", source.file);
    reader.required("offset", source.offset);
    reader.required("bytes", source.bytes);
    reader.optional("file_bytes", source.fileBytes);
  }
  source.present = true;
  return reader.status();
}

/// Reads the entries of a list by `read(fields, entry)`; `path` names the reader's place in messages.
template <typename T, typename Read>
static Status readList(JsonReader &reader, const std::string &path, const char *field, bool isRequired, std::vector<T> &list, Read read) {
  for (const Json &item : reader.array(field, isRequired)) {
    T entry{};
    JsonReader fields(item, path + " " + field);
    read(fields, entry);
    PARA_TRY(fields.status());
    list.push_back(std::move(entry));
  }
  return Status::success();
}

static Status readIndexRanges(JsonReader &reader, const std::string &path, Tensor &tensor) {
  PARA_TRY(readList(reader, path, "index_ranges", false, tensor.indexRanges, [](JsonReader &fields, IndexRange &range) {
    fields.required("begin", range.begin);
    fields.required("end", range.end);
    fields.optional("exempt", range.exempt);
    fields.required("offsets", range.offsets);
    fields.required("sizes", range.sizes);
    fields.optional("node", range.node);
  }));
  for (const IndexRange &range : tensor.indexRanges)
    if (range.offsets.size() != tensor.shape.size() || range.sizes.size() != tensor.shape.size())
      return Status::error(path + " has index_ranges of another rank than its shape");
  return Status::success();
}

static Status readTensor(const Json &json, const Manifest &manifest, const std::string &path, Tensor &tensor) {
  static const std::pair<const char *, TensorKind> kinds[] = {
      {"parameter", TensorKind::Parameter}, {"state", TensorKind::State},   {"input", TensorKind::Input},
      {"hyper", TensorKind::Hyper},         {"output", TensorKind::Output}, {"gradient", TensorKind::Gradient}};
  JsonReader reader(json, path);
  reader.required("name", tensor.name);
  std::string kind;
  reader.required("kind", kind);
  auto found = std::find_if(std::begin(kinds), std::end(kinds), [&](auto &entry) { return kind == entry.first; });
  if (found == std::end(kinds))
    reader.complain("has the unknown kind '" + kind + "'");
  else
    tensor.kind = found->second;
  readDType(reader, "dtype", tensor.dtype);
  reader.required("shape", tensor.shape);
  reader.required("local", tensor.local);
  reader.required("offset", tensor.offset);
  reader.optional("stacked", tensor.stacked);
  reader.optional("units", tensor.units);
  reader.optional("blocks", tensor.blocks);
  reader.optional("trainable", tensor.trainable);
  reader.optional("primary", tensor.primary);
  reader.optional("buffer", tensor.buffer);
  reader.optional("optional", tensor.optional);
  reader.optional("initial", tensor.initial);
  for (const Json &dim : reader.array("dims", true)) {
    tensor.dims.emplace_back();
    if (!dim.is_array())
      return Status::error(path + " 'dims' is not a list of lists");
    for (const Json &axis : dim) {
      if (!axis.is_string() ||
          (manifest.axisIndex(axis.get<std::string>()) < 0 && axis.get<std::string>() != "microbatch"))
        return Status::error(path + " is cut by an axis that the mesh lacks");
      tensor.dims.back().push_back(axis.get<std::string>());
    }
  }
  PARA_TRY(reader.status());
  if (tensor.dims.size() != tensor.shape.size() || tensor.local.size() != tensor.shape.size())
    return Status::error(path + " has a shape, dims and local of different ranks");
  if (tensor.shape.size() > size_t(PARA_MAX_RANK))
    return Status::error(path + " has more dimensions than " + std::to_string(PARA_MAX_RANK));
  for (auto *list : {&tensor.units, &tensor.blocks})
    if (list->empty())
      list->assign(tensor.shape.size(), 1);
  if (tensor.units.size() != tensor.shape.size() || tensor.blocks.size() != tensor.shape.size())
    return Status::error(path + " has units or blocks of another rank than its shape");
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    int64_t unit = tensor.units[d], blocks = tensor.blocks[d];
    if (tensor.shape[d] < 0 || unit < 1 || blocks < 1 || unit > (int64_t(1) << 40) / blocks || tensor.shape[d] % (unit * blocks))
      return Status::error(path + format(" has no whole units and blocks in dimension %zu", d));
    if (tensor.local[d] != paddedSize(manifest, tensor, d))
      return Status::error(path + format(" has local size %lld in dimension %zu where its cuts give %lld",
                                         (long long)tensor.local[d], d, (long long)paddedSize(manifest, tensor, d)));
  }
  if (const Json *source = reader.find("source", false))
    PARA_TRY(readSource(*source, path + " source", tensor.source));
  PARA_TRY(readIndexRanges(reader, path, tensor));
  return reader.status();
}

static Status readActions(JsonReader &reader, const char *field, bool isRequired, std::vector<Action> &actions) {
  return readList(reader, "manifest:", field, isRequired, actions, [](JsonReader &fields, Action &action) {
    fields.required("segment", action.segment);
    fields.optional("microbatch", action.microbatch);
    fields.optional("slot", action.slot);
  });
}

static Status readStage(const Json &json, const Manifest &manifest, const std::string &path, Stage &stage) {
  JsonReader reader(json, path);
  reader.required("arena_bytes", stage.arenaBytes);
  reader.optional("slots", stage.slots);
  reader.optional("slot_bytes", stage.slotBytes);
  PARA_TRY(readActions(reader, "actions", true, stage.actions));
  PARA_TRY(readActions(reader, "evaluate", false, stage.evaluate));
  for (const Json &item : reader.array("tensors", true)) {
    Tensor tensor{};
    std::string name = item.is_object() && item.contains("name") && item["name"].is_string()
                           ? item["name"].get<std::string>()
                           : std::to_string(stage.tensors.size());
    PARA_TRY(readTensor(item, manifest, path + ": tensor '" + name + "'", tensor));
    if (tensor.offset < 0 || tensor.offset + tensor.stacked * tensor.localBytes() > stage.arenaBytes)
      return Status::error(path + ": tensor '" + tensor.name + "' lies outside of the arena");
    stage.tensors.push_back(std::move(tensor));
  }
  return reader.status();
}

static Status readInterfaces(JsonReader &reader, const char *field, std::vector<Interface> &list) {
  return readList(reader, "manifest:", field, false, list, [](JsonReader &fields, Interface &entry) {
    fields.required("name", entry.name);
    readDType(fields, "type", entry.type);
    fields.required("shape", entry.shape);
    fields.optional("trainable", entry.trainable);
  });
}

static Status readHyper(JsonReader &reader, Manifest &manifest) {
  PARA_TRY(readList(reader, "manifest:", "hyper", false, manifest.hyper, [](JsonReader &fields, std::pair<std::string, double> &number) {
    fields.required("name", number.first);
    fields.required("value", number.second);
  }));
  if (const Json *schedule = reader.find("schedule", false)) {
    JsonReader fields(*schedule, "manifest: schedule");
    fields.required("kind", manifest.schedule.kind);
    fields.optional("warmup", manifest.schedule.warmup);
    fields.optional("total", manifest.schedule.total);
    fields.optional("min", manifest.schedule.min);
    PARA_TRY(fields.status());
    static const std::set<std::string> kinds = {"constant", "linear", "cosine", "inverse-sqrt"};
    if (!kinds.count(manifest.schedule.kind))
      return Status::error("manifest: unknown schedule '" + manifest.schedule.kind + "'");
  }
  return Status::success();
}

/// Pairs of stages, [from, to], and then tags; stages are numbered along the axis 'pipeline'.
static Status readMessages(JsonReader &reader, Manifest &manifest) {
  int64_t stages = int64_t(manifest.stages.size());
  for (const Json &item : reader.array("messages", false)) {
    bool isPair = item.is_array() && item.size() >= 2 && std::all_of(item.begin(), item.end(), [](const Json &number) { return number.is_number_integer(); });
    int64_t from = isPair ? item[0].get<int64_t>() : -1, to = isPair ? item[1].get<int64_t>() : -1;
    if (from < 0 || to < 0 || from >= stages || to >= stages || from == to)
      return Status::error("manifest: 'messages' holds something other than pairs of stages");
    Manifest::Channel channel = {from, to, {}};
    for (size_t i = 2; i < item.size(); ++i)
      channel.tags.insert(item[i].get<int64_t>());
    manifest.channels.push_back(std::move(channel));
  }
  return Status::success();
}

Status parseManifest(const char *text, size_t bytes, Manifest &manifest) {
  Json json = Json::parse(text, text + bytes, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return Status::error("manifest: not JSON");
  JsonReader reader(json, "manifest:");
  int64_t version = 0;
  reader.required("version", version);
  if (version != 1)
    return Status::error("manifest: version " + std::to_string(version) + " where this runtime reads version 1");
  reader.required("model", manifest.model);
  reader.required("mode", manifest.mode);
  reader.optional("target", manifest.target);
  reader.optional("precision", manifest.precision);
  reader.optional("directory", manifest.directory);
  reader.optional("batch", manifest.batch);
  reader.optional("microbatches", manifest.microbatches);
  if (manifest.mode != "train" && manifest.mode != "infer")
    reader.complain("'mode' is neither train nor infer");
  if (manifest.batch < 0)
    reader.complain("'batch' is negative");
  if (manifest.microbatches < 1)
    reader.complain("'microbatches' is not positive");
  PARA_TRY(reader.status());
  PARA_TRY(readList(reader, "manifest:", "mesh", true, manifest.mesh, [](JsonReader &fields, MeshAxis &axis) {
    fields.required("name", axis.name);
    fields.required("size", axis.size);
  }));
  for (const MeshAxis &axis : manifest.mesh)
    if (axis.size < 1)
      return Status::error("manifest: mesh axis '" + axis.name + "' is empty");
  PARA_TRY(readList(reader, "manifest:", "communicators", false, manifest.communicators,
                    [](JsonReader &fields, std::vector<std::string> &axes) { fields.required("axes", axes); }));
  for (const std::vector<std::string> &axes : manifest.communicators)
    for (const std::string &axis : axes)
      if (manifest.axisIndex(axis) < 0)
        return Status::error("manifest: a communicator runs over '" + axis + "', which the mesh lacks");
  PARA_TRY(readHyper(reader, manifest));
  const Json &stages = reader.array("stages", true);
  for (size_t i = 0; i < stages.size(); ++i) {
    manifest.stages.emplace_back();
    PARA_TRY(readStage(stages[i], manifest, "manifest: stage " + std::to_string(i), manifest.stages.back()));
  }
  int pipeline = manifest.axisIndex("pipeline");
  if (int64_t(manifest.stages.size()) != (pipeline < 0 ? 1 : manifest.mesh[pipeline].size))
    return Status::error("manifest: the number of stages is not the size of the mesh axis 'pipeline'");
  PARA_TRY(readMessages(reader, manifest));
  PARA_TRY(readInterfaces(reader, "inputs", manifest.inputs));
  PARA_TRY(readInterfaces(reader, "outputs", manifest.outputs));
  PARA_TRY(readInterfaces(reader, "parameters", manifest.parameters));
  for (const Stage &stage : manifest.stages)
    for (const Tensor &tensor : stage.tensors) {
      if (tensor.kind != TensorKind::Input)
        continue;
      auto found = std::find_if(manifest.inputs.begin(), manifest.inputs.end(),
                                [&](const Interface &input) { return input.name == tensor.name; });
      if (found == manifest.inputs.end() || found->shape != tensor.shape)
        return Status::error("manifest: the input tensor '" + tensor.name + "' is not in 'inputs' with that shape");
    }
  if (const Json *plan = reader.find("plan", false))
    manifest.planJson = plan->dump();
  return reader.status();
}

} // namespace para::runtime
