//===- CostCollectiveTest.cpp - Seconds of collectives --------------------===//
#include "para/Cost/Collective.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

using namespace para;

namespace {
constexpr double kMiB = 1 << 20, kGiB = 1 << 30;
constexpr CollectiveKind kAll[] = {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
                                   CollectiveKind::AllToAll,  CollectiveKind::Broadcast, CollectiveKind::SendReceive};
Machine get(llvm::StringRef spec) { return llvm::cantFail(Machine::get(spec)); }
double allReduce(const Machine &machine, double bytes, int64_t ranks, int64_t stride = 1) {
  return collectiveSeconds(machine, CollectiveKind::AllReduce, bytes, ranks, stride);
}
const char *const kSpecs[] = {"v100:2",     "a100-80:4", "h100:64", "b200:4", "gb200:2", "l40s:2", "rtx4090", "a100-80:1x6+h100:1x2",
                              "a100-40:3x5"};
} // namespace

// One rank alone has nothing to do; two have.
TEST(CostCollective, OneRankIsFree) {
  for (const char *spec : kSpecs)
    for (CollectiveKind kind : kAll) {
      EXPECT_EQ(collectiveSeconds(get(spec), kind, kGiB, 1, 1), 0) << spec;
      EXPECT_EQ(sentBytes(kind, kGiB, 1), 0);
      EXPECT_GT(collectiveSeconds(get(spec), kind, kGiB, 2, 1), 0) << spec;
    }
}

// More bytes never take less time, and a little more takes a little more: algorithms and protocols change where they are equal.
TEST(CostCollective, GrowsWithBytesWithoutJumps) {
  for (const char *spec : kSpecs) {
    Machine machine = get(spec);
    for (CollectiveKind kind : kAll)
      for (int64_t ranks = 2; ranks <= machine.getNumRanks() && ranks <= 64; ranks *= 2) {
        double before = collectiveSeconds(machine, kind, 256, ranks, 1);
        for (double bytes = 256 * 1.02; bytes < 4 * kGiB; bytes *= 1.02) {
          double now = collectiveSeconds(machine, kind, bytes, ranks, 1);
          EXPECT_GE(now, before) << spec << " " << getName(kind).str() << " " << ranks << " " << bytes;
          EXPECT_LE(now, before * 1.021) << spec << " " << getName(kind).str() << " " << ranks << " " << bytes;
          before = now;
        }
      }
  }
}

// No faster than the links allow: a ring sends 2 (n - 1) / n of the bytes over them, a switch that reduces (n + 1) / n, an all-gather
// (n - 1) / n (published formulas).
TEST(CostCollective, LinksBoundTheRate) {
  for (const char *spec : {"v100", "a100-80", "h100", "b200", "gb200", "l40s", "rtx4090"}) {
    Machine machine = get(spec);
    const Level &level = machine.classes[0].levels[0];
    for (int64_t ranks : {2, 3, 4, 8})
      for (double bytes : {kMiB, 64 * kMiB, 16 * kGiB}) {
        double n = double(ranks), fewest = level.inNetworkReduction ? std::min(2 * (n - 1) / n, (n + 1) / n) : 2 * (n - 1) / n;
        EXPECT_GE(allReduce(machine, bytes, ranks), fewest * bytes / level.bytesPerSecond) << spec << ranks;
        for (CollectiveKind kind : {CollectiveKind::AllGather, CollectiveKind::ReduceScatter, CollectiveKind::AllToAll})
          EXPECT_GE(collectiveSeconds(machine, kind, bytes, ranks, 1), (n - 1) / n * bytes / level.bytesPerSecond) << spec << ranks;
      }
  }
  // Between nodes: two nodes exchange half of the result in each direction through the adapters of all their devices.
  EXPECT_GE(allReduce(get("a100-80:2"), kGiB, 16), kGiB / (8 * 25e9));
  EXPECT_GE(allReduce(get("a100-80:2"), kGiB, 2, 8), kGiB / 25e9) << "one device a node has one adapter";
}

// Rows of published measurements: vTrain's tables of nccl-tests on a DGX A100 node; 1 GiB within 3 %, less within more.
TEST(CostCollective, MeasuredOnA100) {
  Machine machine = get("a100-80");
  EXPECT_NEAR(allReduce(machine, kGiB, 8) / 8193.0e-6, 1, 0.03);
  EXPECT_NEAR(allReduce(machine, kGiB, 4) / 7259.4e-6, 1, 0.03);
  EXPECT_NEAR(allReduce(machine, kGiB, 2) / 5442.8e-6, 1, 0.03);
  EXPECT_NEAR(allReduce(machine, 48 * kMiB, 8) / 439.4e-6, 1, 0.07);
  EXPECT_NEAR(allReduce(machine, 8 * kMiB, 8) / 134.3e-6, 1, 0.10);
}

// On a hybrid cube mesh the number of members says how many rings there are (same source).
TEST(CostCollective, MeasuredOnV100) {
  Machine machine = get("v100");
  EXPECT_NEAR(allReduce(machine, kGiB, 8) / 13969e-6, 1, 0.03);
  EXPECT_NEAR(allReduce(machine, kGiB, 5) / 46223e-6, 1, 0.03);
  EXPECT_NEAR(allReduce(machine, kGiB, 4) / 18869e-6, 1, 0.03);
}

// H200 and B200 reduce in their switches (ml-engineering: 16 GiB on 8 H200, 4 GiB on 8 B200 and on 4 nodes of them with 400 Gb/s a device).
TEST(CostCollective, MeasuredInTheSwitch) {
  EXPECT_NEAR(allReduce(get("h200"), 16 * kGiB, 8) / 62342.71e-6, 1, 0.03);
  EXPECT_NEAR(allReduce(get("b200"), 4 * kGiB, 8) / 8969.2e-6, 1, 0.03);
  Machine onEfa = get("b200:4");
  onEfa.classes[0].levels[1].kind = "efa";
  onEfa.classes[0].levels[1].constants = findNetworkKind("efa")->constants;
  EXPECT_NEAR(allReduce(onEfa, 4 * kGiB, 32) / 22210.8e-6, 1, 0.03);
  EXPECT_NEAR(allReduce(onEfa, 128 * kMiB, 32) / 998.26e-6, 1, 0.10);
  Machine without = get("h200");
  without.classes[0].levels[0].inNetworkReduction = false;
  EXPECT_NEAR(allReduce(without, 4 * kGiB, 8) / 20558.5e-6, 1, 0.03);
}

// Members that lie further apart cross more levels: within a node, between nodes, over the spine.
TEST(CostCollective, StrideSaysWhatIsCrossed) {
  Machine machine = get("a100-80:64");
  double node = allReduce(machine, 64 * kMiB, 8, 1), leaf = allReduce(machine, 64 * kMiB, 8, 8),
         spine = allReduce(machine, 64 * kMiB, 8, 64);
  EXPECT_LT(node, leaf / 4);
  EXPECT_LT(leaf, spine);
  EXPECT_LT(spine, leaf * 1.1);
  Machine slim = machine;
  slim.classes[0].levels.back().oversubscription = 4;
  EXPECT_GT(allReduce(slim, 64 * kMiB, 8, 64), spine * 3) << "a spine of a quarter of the links";
  EXPECT_EQ(allReduce(slim, 64 * kMiB, 4, 8), allReduce(machine, 64 * kMiB, 4, 8)) << "which leaves do not use";
}

// Blocks and communicators: divided evenly, alone, or straddling.
TEST(CostCollective, MembersInside) {
  EXPECT_EQ(getMembersInside(8, 8, 1, 64), 8);
  EXPECT_EQ(getMembersInside(8, 4, 2, 64), 4);
  EXPECT_EQ(getMembersInside(8, 16, 1, 64), 8);
  EXPECT_EQ(getMembersInside(8, 16, 4, 64), 2);
  EXPECT_EQ(getMembersInside(8, 4, 8, 64), 1);
  EXPECT_EQ(getMembersInside(8, 3, 1, 8), 3) << "all of the machine is joined";
  EXPECT_EQ(getMembersInside(8, 3, 1, 24), 1) << "the third straddles nodes: 6, 7 and 8";
  EXPECT_EQ(getMembersInside(8, 12, 1, 24), 4);
  EXPECT_EQ(getMembersInside(8, 5, 1, 16), 5) << "alone: no second one fits";
}

// Going from one node to two with the devices of one takes no less time; from 2 to 64 nodes time grows slowly.
TEST(CostCollective, Hierarchy) {
  for (const char *kind : {"a100-80", "h100", "b200"}) {
    auto on = [&](int64_t nodes) {
      Machine machine = get((kind + llvm::Twine(":") + llvm::Twine(nodes)).str());
      return allReduce(machine, kGiB, machine.getNumRanks());
    };
    double before = on(1);
    for (int64_t nodes = 2; nodes <= 64; nodes *= 2) {
      EXPECT_GE(on(nodes), before * 0.97) << kind << nodes;
      EXPECT_LT(on(nodes), before * (nodes == 2 ? 4 : 2.1)) << kind << nodes;
      before = on(nodes);
    }
  }
  // For small messages over many nodes a ring through all is the worst; trees and levels are there.
  Machine machine = get("a100-80:64");
  EXPECT_LT(allReduce(machine, 64 * 1024, 512), 1e-3);
}

// A machine of two classes is as slow as its slower links.
TEST(CostCollective, SlowestClassDecides) {
  Machine mixed = get("a100-80:1x4+h100:1x4");
  EXPECT_DOUBLE_EQ(allReduce(mixed, kGiB, 4), allReduce(get("a100-80:2x4"), kGiB, 4));
  EXPECT_GT(allReduce(mixed, kGiB, 4), allReduce(get("h100:2x4"), kGiB, 4));
}

TEST(CostCollective, SentBytes) {
  EXPECT_DOUBLE_EQ(sentBytes(CollectiveKind::AllReduce, 8, 4), 12);
  EXPECT_DOUBLE_EQ(sentBytes(CollectiveKind::AllGather, 8, 4), 6);
  EXPECT_DOUBLE_EQ(sentBytes(CollectiveKind::ReduceScatter, 8, 4), 6);
  EXPECT_DOUBLE_EQ(sentBytes(CollectiveKind::AllToAll, 8, 4), 6);
  EXPECT_DOUBLE_EQ(sentBytes(CollectiveKind::SendReceive, 8, 4), 8);
  for (CollectiveKind kind : kAll)
    EXPECT_EQ(parseCollectiveKind(getName(kind)), kind);
}

// On links of which all is known the textbook's formulas come out.
TEST(CostCollective, PlainLinks) {
  Machine host = Machine::getHost(4);
  Level &level = host.classes[0].levels[0];
  level.bytesPerSecond = 1e9;
  level.seconds = 1e-6;
  EXPECT_NEAR(allReduce(host, 1e9, 4), 6e-6 + 1.5, 1e-9);
  EXPECT_NEAR(collectiveSeconds(host, CollectiveKind::AllGather, 1e9, 4, 1), 3e-6 + 0.75, 1e-9);
  EXPECT_NEAR(collectiveSeconds(host, CollectiveKind::AllToAll, 1e9, 4, 1), 3e-6 + 0.75, 1e-9);
  EXPECT_NEAR(collectiveSeconds(host, CollectiveKind::SendReceive, 1e9, 4, 1), 1e-6 + 1, 1e-9);
  EXPECT_NEAR(allReduce(host, 4, 4), 4e-6, 1e-7) << "a tree of two levels, up and down";
}

// Of the copies of a row, which go to members drawn at random, one enters each block that has members for it.
TEST(CostCollective, RowsEnterOnce) {
  Machine host = Machine::getHost(4);
  host.classes[0].levels[0].bytesPerSecond = 1e9;
  host.classes[0].levels[0].seconds = 0;
  std::mt19937 random(1);
  for (int copies : {1, 2, 8}) {
    double entered = 0, draws = 20000;
    for (int draw = 0; draw < int(draws); ++draw) {
      std::set<unsigned> members;
      for (int copy = 0; copy < copies; ++copy)
        members.insert(random() % 4);
      entered += double(members.size()) / draws;
    }
    EXPECT_NEAR(collectiveSeconds(host, CollectiveKind::AllToAll, 1e9, 4, 1, copies), 0.75 * entered / copies, 0.01) << copies;
  }
  // Of two nodes of eight, nearly all rows go to the other one, once instead of four times.
  Machine nodes = get("h100:2");
  double all = collectiveSeconds(nodes, CollectiveKind::AllToAll, kGiB, 16, 1), once = collectiveSeconds(nodes, CollectiveKind::AllToAll, kGiB, 16, 1, 8);
  EXPECT_NEAR(once / all, 0.25, 0.02);
}
