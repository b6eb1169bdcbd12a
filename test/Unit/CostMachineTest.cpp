//===- CostMachineTest.cpp - Machines: measured, bought, written down -----===//
#include "../../lib/Cost/Measure.h"
#include "para/Cost/Machine.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>
#include <thread>

using namespace para;

namespace {
Machine get(llvm::StringRef spec) { return llvm::cantFail(Machine::get(spec)); }
std::string text(const Machine &machine) { return llvm::formatv("{0}", llvm::json::Value(machine.toJson())).str(); }
std::string refuse(llvm::json::Value json) { return llvm::toString(Machine::fromJson(json).takeError()); }
std::string refusal(llvm::StringRef json) { return refuse(llvm::cantFail(llvm::json::parse(json))); }
bool has(const std::string &text, llvm::StringRef part) { return llvm::StringRef(text).contains(part); }
} // namespace

// A machine is measured for long enough: numbers that no computer has would mean that the work was dropped.
TEST(CostMachine, MeasuresWhatAComputerHas) {
  int calls = 0;
  double rate = measureRate(1, 0.002, [&] {
    ++calls;
    volatile double sum = 0;
    for (int i = 0; i < 10000; ++i)
      sum = sum + i;
  });
  EXPECT_GE(calls, 6) << "once to warm up, and in five rounds";
  EXPECT_GT(rate, 10);
  EXPECT_LT(rate, 1e6);
  EXPECT_GT(measureFlopsPerSecond(), 1e8);
  EXPECT_LT(measureFlopsPerSecond(), 1e13);
  EXPECT_GT(measureMemoryBytesPerSecond(), 1e8);
  EXPECT_LT(measureMemoryBytesPerSecond(), 1e13);
}

// What was measured is kept, and what cannot have been measured is not believed.
TEST(CostMachine, ImpossibleCachesAreMeasuredAgain) {
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("para-cache", folder));
  const char *before = getenv("XDG_CACHE_HOME");
  std::string kept = before ? before : "";
  setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  std::string file = (folder + "/para/host.json").str();
  auto write = [&](const llvm::json::Object &object) {
    std::error_code error;
    llvm::raw_fd_ostream(file, error) << llvm::json::Value(llvm::json::Object(object));
  };
  Machine first = Machine::getHost(1);
  auto read = llvm::json::parse(llvm::cantFail(llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(file)))->getBuffer());
  ASSERT_TRUE(bool(read));
  llvm::json::Object good = *read->getAsObject();
  good["memory_bytes_per_second"] = 12345678900.0;
  write(good);
  EXPECT_EQ(Machine::getHost(std::max(1u, std::thread::hardware_concurrency())).getMemoryBytesPerSecond(), 12345678900.0) << "a cache that is possible is taken";
  for (double bad : {6710886400000000.0, 0.0, -1.0, 1.0}) {
    llvm::json::Object impossible = good;
    impossible["memory_bytes_per_second"] = bad;
    write(impossible);
    double measured = Machine::getHost(std::max(1u, std::thread::hardware_concurrency())).getMemoryBytesPerSecond();
    EXPECT_GT(measured, 1e8) << bad;
    EXPECT_LT(measured, 1e13) << bad;
    EXPECT_NE(measured, 12345678900.0);
  }
  llvm::json::Object old = good; // as it was before there were versions
  old.erase("version");
  write(old);
  EXPECT_NE(Machine::getHost(std::max(1u, std::thread::hardware_concurrency())).getMemoryBytesPerSecond(), 12345678900.0) << "an old cache is measured again";
  if (before)
    setenv("XDG_CACHE_HOME", kept.c_str(), 1);
  else
    unsetenv("XDG_CACHE_HOME");
  llvm::sys::fs::remove_directories(folder);
}

// A preset has the ranks that its count says, and levels of links up to all of them; an unknown one is answered with those that exist.
TEST(CostMachine, Presets) {
  Machine machine = get("a100-80:2x4");
  EXPECT_EQ(machine.getNumRanks(), 8);
  EXPECT_EQ(machine.getRanksPerNode(), 4);
  EXPECT_NEAR(machine.getMemoryBytes() / (1 << 30), 79.2, 0.1); // as CUDA counts it
  ASSERT_EQ(machine.classes.size(), 1u);
  ASSERT_EQ(machine.classes[0].levels.size(), 2u);
  EXPECT_EQ(machine.classes[0].levels[1].ranks, 8);
  EXPECT_EQ(get("h100").classes[0].levels.size(), 1u) << "a node alone has no network";
  EXPECT_EQ(get("h100:32").classes[0].levels.size(), 2u);
  EXPECT_EQ(get("h100:64").classes[0].levels.size(), 3u) << "leaves and a spine";
  EXPECT_EQ(get("gb200").getRanksPerNode(), 72);
  for (llvm::StringRef name : {"v100", "a100-40", "a100-80", "dgx-a100", "h100", "dgx-h100", "h200", "b200", "gb200", "l40s", "rtx4090"}) {
    Device device = get(name).getDevice(0);
    EXPECT_GT(device.getFlops(CostType::F16), 100e12) << name.str();
    EXPECT_GE(device.getFlops(CostType::BF16), device.getFlops(CostType::F32)) << name.str();
    EXPECT_GE(device.getFlops(CostType::F8), device.getFlops(CostType::F16)) << name.str();
  }
  EXPECT_EQ(get("v100").getDevice(0).getFlops(CostType::BF16), 15.7e12) << "no bf16: as f32";
  EXPECT_TRUE(has(llvm::toString(Machine::get("z100:2").takeError()), "a100-80"));
  for (llvm::StringRef bad : {"h100:0", "h100:1x", "h100:x2", "h100:2x0", "h100:-1", "h100:1x2x3", "h100+", "+h100"})
    EXPECT_FALSE(bool(llvm::expectedToOptional(Machine::get(bad)))) << bad.str();
  EXPECT_TRUE(has(llvm::toString(Machine::get("a100-40:1x").takeError()), "is not PRESET:NODES or PRESET:NODESxDEVICES"));
  EXPECT_TRUE(has(llvm::toString(Machine::get("h100:1048576").takeError()), "more than 1048576 devices"));
  EXPECT_TRUE(has(llvm::toString(Machine::get("h100:131072+h100:1").takeError()), "more than 1048576 devices"));
}

// Devices of several classes are numbered one class after the other; the weakest says what fits.
TEST(CostMachine, MixedClasses) {
  Machine machine = get("a100-80:1x6+h200:1x2");
  EXPECT_EQ(machine.getNumRanks(), 8);
  EXPECT_EQ(machine.getDevice(5).name, "A100-SXM4-80GB");
  EXPECT_EQ(machine.getDevice(6).name, "H200-SXM-141GB");
  EXPECT_NEAR(machine.getMemoryBytes() / (1 << 30), 79.2, 0.1);
  EXPECT_EQ(machine.getRanksPerNode(), 2);
  for (const DeviceClass &devices : machine.classes)
    EXPECT_EQ(devices.levels.back().ranks, 8);
}

// What is written and read is the same machine, with constants of its own too.
TEST(CostMachine, JsonRoundTrip) {
  for (llvm::StringRef spec : {"a100-80:2x4", "h100:64", "a100-80:1x6+h100:1x2", "v100", "rtx4090:2"}) {
    Machine machine = get(spec);
    EXPECT_EQ(text(llvm::cantFail(Machine::fromJson(machine.toJson()))), text(machine)) << spec.str();
  }
  Machine machine = get("h100:2");
  machine.classes[0].device.constants.productFraction = 0.5;
  machine.classes[0].levels[1].constants.simpleFraction = 0.25;
  Machine read = llvm::cantFail(Machine::fromJson(machine.toJson()));
  EXPECT_EQ(read.classes[0].device.constants.productFraction, 0.5);
  EXPECT_EQ(read.classes[0].levels[1].constants.simpleFraction, 0.25);
  EXPECT_EQ(read.classes[0].levels[0].constants.simpleFraction, machine.classes[0].levels[0].constants.simpleFraction);
}

// The short form says what is sustained by devices of one class.
TEST(CostMachine, ShortForm) {
  llvm::json::Object object{{"ranks_per_node", 4},
                            {"nodes", 2},
                            {"memory_bytes", 1e10},
                            {"flops_per_second", 1e13},
                            {"memory_bytes_per_second", 1e12},
                            {"link_bytes_per_second", 1e10},
                            {"link_seconds", 1e-6},
                            {"network_bytes_per_second", 1e9},
                            {"network_seconds", 1e-5},
                            {"launch_seconds", 1e-6}};
  Machine machine = llvm::cantFail(Machine::fromJson(llvm::json::Object(object)));
  EXPECT_EQ(machine.getNumRanks(), 8);
  EXPECT_EQ(machine.getRanksPerNode(), 4);
  EXPECT_EQ(machine.getFlopsPerSecond(), 1e13);
  EXPECT_EQ(machine.getLinkBytesPerSecond(false), 1e9);
  EXPECT_EQ(text(llvm::cantFail(Machine::fromJson(machine.toJson()))), text(machine));
  object["flops_per_second"] = 1e300;
  EXPECT_TRUE(has(refuse(llvm::json::Object(object)), "'flops_per_second' of the machine is 1.000000E+300, which no machine has"));
  object.erase("flops_per_second");
  EXPECT_TRUE(has(refuse(llvm::json::Object(object)), "needs a number 'flops_per_second'"));
  object["nodes"] = int64_t(1) << 40;
  EXPECT_TRUE(has(refuse(llvm::json::Object(object)), "1048576 devices together at most"));
}

// Files that are no machines are refused with what is wrong.
TEST(CostMachine, BadFilesAreRefused) {
  EXPECT_TRUE(has(refusal("[]"), "JSON object"));
  EXPECT_TRUE(has(refusal(R"({"devices": []})"), "empty"));
  EXPECT_TRUE(has(refusal(R"({"devices": [1]})"), "JSON objects"));
  EXPECT_TRUE(has(refusal(R"({"devices": [{"count": 0}]})"), "'count'"));
  EXPECT_TRUE(has(refusal(R"({"devices": [{"count": 9e15}]})"), "'count'"));
  EXPECT_TRUE(has(refusal(R"({"devices": [{"count": 1, "kind": "abacus"}]})"), "'abacus'; there are plain"));
  auto change = [](auto edit) {
    llvm::json::Value value = get("h100:2").toJson();
    llvm::json::Object &devices = *(*value.getAsObject()->getArray("devices"))[0].getAsObject();
    edit(devices, *(*devices.getArray("levels"))[1].getAsObject());
    return refuse(value);
  };
  using O = llvm::json::Object;
  EXPECT_TRUE(has(change([](O &devices, O &) { devices.erase("memory_bytes"); }), "needs a number 'memory_bytes'"));
  EXPECT_TRUE(has(change([](O &devices, O &) { devices["memory_bytes"] = -1; }), "'memory_bytes' of the machine is -1"));
  EXPECT_TRUE(has(change([](O &devices, O &) {
                    devices["flops_per_second"] = O{{"bf16", 1e300}};
                  }),
                  "'flops_per_second' of the machine is 1.000000E+300"));
  EXPECT_TRUE(has(change([](O &devices, O &) { devices["flops_per_second"] = O{}; }), "'f32' in 'flops_per_second'"));
  EXPECT_TRUE(has(change([](O &devices, O &) { devices["flops_per_second"] = O{{"bf16", "fast"}}; }), "needs a number 'flops_per_second'"));
  EXPECT_TRUE(has(change([](O &devices, O &) { devices["constants"] = O{{"magic", 1}}; }), "'constants' of the machine has no 'magic'; there are "));
  EXPECT_TRUE(has(change([](O &devices, O &) { devices["constants"] = O{{"product_fraction", 2}}; }), "'product_fraction'"));
  EXPECT_TRUE(has(change([](O &devices, O &) { devices.erase("levels"); }), "'levels'"));
  EXPECT_TRUE(has(change([](O &, O &level) { level["ranks"] = 17; }), "must join all 16 ranks"));
  EXPECT_TRUE(has(change([](O &, O &level) { level["ranks"] = 4; }), "multiple of the 8"));
  EXPECT_TRUE(has(change([](O &, O &level) { level["kind"] = "string"; }), "'string'; there are plain"));
  EXPECT_TRUE(has(change([](O &, O &level) { level["oversubscription"] = 0; }), "'oversubscription'"));
  EXPECT_TRUE(has(change([](O &devices, O &) { devices["count"] = 8; }), "must join all 8 ranks"));
}

// What is misspelt is refused with what was meant, or with all that there is.
TEST(CostMachine, UnknownKeysAreRefused) {
  EXPECT_TRUE(has(refusal(R"({"rank_per_node": 4})"), "a machine has no 'rank_per_node'; did you mean 'ranks_per_node'?"));
  EXPECT_TRUE(has(refusal(R"({"z": 1, "gpus": 4})"), "a machine has no 'gpus'; there are name, devices, ranks_per_node, nodes, memory_bytes, "));
  EXPECT_TRUE(has(refusal(R"({"nodes": "two"})"), "'nodes' of the machine must be a whole number"));
  auto change = [](auto edit) {
    llvm::json::Value value = get("h100:2").toJson();
    llvm::json::Object &devices = *(*value.getAsObject()->getArray("devices"))[0].getAsObject();
    edit(*value.getAsObject(), devices, *(*devices.getArray("levels"))[1].getAsObject());
    return refuse(value);
  };
  using O = llvm::json::Object;
  EXPECT_TRUE(has(change([](O &machine, O &, O &) { machine["nodes"] = 2; }), "a machine with a list of devices has no 'nodes'; there are name, devices"));
  EXPECT_TRUE(has(change([](O &, O &devices, O &) { devices["l2_byte"] = 1; }), "a device of the machine has no 'l2_byte'; did you mean 'l2_bytes'?"));
  EXPECT_TRUE(has(change([](O &, O &, O &level) { level["oversubscribtion"] = 2; }), "a level of the machine has no 'oversubscribtion'; did you mean 'oversubscription'?"));
  EXPECT_TRUE(has(change([](O &, O &devices, O &) { (*devices.getObject("flops_per_second"))["fp16"] = 1e12; }), "'flops_per_second' of the machine has no 'fp16'; did you mean 'f16'?"));
  EXPECT_TRUE(has(change([](O &, O &devices, O &) { devices["constants"] = O{{"product_fractions", 0.5}}; }), "'constants' of the machine has no 'product_fractions'; did you mean 'product_fraction'?"));
}

// Ranks of the host share its cores and its memory.
TEST(CostMachine, HostIsShared) {
  int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  Machine one = Machine::getHost(1), each = Machine::getHost(cores), many = Machine::getHost(4 * cores);
  EXPECT_EQ(many.getNumRanks(), 4 * cores);
  EXPECT_DOUBLE_EQ(many.getMemoryBytes() * 4 * double(cores), one.getMemoryBytes());
  EXPECT_DOUBLE_EQ(each.getFlopsPerSecond() * double(cores), one.getFlopsPerSecond()); // alone, a rank has a thread on each
  EXPECT_DOUBLE_EQ(many.getFlopsPerSecond(), each.getFlopsPerSecond());                // and while the others wait, one core
  EXPECT_EQ(each.sharedCores, 0);
  EXPECT_EQ(many.sharedCores, double(cores));
}
