//===- AffinityTest.cpp - The cores next to a device ---------------------------===//
//
// Intent: a rank is bound to those of its cores that are next to its GPU, as a system's files tell, and is left alone where they do not tell, or
// where somebody has bound it.
//
//===----------------------------------------------------------------------===//
#include "TestSupport.h"

#include "core/Affinity.h"

#include <sched.h>

using namespace para::runtime;

namespace {
/// A system with two nodes; the device 0000:3b:00.0 is at the second.
class Affinity : public testing::Test {
protected:
  void put(const std::string &path, const std::string &text) {
    ASSERT_EQ(std::system(("mkdir -p $(dirname " + (folder / path) + ")").c_str()), 0);
    writeText(folder / path, text);
  }
  void SetUp() override {
    put("bus/pci/devices/0000:3b:00.0/numa_node", "1\n");
    put("bus/pci/devices/0000:5e:00.0/numa_node", "-1\n");
    put("devices/system/node/node0/cpulist", "0-3\n");
    put("devices/system/node/node1/cpulist", "4-6,12\n");
  }
  /// The cores on which this process may run.
  static std::vector<int> cores() {
    cpu_set_t set;
    std::vector<int> list;
    sched_getaffinity(0, sizeof(set), &set);
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &set))
        list.push_back(i);
    return list;
  }
  static std::string text(const std::vector<int> &list) {
    std::string said;
    for (int i : list)
      said += (said.empty() ? "" : ",") + std::to_string(i);
    return said;
  }
  TemporaryFolder folder;
};
} // namespace

TEST_F(Affinity, ReadsListsOfCores) {
  EXPECT_EQ(parseList("0-2,7,9-9"), (std::vector<int>{0, 1, 2, 7, 9}));
  EXPECT_EQ(parseList("5,1,1-2"), (std::vector<int>{1, 2, 5}));
  for (const char *wrong : {"", "x", "1-", "3-1", "-1", "0-99999999"})
    EXPECT_TRUE(parseList(wrong).empty()) << wrong;
}

TEST_F(Affinity, FindsTheNodeOfADevice) {
  Neighborhood found = findNeighborhood(folder.path, "0000:3B:00.0"); // CUDA writes capitals
  EXPECT_EQ(found.node, 1);
  EXPECT_EQ(found.cores, (std::vector<int>{4, 5, 6, 12}));
  EXPECT_EQ(findNeighborhood(folder.path, "0000:5e:00.0").node, -1);
  EXPECT_EQ(findNeighborhood(folder.path, "0000:99:00.0").node, -1);
}

TEST_F(Affinity, KnowsWhoIsBound) {
  put("devices/system/cpu/online", text(cores()) + "\n");
  EXPECT_FALSE(isBound(folder.path));
  put("devices/system/cpu/online", text(cores()) + "," + std::to_string(cores().back() + 1) + "\n");
  EXPECT_TRUE(isBound(folder.path)); // not on all cores
  EXPECT_TRUE(isBound("/nowhere"));
}

TEST_F(Affinity, BindsToTheCoresThatItMayUse) {
  std::vector<int> all = cores();
  auto inChild = [](auto what) {
    pid_t child = fork();
    if (child == 0)
      _exit(what() ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  };
  EXPECT_TRUE(inChild([&] {
    std::string said;
    return bindTo({0, {all.back(), 9999}}, said) && cores() == std::vector<int>{all.back()} && said.rfind("is bound to 1 cores of NUMA node 0", 0) == 0;
  }));
  EXPECT_TRUE(inChild([&] { // none of them is its own
    std::string said;
    return !bindTo({0, {9999}}, said) && cores() == all && said.empty();
  }));
}
