#include "para/Cost/Machine.h"
#include "para/Support/JsonFile.h"

#include "llvm/Support/FormatVariadic.h"

using namespace para;

namespace {
llvm::Error fail(const llvm::Twine &message) { return llvm::createStringError(llvm::inconvertibleErrorCode(), message); }

// Between what a computer of any make has. Rates are of one core at least and of a rack at most.
const Field<Device> kDeviceFields[] = {
    {"memory_bytes", &Device::memoryBytes, 1e6, 1e15, "bytes", "of one device"},
    {"memory_bytes_per_second", &Device::memoryBytesPerSecond, 1e7, 1e14, "bytes/second", "peak of its memory"},
    {"vector_flops_per_second", &Device::vectorFlops, 1e7, 1e17, "flops/second", "peak without products"},
    {"launch_seconds", &Device::launchSeconds, 0, 1, "seconds", "between two kernels"},
    {"multiprocessors", &Device::multiprocessors, 1, 1e6, "", "that work by themselves"},
    {"l2_bytes", &Device::l2Bytes, 0, 1e12, "bytes", "second level cache"},
};
const Field<Level> kLevelFields[] = {
    {"bytes_per_second", &Level::bytesPerSecond, 1e3, 1e14, "bytes/second", "of one device, one direction"},
    {"seconds", &Level::seconds, 0, 10, "seconds", "of a bare message"},
    {"oversubscription", &Level::oversubscription, 1, 1e3, "", "of the switches"},
};
constexpr double kLeastFlops = 1e7, kMostFlops = 1e17;

/// The short form: what is sustained.
struct Short {
  double memoryBytes = 0, flopsPerSecond = 0, memoryBytesPerSecond = 0, linkBytesPerSecond = 0, linkSeconds = 0, networkBytesPerSecond = 0,
         networkSeconds = 0, launchSeconds = 0;
};
const Field<Short> kShortFields[] = {
    {"memory_bytes", &Short::memoryBytes, 1e6, 1e15, "bytes", ""},
    {"flops_per_second", &Short::flopsPerSecond, kLeastFlops, kMostFlops, "flops/second", ""},
    {"memory_bytes_per_second", &Short::memoryBytesPerSecond, 1e7, 1e14, "bytes/second", ""},
    {"link_bytes_per_second", &Short::linkBytesPerSecond, 1e5, 1e14, "bytes/second", ""},
    {"link_seconds", &Short::linkSeconds, 0, 1, "seconds", ""},
    {"network_bytes_per_second", &Short::networkBytesPerSecond, 1e3, 1e14, "bytes/second", ""},
    {"network_seconds", &Short::networkSeconds, 0, 10, "seconds", ""},
    {"launch_seconds", &Short::launchSeconds, 0, 1, "seconds", ""},
};

llvm::Error check(llvm::StringRef key, std::optional<double> number, double least, double most) {
  if (!number)
    return fail(llvm::Twine("the machine needs a number '") + key + "'");
  if (!(*number >= least && *number <= most))
    return fail(
        llvm::formatv("'{0}' of the machine is {1:E}, which no machine has: from {2:E} to {3:E} is possible", key, *number, least, most)
            .str());
  return llvm::Error::success();
}

template <typename T> llvm::Error read(const llvm::json::Object &object, llvm::ArrayRef<Field<T>> fields, T &value) {
  for (const Field<T> &field : fields) {
    auto number = object.getNumber(field.key);
    if (auto error = check(field.key, number, field.least, field.most))
      return error;
    value.*field.member = *number;
  }
  return llvm::Error::success();
}

/// That an object has only these keys and those of the fields.
template <typename T>
llvm::Error checkKeys(const llvm::json::Object &object, llvm::StringRef owner, std::vector<llvm::StringRef> keys, llvm::ArrayRef<Field<T>> fields) {
  for (const Field<T> &field : fields)
    keys.push_back(field.key);
  return para::checkKeys(object, owner, keys);
}

template <typename T> void write(llvm::json::Object &object, llvm::ArrayRef<Field<T>> fields, const T &value) {
  for (const Field<T> &field : fields)
    object[field.key] = value.*field.member;
}

/// Constants of the kind, but for those which "constants" names.
template <typename T> llvm::Error readConstants(const llvm::json::Object &object, llvm::ArrayRef<Field<T>> fields, T &constants) {
  const llvm::json::Object *given = object.getObject("constants");
  if (!given)
    return llvm::Error::success();
  if (auto error = checkKeys<T>(*given, "'constants' of the machine", {}, fields))
    return error;
  for (const Field<T> &field : fields)
    if (const llvm::json::Value *value = given->get(field.key)) {
      auto number = value->getAsNumber();
      if (auto error = check(field.key, number, field.least, field.most))
        return error;
      if (field.isSwitch() && *number != 0 && *number != 1)
        return fail("'" + llvm::Twine(field.key) + "' of the machine must be 0 or 1");
      constants.*field.member = *number;
    }
  return llvm::Error::success();
}

template <typename T>
void writeConstants(llvm::json::Object &object, llvm::ArrayRef<Field<T>> fields, const T &constants, const T &ofKind) {
  llvm::json::Object own;
  for (const Field<T> &field : fields)
    if (constants.*field.member != ofKind.*field.member)
      own[field.key] = constants.*field.member;
  if (!own.empty())
    object["constants"] = std::move(own);
}

template <typename T> std::string list(llvm::ArrayRef<T> kinds) {
  std::string names;
  for (const T &kind : kinds)
    names += (names.empty() ? "" : ", ") + std::string(kind.name);
  return names;
}

llvm::Expected<Level> readLevel(const llvm::json::Object &object) {
  Level level;
  if (auto error = checkKeys<Level>(object, "a level of the machine", {"name", "kind", "ranks", "in_network_reduction", "constants"}, kLevelFields))
    return std::move(error);
  level.name = object.getString("name").value_or("links").str();
  level.kind = object.getString("kind").value_or("plain").str();
  const NetworkKind *kind = findNetworkKind(level.kind);
  if (!kind)
    return fail("no kind of link is called '" + level.kind + "'; there are " + list(getNetworkKinds()));
  level.constants = kind->constants;
  level.ranks = object.getInteger("ranks").value_or(0);
  level.inNetworkReduction = object.getBoolean("in_network_reduction").value_or(false);
  if (auto error = read<Level>(object, kLevelFields, level))
    return std::move(error);
  if (auto error = readConstants<NetworkConstants>(object, getNetworkFields(), level.constants))
    return std::move(error);
  return level;
}

llvm::Expected<DeviceClass> readClass(const llvm::json::Object &object) {
  DeviceClass devices;
  Device &device = devices.device;
  if (auto error = checkKeys<Device>(object, "a device of the machine", {"name", "kind", "count", "flops_per_second", "constants", "levels"}, kDeviceFields))
    return std::move(error);
  devices.count = object.getInteger("count").value_or(0);
  if (devices.count < 1 || devices.count > kMostRanks)
    return fail("'count' of devices of the machine must be from 1 to " + llvm::Twine(kMostRanks));
  device.name = object.getString("name").value_or("device").str();
  device.kind = object.getString("kind").value_or("plain").str();
  const DeviceKind *kind = findDeviceKind(device.kind);
  if (!kind)
    return fail("no kind of device is called '" + device.kind + "'; there are " + list(getDeviceKinds()));
  device.constants = kind->constants;
  if (auto error = read<Device>(object, kDeviceFields, device))
    return std::move(error);
  const llvm::json::Object *flops = object.getObject("flops_per_second");
  std::vector<llvm::StringRef> types;
  for (int i = 0; i < kNumCostTypes; ++i)
    types.push_back(getName(CostType(i)));
  if (auto error = flops ? para::checkKeys(*flops, "'flops_per_second' of the machine", types) : llvm::Error::success())
    return std::move(error);
  for (int i = 0; i < kNumCostTypes; ++i)
    if (flops && flops->get(getName(CostType(i)))) {
      auto number = flops->getNumber(getName(CostType(i)));
      if (number != 0.0)
        if (auto error = check("flops_per_second", number, kLeastFlops, kMostFlops))
          return std::move(error);
      device.flops[i] = *number;
    }
  if (device.getFlops(CostType::F32) <= 0)
    return fail("the machine needs a number 'f32' in 'flops_per_second'");
  if (auto error = readConstants<KernelConstants>(object, getKernelFields(), device.constants))
    return std::move(error);
  const llvm::json::Array *levels = object.getArray("levels");
  if (!levels || levels->empty())
    return fail("devices of the machine need a list 'levels'");
  for (const llvm::json::Value &value : *levels) {
    const llvm::json::Object *one = value.getAsObject();
    auto level = one ? readLevel(*one) : llvm::Expected<Level>(fail("a level of the machine is a JSON object"));
    if (!level)
      return level.takeError();
    int64_t below = devices.levels.empty() ? 1 : devices.levels.back().ranks;
    if (level->ranks < below || level->ranks % below != 0)
      if (&value != &levels->back() || level->ranks < below) // all ranks may be nodes of several sizes
        return fail("'ranks' of the level '" + level->name + "' of the machine must be a multiple of the " + llvm::Twine(below) +
                    " of the level inside");
    devices.levels.push_back(*level);
  }
  return devices;
}

llvm::Expected<Machine> readShort(const llvm::json::Object &object, std::string name) {
  if (auto error = checkKeys<Short>(object, "a machine", {"name", "devices", "ranks_per_node", "nodes"}, kShortFields))
    return std::move(error);
  if (object.get("devices"))
    return fail("'devices' of the machine must be a list of classes of devices; 'ranks_per_node' and 'nodes' tell how many there are of one class");
  for (llvm::StringRef key : {"ranks_per_node", "nodes"})
    if (const llvm::json::Value *value = object.get(key); value && !value->getAsInteger())
      return fail("'" + key + "' of the machine must be a whole number");
  int64_t perNode = object.getInteger("ranks_per_node").value_or(1), nodes = object.getInteger("nodes").value_or(1);
  if (perNode < 1 || nodes < 1 || nodes > kMostRanks || perNode > kMostRanks / nodes)
    return fail("'ranks_per_node' and 'nodes' of the machine must be 1 or more, and " + llvm::Twine(kMostRanks) +
                " devices together at most");
  Short numbers;
  if (auto error = read<Short>(object, kShortFields, numbers))
    return std::move(error);
  DeviceClass devices;
  devices.count = perNode * nodes;
  devices.device.name = name;
  devices.device.memoryBytes = numbers.memoryBytes;
  devices.device.memoryBytesPerSecond = numbers.memoryBytesPerSecond;
  devices.device.vectorFlops = numbers.flopsPerSecond;
  devices.device.flops.fill(numbers.flopsPerSecond);
  devices.device.launchSeconds = numbers.launchSeconds;
  Level inside, outside;
  inside.name = "node";
  inside.ranks = perNode;
  inside.bytesPerSecond = numbers.linkBytesPerSecond;
  inside.seconds = numbers.linkSeconds;
  outside.name = "network";
  outside.ranks = devices.count;
  outside.bytesPerSecond = numbers.networkBytesPerSecond;
  outside.seconds = numbers.networkSeconds;
  devices.levels = {inside};
  if (nodes > 1)
    devices.levels.push_back(outside);
  Machine machine;
  machine.name = std::move(name);
  machine.classes = {devices};
  return machine;
}
} // namespace

llvm::json::Object Machine::toJson() const {
  llvm::json::Array all;
  for (const DeviceClass &devices : classes) {
    const Device &device = devices.device;
    llvm::json::Object object{{"name", device.name}, {"kind", device.kind}, {"count", devices.count}}, flops;
    write<Device>(object, kDeviceFields, device);
    for (int i = 0; i < kNumCostTypes; ++i)
      flops[getName(CostType(i))] = device.flops[i];
    object["flops_per_second"] = std::move(flops);
    writeConstants<KernelConstants>(object, getKernelFields(), device.constants, findDeviceKind(device.kind)->constants);
    llvm::json::Array levels;
    for (const Level &level : devices.levels) {
      llvm::json::Object one{
          {"name", level.name}, {"kind", level.kind}, {"ranks", level.ranks}, {"in_network_reduction", level.inNetworkReduction}};
      write<Level>(one, kLevelFields, level);
      writeConstants<NetworkConstants>(one, getNetworkFields(), level.constants, findNetworkKind(level.kind)->constants);
      levels.push_back(std::move(one));
    }
    object["levels"] = std::move(levels);
    all.push_back(std::move(object));
  }
  return llvm::json::Object{{"name", name}, {"devices", std::move(all)}};
}

llvm::Expected<Machine> Machine::fromJson(const llvm::json::Value &value) {
  const llvm::json::Object *object = value.getAsObject();
  if (!object)
    return fail("a machine is a JSON object");
  std::string name = object->getString("name").value_or("machine").str();
  const llvm::json::Array *all = object->getArray("devices");
  if (!all)
    return readShort(*object, std::move(name));
  if (auto error = para::checkKeys(*object, "a machine with a list of devices", {"name", "devices"}))
    return std::move(error);
  Machine machine;
  machine.name = std::move(name);
  for (const llvm::json::Value &one : *all) {
    const llvm::json::Object *devices = one.getAsObject();
    auto read = devices ? readClass(*devices) : llvm::Expected<DeviceClass>(fail("what 'devices' of the machine lists are JSON objects"));
    if (!read)
      return read.takeError();
    machine.classes.push_back(*read);
    if (machine.getNumRanks() > kMostRanks)
      return fail("'devices' of the machine must be " + llvm::Twine(kMostRanks) + " together at most");
  }
  if (machine.classes.empty())
    return fail("'devices' of the machine is empty");
  for (const DeviceClass &devices : machine.classes)
    if (devices.levels.back().ranks != machine.getNumRanks())
      return fail("the outermost level of the machine must join all " + llvm::Twine(machine.getNumRanks()) + " ranks, and '" +
                  devices.levels.back().name + "' of '" + devices.device.name + "' joins " + llvm::Twine(devices.levels.back().ranks));
  return machine;
}
