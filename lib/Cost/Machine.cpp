#include "para/Cost/Machine.h"
#include "Presets.h"
#include "para/Support/JsonFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using namespace para;

static constexpr llvm::StringLiteral kTypeNames[kNumCostTypes] = {"f64", "f32", "tf32", "bf16", "f16", "f8"};

llvm::StringRef para::getName(CostType type) { return kTypeNames[int(type)]; }

std::optional<CostType> para::parseCostType(llvm::StringRef name) {
  const auto *it = llvm::find(kTypeNames, name);
  return it == std::end(kTypeNames) ? std::nullopt : std::optional(CostType(it - std::begin(kTypeNames)));
}

int64_t para::getBytes(CostType type) {
  constexpr int64_t bytes[kNumCostTypes] = {8, 4, 4, 2, 2, 1};
  return bytes[int(type)];
}

double Device::getFlops(CostType type) const {
  constexpr CostType wider[kNumCostTypes] = {CostType::F32, CostType::F64, CostType::F32, CostType::F32, CostType::BF16, CostType::F16};
  for (int tries = 0; tries < kNumCostTypes && flops[int(type)] <= 0; ++tries)
    type = wider[int(type)];
  return flops[int(type)];
}

llvm::ArrayRef<Tile> Device::getTiles() const { return findDeviceKind(kind)->tiles; }

int64_t Machine::getNumRanks() const {
  int64_t ranks = 0;
  for (const DeviceClass &devices : classes)
    ranks += devices.count;
  return ranks;
}

const DeviceClass &Machine::getClass(int64_t rank) const {
  for (const DeviceClass &devices : classes) {
    if (rank < devices.count)
      return devices;
    rank -= devices.count;
  }
  return classes.back();
}

/// The least of a number of the classes.
template <typename Get> static auto least(const Machine &machine, Get get) {
  auto value = get(machine.classes.front());
  for (const DeviceClass &devices : llvm::drop_begin(machine.classes))
    value = std::min(value, get(devices));
  return value;
}

double Machine::getMemoryBytes() const {
  return least(*this, [](const DeviceClass &devices) { return devices.device.memoryBytes; });
}

int64_t Machine::getRanksPerNode() const {
  return least(*this, [](const DeviceClass &devices) { return devices.levels.front().ranks; });
}

double Machine::getFlopsPerSecond() const {
  return least(
      *this, [](const DeviceClass &devices) { return devices.device.getFlops(CostType::F16) * devices.device.constants.productFraction; });
}

double Machine::getMemoryBytesPerSecond() const {
  return least(*this,
               [](const DeviceClass &devices) { return devices.device.memoryBytesPerSecond * devices.device.constants.streamFraction; });
}

double Machine::getStartSeconds(bool inside) const {
  return -least(*this, [&](const DeviceClass &devices) {
    const Level &level = inside ? devices.levels.front() : devices.levels.back();
    return -(level.seconds + level.constants.simpleStep);
  });
}

double Machine::getLinkBytesPerSecond(bool inside) const {
  return least(*this, [&](const DeviceClass &devices) {
    const Level &level = inside ? devices.levels.front() : devices.levels.back();
    return level.bytesPerSecond * level.constants.simpleFraction;
  });
}

int64_t Machine::getBucketBytes() const {
  constexpr double messagesInAStart = 64, most = 25 << 20; // 25 MiB: the default of PyTorch DDP
  bool inside = getNumRanks() <= getRanksPerNode();
  double bytes = least(*this, [&](const DeviceClass &devices) {
    const Level &level = inside ? devices.levels.front() : devices.levels.back();
    return (level.seconds + level.constants.simpleStart + level.constants.simpleStep) * level.bytesPerSecond *
           level.constants.simpleFraction;
  });
  return int64_t(std::clamp(messagesInAStart * bytes, 64.0 * 1024, most));
}

//===----------------------------------------------------------------------===//
// PRESET[:NODES[xDEVICES]][+...]
//===----------------------------------------------------------------------===//

static llvm::Error fail(const llvm::Twine &message) { return llvm::createStringError(llvm::inconvertibleErrorCode(), message); }

/// Machines that were meant: those whose names go on where `typed` ends, else the nearest.
static std::string guessMachine(llvm::StringRef typed) {
  llvm::SmallVector<llvm::StringRef> names, meant;
  for (const Preset &preset : getPresets()) {
    names.push_back(preset.name);
    if (!typed.empty() && preset.name.starts_with(typed))
      meant.push_back(preset.name);
  }
  if (llvm::StringRef nearest = findNearest(typed, names); meant.empty() && !nearest.empty())
    meant.push_back(nearest);
  return meant.empty() ? "" : "; did you mean " + llvm::join(meant, " or ") + "?";
}

static llvm::Expected<DeviceClass> parseClass(llvm::StringRef spec) {
  auto [name, count] = spec.split(':');
  std::string names;
  for (const Preset &preset : getPresets()) {
    names += (names.empty() ? "" : ", ") + preset.name.str();
    if (preset.name != name)
      continue;
    auto [nodesText, devicesText] = count.split('x');
    int64_t nodes = 1, perNode = preset.devices;
    bool bad = spec.contains(':') && (nodesText.getAsInteger(10, nodes) || nodes < 1);
    bad |= count.contains('x') && (devicesText.getAsInteger(10, perNode) || perNode < 1);
    if (!bad && (nodes > kMostRanks || perNode > kMostRanks / nodes))
      return fail("'" + spec + "' has more than " + llvm::Twine(kMostRanks) + " devices");
    if (bad)
      return fail("'" + spec + "' is not PRESET:NODES or PRESET:NODESxDEVICES");
    DeviceClass devices{preset.device, nodes * perNode, {preset.inside, preset.outside}};
    devices.levels[0].ranks = perNode;
    devices.levels[1].ranks = perNode * std::min(nodes, preset.nodesOfLeaf);
    if (nodes > preset.nodesOfLeaf) { // one more layer of switches
      Level spine = preset.outside;
      spine.name = "spine";
      spine.seconds += 1e-6; // two more switches of a few hundred ns each
      spine.ranks = nodes * perNode;
      devices.levels.push_back(spine);
    }
    return devices;
  }
  return fail("no machine is called '" + name + "'; there are " + names + ", or the name of a JSON file" + guessMachine(name));
}

llvm::Expected<Machine> Machine::get(llvm::StringRef spec) {
  if (spec.ends_with(".json")) {
    auto json = readJsonFile("machine", spec);
    if (!json)
      return json.takeError();
    auto machine = fromJson(*json);
    if (!machine)
      return fail("'" + spec + "': " + llvm::toString(machine.takeError()));
    return machine;
  }
  Machine machine;
  machine.name = spec.str();
  llvm::SmallVector<llvm::StringRef> parts;
  spec.split(parts, '+');
  for (llvm::StringRef part : parts) {
    if (part.empty())
      return fail("'" + spec + "' has a plus with no machine on one side of it");
    auto devices = parseClass(part);
    if (!devices)
      return devices.takeError();
    machine.classes.push_back(*devices);
    if (machine.getNumRanks() > kMostRanks)
      return fail("'" + spec + "' has more than " + llvm::Twine(kMostRanks) + " devices");
  }
  int64_t total = machine.getNumRanks();
  for (DeviceClass &devices : machine.classes) {
    bool alone = devices.levels.front().ranks == total;
    if (alone)
      devices.levels.resize(1); // nothing outside
    else
      devices.levels.back().ranks = total;
  }
  return machine;
}
