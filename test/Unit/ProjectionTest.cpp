//===- ProjectionTest.cpp - Between factors and dimensions ----------------===//
#include "Meshes.h"
#include "para/Partition/Projection.h"

#include <gtest/gtest.h>

using namespace para;

namespace {
/// dot of a[m, k] and b[k, n].
Structure makeDot(int64_t m, int64_t k, int64_t n) {
  Structure structure;
  int fm = structure.addFactor(m), fn = structure.addFactor(n), fk = structure.addFactor(k, FactorKind::Reduction);
  structure.operands = {{{fm}, {fk}}, {{fk}, {fn}}};
  structure.results = {{{fm}, {fn}}};
  structure.linearity = {Linearity::Alone, Linearity::Alone};
  return structure;
}
/// reshape of [a * b * c] to [a, b, c].
Structure makeReshape(int64_t a, int64_t b, int64_t c) {
  Structure structure;
  int fa = structure.addFactor(a), fb = structure.addFactor(b), fc = structure.addFactor(c);
  structure.operands = {{{fa, fb, fc}}};
  structure.results = {{{fa}, {fb}, {fc}}};
  structure.linearity = {Linearity::Joint};
  return structure;
}
OpSplit splitOf(const Structure &structure, int factor, Axes axes, int64_t unit = 1) {
  OpSplit split;
  split.factors.resize(structure.factors.size());
  split.factors[factor] = {axes, unit};
  return split;
}
} // namespace

// Cutting the contracted factor cuts both operands and leaves a partial sum.
TEST(Projection, ContractedFactorGivesPartialSum) {
  Meshes m({{"tensor", 2}});
  Structure dot = makeDot(4, 6, 8);
  Projection projection(dot, m.mesh);
  OpSplit split = splitOf(dot, 2, {m.axis("tensor")});
  EXPECT_EQ(projection.getOperand(split, 0), m.sharding({{}, m.cut({"tensor"})}));
  EXPECT_EQ(projection.getOperand(split, 1), m.sharding({m.cut({"tensor"}), {}}));
  EXPECT_EQ(projection.getResult(split, 0), m.sharding({{}, {}}, {"tensor"}));
  split.local = {m.axis("tensor")}; // a reduction that counts its own part only
  EXPECT_EQ(projection.getResult(split, 0), m.sharding({{}, {}}));
}

// Cutting a free factor cuts one operand and the result.
TEST(Projection, FreeFactorCutsOneOperand) {
  Meshes m({{"data", 2}});
  Structure dot = makeDot(4, 6, 8);
  Projection projection(dot, m.mesh);
  OpSplit split = splitOf(dot, 1, {m.axis("data")});
  EXPECT_EQ(projection.getOperand(split, 0), m.sharding({{}, {}}));
  EXPECT_EQ(projection.getOperand(split, 1), m.sharding({{}, m.cut({"data"})}));
  EXPECT_EQ(projection.getResult(split, 0), m.sharding({{}, m.cut({"data"})}));
}

// A product passes a partial sum of one operand; a sum needs all of its operands partial.
TEST(Projection, LinearOpsPassPartialSums) {
  Meshes m({{"data", 2}});
  Structure dot = makeDot(4, 6, 8);
  OpSplit split = splitOf(dot, 0, {});
  split.partial = {m.axis("data")};
  split.partialOperand = 1;
  Projection projection(dot, m.mesh);
  EXPECT_FALSE(projection.getOperand(split, 0).isPartial("data"));
  EXPECT_TRUE(projection.getOperand(split, 1).isPartial("data"));
  EXPECT_TRUE(projection.getResult(split, 0).isPartial("data"));

  Structure add;
  int f = add.addFactor(4);
  add.operands = {{{f}}, {{f}}, {{f}}};
  add.results = {{{f}}};
  add.linearity = {Linearity::Joint, Linearity::Joint, Linearity::None};
  OpSplit joint = splitOf(add, f, {});
  joint.partial = {m.axis("data")};
  Projection sums(add, m.mesh);
  EXPECT_TRUE(sums.getOperand(joint, 0).isPartial("data"));
  EXPECT_TRUE(sums.getOperand(joint, 1).isPartial("data"));
  EXPECT_FALSE(sums.getOperand(joint, 2).isPartial("data"));
}

// A cut of an inner factor of a merged dimension is told in units and blocks.
TEST(Projection, MergedDimensionsHaveUnitsAndBlocks) {
  Meshes m({{"tensor", 2}});
  Structure reshape = makeReshape(3, 4, 5);
  Projection projection(reshape, m.mesh);
  Axes tensor = {m.axis("tensor")};
  EXPECT_EQ(projection.getOperand(splitOf(reshape, 0, tensor), 0).dims[0], m.cut({"tensor"}, 20, 1));
  EXPECT_EQ(projection.getOperand(splitOf(reshape, 1, tensor), 0).dims[0], m.cut({"tensor"}, 5, 3));
  EXPECT_EQ(projection.getOperand(splitOf(reshape, 2, tensor), 0).dims[0], m.cut({"tensor"}, 1, 12));
  EXPECT_EQ(projection.getResult(splitOf(reshape, 1, tensor), 0), m.sharding({{}, m.cut({"tensor"}), {}}));
}

// Lifting what was projected gives the same cut again, whatever the sizes.
TEST(Projection, LiftInvertsProject) {
  for (int64_t n : {2, 3}) {
    Meshes m({{"tensor", n}});
    for (int64_t a = 2; a <= 5; ++a)
      for (int64_t b = 2; b <= 5; ++b)
        for (int64_t c = 2; c <= 4; ++c) {
          Structure reshape = makeReshape(a, b, c);
          Projection projection(reshape, m.mesh);
          for (int factor = 0; factor < 3; ++factor) {
            OpSplit split = splitOf(reshape, factor, {m.axis("tensor")});
            auto lifted = projection.lift(reshape.operands[0][0], projection.project(reshape.operands[0][0], split));
            ASSERT_TRUE(lifted) << a << " " << b << " " << c << " factor " << factor << " over " << n;
            EXPECT_EQ(lifted->factor, factor);
            EXPECT_EQ(lifted->split, split.factors[factor]);
          }
        }
  }
}

// A cut that goes through the middle of an inner factor is none of a single factor, unless the pieces are equal.
TEST(Projection, LiftRefusesCutsBetweenFactors) {
  Meshes m({{"tensor", 2}});
  Structure uneven = makeReshape(3, 1, 4); // 12 elements: halves of 6 cut the second row of 4
  EXPECT_FALSE(Projection(uneven, m.mesh).lift({0, 2}, m.cut({"tensor"})));
  Structure even = makeReshape(4, 1, 3);
  auto lifted = Projection(even, m.mesh).lift({0, 2}, m.cut({"tensor"}));
  ASSERT_TRUE(lifted);
  EXPECT_EQ(lifted->factor, 0);
  EXPECT_FALSE(Projection(even, m.mesh).lift({0, 2}, DimSharding())); // no cut at all
}

// A dimension of one factor may fall into blocks (a fused projection before it is sliced): the cut goes through ops unchanged.
TEST(Projection, BlocksInsideOfAFactor) {
  Meshes m({{"tensor", 2}});
  Structure dot = makeDot(4, 6, 24);
  Projection projection(dot, m.mesh);
  DimSharding cut = m.cut({"tensor"});
  cut.blocks = 3;
  auto lifted = projection.lift(dot.results[0][1], cut);
  ASSERT_TRUE(lifted);
  EXPECT_EQ(lifted->factor, 1);
  EXPECT_EQ(lifted->split.blocks, 3);
  OpSplit split;
  split.factors.resize(3);
  split.factors[1] = lifted->split;
  EXPECT_EQ(projection.getOperand(split, 1).dims[1], cut);
  EXPECT_EQ(projection.getResult(split, 0).dims[1], cut);
  cut.blocks = 5; // 24 elements do not fall into 5 equal blocks
  EXPECT_FALSE(projection.lift(dot.results[0][1], cut));
}

// Behind a factor that is cut into single elements the next one may be cut, too: samples of one row each, and their sequences.
TEST(Projection, LiftAllGoesOnBehindSingleElements) {
  Meshes m({{"data", 4}, {"context", 2}});
  Structure reshape = makeReshape(4, 6, 5);
  Projection projection(reshape, m.mesh);
  OpSplit split = splitOf(reshape, 0, {m.axis("data")});
  split.factors[1] = {{m.axis("context")}, 1};
  const DimFactors &merged = reshape.operands[0][0];
  EXPECT_TRUE(projection.canBeCut(merged, split));
  DimSharding cut = projection.project(merged, split);
  EXPECT_EQ(cut, m.cut({"data", "context"}, 5, 1));
  auto lifted = projection.liftAll(merged, cut);
  ASSERT_EQ(lifted.size(), 2u);
  for (int factor : {0, 1}) {
    EXPECT_EQ(lifted[factor].factor, factor);
    EXPECT_EQ(lifted[factor].split, split.factors[factor]);
  }
  Structure pairs = makeReshape(8, 6, 5); // two samples a rank
  OpSplit wide = splitOf(pairs, 0, {m.axis("data")});
  wide.factors[1] = {{m.axis("context")}, 1};
  EXPECT_FALSE(Projection(pairs, m.mesh).canBeCut(merged, wide));
}
