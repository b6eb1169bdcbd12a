//===- Worker.cpp - One rank of a running program -----------------------------===//
#include "Worker.h"

#include "Init.h"
#include "Launcher.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

namespace para::runtime {

Worker::Worker(const Manifest &manifest, const Flags &flags, const para_program &program, World &world)
    : manifest(manifest), flags(flags), program(program), world(world), hyper(manifest, flags.hyper, flags.seed) {}

Status Worker::checkOutputs() {
  if (!isFirst())
    return Status::success();
  for (const std::string &path : {flags.outputs, flags.dumpState, flags.dumpGrads, flags.trace})
    if (!path.empty())
      PARA_TRY(checkWritable(path));
  return checkFilesApart();
}

/// No result is written over what the run reads, or over another result.
Status Worker::checkFilesApart() {
  namespace fs = std::filesystem;
  std::vector<std::pair<std::string, std::string>> taken{{"/proc/self/exe", "the program itself"}, {flags.data, "the data"}, {flags.inputs, "the inputs"}, {flags.validate, "the validation data"}};
  std::set<std::string> sources;
  for (const Stage &stage : manifest.stages)
    for (const Tensor &tensor : stage.tensors)
      sources.insert(pathOf(tensor.source));
  for (const std::string &path : sources)
    taken.push_back({path, "a file of the model's weights"});
  const std::pair<const char *, const std::string &> results[] = {
      {"--outputs", flags.outputs}, {"--dump-state", flags.dumpState}, {"--dump-grads", flags.dumpGrads}, {"--trace", flags.trace}, {"--metrics", flags.metrics}};
  for (const auto &[flag, path] : results) {
    std::error_code none;
    if (path.empty() || (fs::exists(path, none) && !fs::is_regular_file(path, none)))
      continue;
    for (const auto &[other, what] : taken)
      if (!other.empty() && (fs::equivalent(path, other, none) || fs::weakly_canonical(path, none) == fs::weakly_canonical(other, none)))
        return Status::error(std::string(flag) + " " + path + ": that is " + what + "; give another name", 2);
    taken.push_back({path, std::string("where ") + flag + " is written"});
  }
  return Status::success();
}

Status Worker::start() {
  PARA_TRY(world.agree(checkOutputs()));
  DeviceOptions options;
  options.manifest = &manifest;
  options.program = &program;
  options.world = &world;
  options.trace = flags.trace.empty() ? nullptr : &trace;
  options.threads = flags.threads > 0 ? flags.threads : std::max<int64_t>(1, availableCores() / world.ranksOnHost());
  PARA_TRY(world.agree(createDevice(options, device)));
  if (options.trace)
    PARA_TRY(trace.alignClocks(world));
  store = std::make_unique<TensorStore>(manifest, world, *device);
  Status status = resolveSegments();
  if (!status.failed())
    status = loadTensors();
  return world.agree(status);
}

Status Worker::bind(const std::vector<Action> &actions, std::vector<Bound> &bound) {
  for (const Action &action : actions) {
    const para_segment *end = program.segments + program.num_segments;
    const para_segment *found =
        std::find_if(program.segments, end, [&](const para_segment &segment) { return action.segment == segment.name; });
    if (found == end)
      return Status::error("the program lacks the segment '" + action.segment + "' that its manifest names");
    bound.push_back({found, action.microbatch, action.slot});
  }
  return Status::success();
}

Status Worker::resolveSegments() {
  PARA_TRY(bind(store->stage().actions, step));
  return bind(store->stage().evaluate, evaluation);
}

Status Worker::loadTensors() {
  Checkpoint checkpoint;
  if (!flags.load.empty()) {
    PARA_TRY(openCheckpoint(flags.load, checkpoint));
    if (checkpoint.hasState && manifest.isTraining())
      firstStep = checkpoint.state.step;
  }
  for (const Tensor &tensor : store->stage().tensors)
    if (tensor.kind == TensorKind::Parameter || tensor.kind == TensorKind::State)
      PARA_TRY(startTensor(tensor, flags.load.empty() ? nullptr : &checkpoint));
  return Status::success();
}

Status Worker::startTensor(const Tensor &tensor, const Checkpoint *checkpoint) {
  if (checkpoint) {
    bool wasFound;
    PARA_TRY(restoreTensor(*checkpoint, tensor, *store, wasFound));
    if (wasFound)
      return Status::success();
    // Tables that the exporter made and fresh optimizer states of a weights-only file may be missing; weights may not.
    bool isOptimizer = tensor.kind == TensorKind::State && !tensor.buffer && !tensor.optional;
    if (isOptimizer ? checkpoint->hasState && manifest.isTraining()
                    : tensor.kind == TensorKind::Parameter && (tensor.trainable || !tensor.source.present))
      return Status::error("'" + checkpoint->path + "' lacks '" + tensor.name + "'");
  }
  if (tensor.kind == TensorKind::Parameter)
    return initializeParameter(tensor);
  return tensor.source.present ? readSource(tensor) : store->fillConstant(tensor, tensor.initial);
}

Status Worker::initializeParameter(const Tensor &tensor) {
  if (!tensor.trainable && tensor.source.present)
    return readSource(tensor);
  for (const std::string &kind : split(flags.init, ',')) {
    if (kind == "file") {
      if (tensor.source.present)
        return readSource(tensor);
      continue;
    }
    Initializer initializer = initializerFor(kind, tensor);
    return store->fillBlocks(
        tensor, [&](const Box &box, char *local) { initialize(initializer, tensor, box, flags.seed, local); });
  }
  return Status::error("the model has no data for '" + tensor.name +
                       "': start it by --init=normal:0.02 (or kaiming, xavier, zeros), or --load a checkpoint");
}

Status Worker::readSource(const Tensor &tensor) {
  const TensorSource &source = tensor.source;
  int64_t expected = tensor.globalElements() * elementBytes(source.dtype);
  if (source.bytes != expected)
    return Status::error(format("the data of '%s' has %lld bytes where %lld are expected", tensor.name.c_str(),
                                (long long)source.bytes, (long long)expected));
  Array array;
  array.dtype = source.dtype;
  array.shape = tensor.shape;
  array.data = source.inlineBytes.data();
  if (std::string path = pathOf(source); !path.empty()) {
    std::shared_ptr<MappedFile> file;
    PARA_TRY(MappedFile::open(path, file));
    if (source.offset < 0 || source.offset > int64_t(file->size()) || expected > int64_t(file->size()) - source.offset)
      return Status::error("'" + path + "' is cut short: the data of '" + tensor.name + "' ends beyond it");
    if (source.fileBytes > 0 && int64_t(file->size()) != source.fileBytes)
      return Status::error(format("'%s' is not the file that this program was compiled from: it has %lld bytes, that one had %lld; compile it again", path.c_str(),
                                  (long long)file->size(), (long long)source.fileBytes));
    array.data = file->data() + source.offset;
    array.owner = file;
  }
  return store->scatter(tensor, array);
}

std::string Worker::pathOf(const TensorSource &source) const {
  bool isPlain = source.file.empty() || source.file[0] == '/' || manifest.directory.empty();
  return isPlain ? source.file : manifest.directory + "/" + source.file;
}

Status Worker::feed(Dataset &data, int64_t position) {
  for (const Tensor &tensor : store->stage().tensors)
    if (tensor.kind == TensorKind::Input)
      PARA_TRY(store->fillBlocks(tensor, [&](const Box &box, char *local) {
        data.fill(tensor, box, position, local);
        if (!dataFault.failed())
          dataFault = data.checkIndices(tensor, box, position, local);
      }));
  return world.size() == 1 ? dataFault : Status::success();
}

Status Worker::writeHyper(int64_t stepIndex) {
  for (const Tensor &tensor : store->stage().tensors) {
    double value;
    if (tensor.kind != TensorKind::Hyper)
      continue;
    if (!hyper.valueAt(tensor.name, stepIndex, value))
      return Status::error("the program asks for the number '" + tensor.name + "', which its manifest does not define");
    PARA_TRY(store->writeScalar(tensor, value));
  }
  return Status::success();
}

Status Worker::runActions(const std::vector<Bound> &actions) {
  double began = nowSeconds();
  // Of a failure the back end has said what went wrong, with the node's name.
  Status status = device->run(&actions, [&] {
    for (const Bound &action : actions)
      if (para_status status = action.segment->run(device->context(), action.microbatch, action.slot))
        return status;
    return para_status(PARA_OK);
  });
  if (!flags.trace.empty())
    trace.record(&actions == &step ? "step" : "validation", "step", Trace::stepsRow, began, nowSeconds(), 0);
  return status;
}

Status Worker::readMeasured(const std::string &name, Measured &measured) {
  for (const Tensor &tensor : store->stage().tensors)
    if ((tensor.kind == TensorKind::Output || tensor.kind == TensorKind::State) && tensor.name == name && tensor.globalElements() == 1) {
      PARA_TRY(store->readScalar(tensor, measured.value));
      measured.isKnown = true;
      measured.isDouble = tensor.dtype == PARA_F64;
      return Status::success();
    }
  return Status::success();
}

Status Worker::exchange(StepRecord &record, int64_t bytesSent, int &stopSignal) {
  struct Report {
    Measured loss, gradNorm, lossScale;
    int64_t bytesSent;
    int32_t stopSignal, fault;
  } mine{};
  struct Verdict {
    int32_t stopSignal = 0, faultRank = -1, fault = 0;
  } verdict;
  // The loss is the first output, whatever the model calls it.
  PARA_TRY(readMeasured(manifest.outputs.empty() ? "loss" : manifest.outputs[0].name, mine.loss));
  PARA_TRY(readMeasured("grad_norm", mine.gradNorm));
  PARA_TRY(readMeasured("loss_scale", mine.lossScale));
  mine.bytesSent = bytesSent;
  mine.stopSignal = world.control() && world.control()->stopSignal() ? world.control()->stopSignal() : stopRequested();
  mine.fault = dataFault.exitCode();
  std::vector<char> all;
  PARA_TRY(world.gather(&mine, sizeof(mine), all));
  if (isFirst()) {
    record.bytesSent.clear();
    record.loss = record.gradNorm = record.lossScale = {};
    record.stray = {};
    for (int64_t i = 0; i < world.size(); ++i) {
      Report theirs;
      std::memcpy(&theirs, all.data() + size_t(i) * sizeof(Report), sizeof(Report));
      if (!record.loss.isKnown)
        record.loss = theirs.loss;
      if (!record.gradNorm.isKnown)
        record.gradNorm = theirs.gradNorm;
      if (!record.lossScale.isKnown)
        record.lossScale = theirs.lossScale;
      if (theirs.loss.isKnown && !std::isfinite(theirs.loss.value) && record.stray.ranks++ == 0) {
        record.stray.value = theirs.loss.value;
        record.stray.rank = i;
      }
      record.bytesSent.push_back(theirs.bytesSent);
      if (theirs.stopSignal)
        verdict.stopSignal = theirs.stopSignal;
      if (theirs.fault && verdict.faultRank < 0) {
        verdict.faultRank = int32_t(i);
        verdict.fault = theirs.fault;
      }
    }
  }
  PARA_TRY(world.broadcast(&verdict, sizeof(verdict)));
  stopSignal = verdict.stopSignal;
  if (verdict.faultRank < 0)
    return Status::success();
  Status status = verdict.faultRank == world.rank() ? dataFault : Status::error("", verdict.fault);
  return std::move(status).markKnownToAll();
}

Status Worker::dumpState() {
  if (flags.dumpState.empty())
    return Status::success();
  return store->dump(flags.dumpState, [](const Tensor &tensor) {
    return tensor.kind == TensorKind::Parameter || tensor.kind == TensorKind::State || tensor.kind == TensorKind::Output;
  });
}

void Worker::tellOfDevice() const {
  if (!flags.verbose)
    return;
  long long rank = world.rank();
  for (const std::string &note : device->notes())
    std::fprintf(stderr, "para: rank %lld %s\n", rank, note.c_str());
  std::fprintf(stderr, "para: rank %lld took %lld bytes for its arena and %lld for libraries\n", rank, (long long)device->arenaBytes(),
               (long long)device->scratchBytes());
}

Status Worker::writeTrace() {
  return flags.trace.empty() ? Status::success() : world.agree(trace.write(world, flags.trace));
}

} // namespace para::runtime
