//===- Manifest.cpp - What the runtime is told of a program ---------------===//
#include "Manifest.h"

#include "DType.h"

#include "para/IR/Program.h"
#include "para/Lower/Rt.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace para;
namespace json = llvm::json;

std::string para::segmentName(int64_t stage, ChunkPhase phase) {
  return "stage" + std::to_string(stage) + (phase.chunk ? ".chunk" + std::to_string(phase.chunk) : "") + "." + stringifyPhase(phase.phase).str();
}

static json::Array integers(ArrayRef<int64_t> values) {
  json::Array list;
  for (int64_t v : values)
    list.push_back(v);
  return list;
}

static json::Array axisNames(ArrayAttr axes) {
  json::Array list;
  for (Attribute axis : axes)
    list.push_back(cast<StringAttr>(axis).getValue().str());
  return list;
}

static json::Array describeIndexRanges(ArrayAttr ranges) {
  json::Array list;
  for (Attribute entry : ranges) {
    auto range = cast<IndexRangeAttr>(entry);
    list.push_back(json::Object{{"begin", range.getBegin()}, {"end", range.getEnd()}, {"exempt", integers(range.getExempt())},
                                {"offsets", integers(range.getOffsets())}, {"sizes", integers(range.getSizes())},
                                {"node", range.getNode().getValue().str()}});
  }
  return list;
}

static std::optional<json::Object> describeTensor(func::FuncOp func, Type type, DictionaryAttr attributes, Location loc) {
  auto local = cast<RankedTensorType>(type), global = local;
  json::Object tensor;
  const char *dtype = dtypeName(local.getElementType());
  if (!dtype) {
    emitError(loc) << "the runtime has no element type " << local.getElementType();
    return std::nullopt;
  }
  if (auto attr = attributes.getAs<TypeAttr>("para.global"))
    global = cast<RankedTensorType>(attr.getValue());
  auto name = attributes.getAs<StringAttr>("para.name");
  auto address = attributes.getAs<rt::AddressAttr>("rt.address");
  tensor["name"] = name ? name.getValue().str() : "";
  tensor["dtype"] = dtype;
  tensor["shape"] = integers(global.getShape());
  tensor["local"] = integers(local.getShape());
  tensor["offset"] = address.getOffset();
  json::Array dims;
  auto sharding = attributes.getAs<ShardingAttr>("para.sharding");
  for (int64_t d = 0; d < global.getRank(); ++d)
    dims.push_back(sharding ? axisNames(cast<ArrayAttr>(sharding.getDims()[d])) : json::Array());
  tensor["dims"] = std::move(dims);
  if (sharding) {
    auto ones = [](ArrayRef<int64_t> list) { return llvm::all_of(list, [](int64_t v) { return v == 1; }); };
    if (!ones(sharding.getUnits().asArrayRef()))
      tensor["units"] = integers(sharding.getUnits().asArrayRef());
    if (!ones(sharding.getBlocks().asArrayRef()))
      tensor["blocks"] = integers(sharding.getBlocks().asArrayRef());
  }
  if (auto trainable = attributes.getAs<BoolAttr>("para.trainable"))
    tensor["trainable"] = trainable.getValue();
  else if (attributes.getAs<UnitAttr>("para.trainable"))
    tensor["trainable"] = true;
  if (auto source = attributes.getAs<SourceAttr>("para.source")) {
    const char *stored = dtypeName(source.getElementType());
    tensor["source"] = json::Object{{"file", source.getFile().getValue().str()}, {"offset", source.getOffset()}, {"bytes", source.getBytes()},
                                    {"dtype", stored ? stored : dtype}};
  }
  if (auto ranges = attributes.getAs<ArrayAttr>("para.index_ranges"))
    tensor["index_ranges"] = describeIndexRanges(ranges);
  if (attributes.contains("para.optional"))
    tensor["optional"] = true;
  if (auto initial = attributes.getAs<FloatAttr>("para.initial"))
    tensor["initial"] = initial.getValueAsDouble();
  else if (auto number = attributes.getAs<IntegerAttr>("para.initial"))
    tensor["initial"] = number.getInt();
  return tensor;
}

static FailureOr<json::Object> describeStage(func::FuncOp func, int64_t stage, int64_t microbatches, llvm::StringMap<int64_t> &primary) {
  auto integer = [&](StringRef name) { return func->getAttrOfType<IntegerAttr>(name).getInt(); };
  json::Object result{{"arena_bytes", integer("rt.arena_bytes")}, {"slots", integer("rt.slots")}, {"slot_bytes", integer("rt.slot_bytes")}};
  json::Array actions, tensors;
  for (Attribute entry : func->getAttrOfType<ArrayAttr>("rt.actions")) {
    auto triple = cast<ArrayAttr>(entry);
    actions.push_back(json::Object{{"segment", segmentName(stage, getChunkPhase(triple[0]))},
                                   {"microbatch", cast<IntegerAttr>(triple[1]).getInt()}, {"slot", cast<IntegerAttr>(triple[2]).getInt()}});
  }
  for (unsigned i = 0; i < func.getNumArguments(); ++i) {
    auto tensor = describeTensor(func, func.getArgument(i).getType(), func.getArgAttrDict(i), func.getArgument(i).getLoc());
    if (!tensor)
      return failure();
    StringRef kind = getArgKind(func, i);
    (*tensor)["kind"] = kind == "buffer" ? "state" : kind.str();
    if (kind == "buffer")
      (*tensor)["buffer"] = true;
    if (kind == "parameter" || kind == "buffer" || kind == "state")
      (*tensor)["primary"] = primary.try_emplace(getArgName(func, i), stage).first->second == stage;
    if (kind == "input")
      (*tensor)["stacked"] = microbatches;
    tensors.push_back(std::move(*tensor));
  }
  for (unsigned i = 0; i < func.getNumResults(); ++i) {
    StringRef kind = getResultKind(func, i);
    if (kind == "update")
      continue;
    auto tensor = describeTensor(func, func.getResultTypes()[i], func.getResultAttrDict(i), func.getLoc());
    if (!tensor)
      return failure();
    (*tensor)["kind"] = kind.str();
    if (func.getResultAttrOfType<rt::AddressAttr>(i, "rt.address").getBlock())
      (*tensor)["stacked"] = microbatches;
    tensors.push_back(std::move(*tensor));
  }
  result["actions"] = std::move(actions);
  result["tensors"] = std::move(tensors);
  return result;
}

/// How large the files of the weights are: one of another size is not the one that the offsets were read from.
static void noteFileSizes(json::Array &stages, StringRef directory) {
  llvm::StringMap<uint64_t> sizes;
  for (json::Value &stage : stages)
    for (json::Value &tensor : *stage.getAsObject()->getArray("tensors")) {
      json::Object *source = tensor.getAsObject()->getObject("source");
      std::optional<StringRef> file = source ? source->getString("file") : std::nullopt;
      if (!file || file->empty())
        continue;
      auto [known, isNew] = sizes.try_emplace(*file, 0);
      llvm::SmallString<256> path(*file);
      llvm::sys::path::make_absolute(directory, path);
      if (isNew && llvm::sys::fs::file_size(path, known->second))
        known->second = 0;
      if (known->second)
        (*source)["file_bytes"] = int64_t(known->second);
    }
}

LogicalResult para::writeManifest(ModuleOp module, ArrayAttr communicators, StringRef target) {
  json::Object manifest;
  if (auto given = module->getAttrOfType<StringAttr>("para.manifest")) {
    llvm::Expected<json::Value> parsed = json::parse(given.getValue());
    if (!parsed)
      return module.emitError() << "para.manifest is not JSON: " << llvm::toString(parsed.takeError());
    if (!parsed->getAsObject())
      return module.emitError("para.manifest is no JSON object");
    manifest = *parsed->getAsObject();
  }
  auto text = [&](StringRef name, StringRef otherwise) {
    auto attr = module->getAttrOfType<StringAttr>(name);
    return attr ? attr.getValue().str() : otherwise.str();
  };
  auto count = module->getAttrOfType<IntegerAttr>("para.microbatches");
  int64_t microbatches = count ? count.getInt() : 1;
  manifest["version"] = 1;
  manifest["target"] = target.str();
  manifest.try_emplace("model", text("para.model", "model"));
  manifest.try_emplace("mode", text("para.mode", "infer"));
  manifest["microbatches"] = microbatches;
  json::Array mesh, lists, stages;
  if (auto attr = module->getAttrOfType<MeshAttr>("para.mesh"))
    for (Attribute axis : attr.getAxes()) {
      StringRef name = cast<StringAttr>(axis).getValue();
      if (name != "microbatch")
        mesh.push_back(json::Object{{"name", name.str()}, {"size", attr.getSize(name)}});
    }
  manifest["mesh"] = std::move(mesh);
  for (Attribute axes : communicators)
    lists.push_back(json::Object{{"axes", axisNames(cast<ArrayAttr>(axes))}});
  manifest["communicators"] = std::move(lists);
  llvm::StringMap<int64_t> primary;
  int64_t stage = 0;
  for (auto func : module.getOps<func::FuncOp>()) {
    FailureOr<json::Object> described = describeStage(func, stage++, microbatches, primary);
    if (failed(described))
      return failure();
    stages.push_back(std::move(*described));
  }
  noteFileSizes(stages, manifest.getString("directory").value_or(""));
  manifest["stages"] = std::move(stages);
  for (StringRef list : {"inputs", "outputs", "parameters", "hyper"})
    manifest.try_emplace(list, json::Array());
  std::string bytes;
  llvm::raw_string_ostream(bytes) << json::Value(std::move(manifest));
  module->setAttr("rt.manifest", StringAttr::get(module.getContext(), bytes));
  return success();
}
