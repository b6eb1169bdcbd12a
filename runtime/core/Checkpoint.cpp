//===- Checkpoint.cpp - Saving and restoring a run ----------------------------===//
#include "Checkpoint.h"

#include "Json.h"
#include "Safetensors.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace para::runtime {

static Status makeDirectories(const std::string &path) {
  for (size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    std::string part = path.substr(0, at);
    if (!part.empty() && mkdir(part.c_str(), 0777) != 0 && errno != EEXIST)
      return Status::error("cannot create the folder '" + part + "': " + std::strerror(errno));
    if (at == std::string::npos)
      return Status::success();
  }
}

Status prepareCheckpoints(const std::string &directory) {
  struct stat info;
  bool existed = stat(directory.c_str(), &info) == 0;
  PARA_TRY(makeDirectories(directory));
  std::string probe = directory + format("/.probe-%d", int(getpid()));
  if (mkdir(probe.c_str(), 0777) != 0)
    return Status::error("--save " + directory + ": nothing can be written there: " + std::strerror(errno));
  rmdir(probe.c_str());
  if (!existed)
    rmdir(directory.c_str()); // a run that fails before its first checkpoint leaves nothing
  return Status::success();
}

static void removeCheckpoint(const std::string &path) {
  for (const char *file : {"/model.safetensors", "/optimizer.safetensors", "/state.json"})
    unlink((path + file).c_str());
  rmdir(path.c_str());
}

static void syncFolder(const std::string &path) {
  int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0) {
    fsync(descriptor);
    close(descriptor);
  }
}

static bool isOfModel(const Tensor &tensor) {
  return tensor.kind == TensorKind::Parameter || (tensor.kind == TensorKind::State && tensor.buffer);
}

/// Collective: all ranks send their parts, rank 0 writes. A write that fails is reported after the last part came.
static Status saveTensors(const std::string &path, World &world, TensorStore &store,
                          const std::function<bool(const Tensor &)> &wanted) {
  std::vector<TensorStore::Global> globals = store.globals(wanted);
  Array array;
  if (world.rank() != 0) {
    for (const auto &global : globals)
      PARA_TRY(store.gather(global, array));
    return Status::success();
  }
  std::vector<SafetensorsEntry> entries;
  for (const auto &global : globals)
    entries.push_back({global.tensor->name, global.tensor->dtype, global.tensor->shape});
  size_t gathered = 0;
  Status status = writeSafetensors(path, entries, [&](size_t i, const char *&data) {
    gathered = i + 1;
    PARA_TRY(store.gather(globals[i], array));
    data = array.data;
    return Status::success();
  });
  for (; gathered < globals.size() && world.size() > 1; ++gathered)
    if (store.gather(globals[gathered], array).failed())
      break;
  return status;
}

/// Gives a complete checkpoint its name. One of that name goes only when the new one stands.
static Status publish(const std::string &temporary, const std::string &path) {
  std::string aside = temporary + ".old";
  removeCheckpoint(aside); // of a process that ended in between
  bool hadOne = std::rename(path.c_str(), aside.c_str()) == 0;
  if (std::rename(temporary.c_str(), path.c_str()) == 0) {
    if (hadOne)
      removeCheckpoint(aside);
    return Status::success();
  }
  Status status = Status::error("cannot rename '" + temporary + "' to '" + path + "': " + std::strerror(errno));
  if (hadOne && std::rename(aside.c_str(), path.c_str()) != 0)
    return Status::error(status.message() + "; the checkpoint that had this name is in '" + aside + "'");
  return status;
}

Status saveCheckpoint(const std::string &directory, const RunState &state, const Manifest &manifest, World &world,
                      TensorStore &store, std::string &path) {
  path = directory + format("/step-%06lld", (long long)state.step);
  std::string temporary = directory + format("/.step-%06lld.partial", (long long)state.step);
  Status status = Status::success();
  if (world.rank() == 0) {
    removeCheckpoint(temporary);
    status = makeDirectories(temporary);
  }
  PARA_TRY(world.agree(status));
  Status model = saveTensors(temporary + "/model.safetensors", world, store, isOfModel);
  Status optimizer = saveTensors(temporary + "/optimizer.safetensors", world, store, [](const Tensor &tensor) {
    return tensor.kind == TensorKind::State && !tensor.buffer;
  });
  status = model.failed() ? model : optimizer;
  if (world.rank() == 0 && !status.failed()) {
    std::string text = "{\"step\":" + std::to_string(state.step) + ",\"model\":" + jsonString(manifest.model) +
                       ",\"batch\":" + std::to_string(manifest.batch) + ",\"samples\":" +
                       std::to_string(state.step * manifest.batch) + ",\"seed\":" + std::to_string(state.seed) +
                       ",\"shuffle\":" + jsonString(state.shuffle) + "}\n";
    status = writeFile(temporary + "/state.json", {{text.data(), text.size()}});
    if (!status.failed()) {
      syncFolder(temporary);
      status = publish(temporary, path);
      syncFolder(directory);
    }
  }
  if (world.rank() == 0 && status.failed()) {
    removeCheckpoint(temporary); // its bytes may be what the disk lacks
    status = Status::error("no checkpoint of step " + std::to_string(state.step) + " was saved: " + status.message() +
                           "; what '" + directory + "' held before is as it was");
  }
  return world.agree(status);
}

static Status readState(const std::string &path, RunState &state) {
  std::shared_ptr<MappedFile> file;
  PARA_TRY(MappedFile::open(path, file));
  Json json = Json::parse(file->data(), file->data() + file->size(), nullptr, false);
  if (json.is_discarded())
    return Status::error("'" + path + "' is not JSON or is cut short");
  JsonReader reader(json, "'" + path + "'");
  reader.required("step", state.step);
  reader.optional("seed", state.seed);
  reader.optional("shuffle", state.shuffle);
  if (state.step < 0 || state.step > 1000000000000)
    reader.complain("has the step " + std::to_string(state.step) + ", from which no run can go on");
  return reader.status();
}

static Status openFolder(const std::string &path, Checkpoint &checkpoint) {
  checkpoint = Checkpoint();
  checkpoint.path = path;
  PARA_TRY(readState(path + "/state.json", checkpoint.state));
  PARA_TRY(readSafetensors(path + "/model.safetensors", checkpoint.model));
  PARA_TRY(readSafetensors(path + "/optimizer.safetensors", checkpoint.optimizer));
  checkpoint.hasState = true;
  return Status::success();
}

Status openCheckpoint(const std::string &path, Checkpoint &checkpoint) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0)
    return Status::error("cannot open '" + path + "': " + std::strerror(errno));
  checkpoint = Checkpoint();
  checkpoint.path = path;
  if (S_ISREG(info.st_mode))
    return readSafetensors(path, checkpoint.model);
  if (stat((path + "/model.safetensors").c_str(), &info) == 0) {
    if (stat((path + "/state.json").c_str(), &info) == 0)
      return openFolder(path, checkpoint);
    return readSafetensors(path + "/model.safetensors", checkpoint.model);
  }
  DIR *folder = opendir(path.c_str());
  if (!folder)
    return Status::error("cannot open '" + path + "': " + std::strerror(errno));
  std::vector<std::pair<int64_t, std::string>> steps;
  while (dirent *entry = readdir(folder)) {
    std::string name = entry->d_name;
    int64_t step;
    if (name.rfind("step-", 0) == 0 && parseInteger(name.substr(5), step))
      steps.emplace_back(step, path + "/" + name);
  }
  closedir(folder);
  std::sort(steps.rbegin(), steps.rend());
  if (steps.empty())
    return Status::error("'" + path + "' holds no checkpoint (step-N folders)");
  std::string problems;
  for (auto &[step, name] : steps) {
    Status status = openFolder(name, checkpoint);
    if (!status.failed())
      return status;
    problems += "\n  " + status.message();
  }
  return Status::error("'" + path + "' holds no complete checkpoint:" + problems);
}

Status restoreTensor(const Checkpoint &checkpoint, const Tensor &tensor, TensorStore &store, bool &wasFound) {
  const ArrayMap &arrays = isOfModel(tensor) ? checkpoint.model : checkpoint.optimizer;
  auto found = arrays.find(tensor.name);
  wasFound = found != arrays.end();
  if (!wasFound)
    return Status::success();
  const Array &array = found->second;
  bool rounds;
  std::string problem = array.shape == tensor.shape ? conversionProblem(array, tensor.dtype, rounds) : "the shapes differ";
  if (!problem.empty())
    return Status::error("'" + checkpoint.path + "': '" + tensor.name + "' is " + array.typeText() + ", expected " +
                         dtypeName(tensor.dtype) + shapeText(tensor.shape) + ": " + problem);
  return store.scatter(tensor, array);
}

} // namespace para::runtime
