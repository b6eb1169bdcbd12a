//===- PlannerTest.cpp - Memory, index arithmetic and products by themselves ===//
#include "Lower/IndexMath.h"
#include "Lower/KernelStreams.h"
#include "Lower/Matmul.h"
#include "Lower/MemoryPlanner.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <random>

using namespace para;

static std::vector<LiveRange> rangesOf(const std::vector<PlannedBuffer> &buffers) {
  std::vector<LiveRange> ranges;
  for (size_t i = 0; i < buffers.size(); ++i)
    ranges.push_back({buffers[i].offset, buffers[i].offset + buffers[i].bytes, buffers[i].first, buffers[i].last, static_cast<int>(i)});
  return ranges;
}

TEST(Memory, RandomPlansDoNotOverlap) {
  std::mt19937 engine(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<PlannedBuffer> buffers;
    int64_t sum = 0;
    for (int i = 0; i < 100; ++i) {
      int64_t first = engine() % 200;
      buffers.push_back({static_cast<int64_t>(engine() % 5000 + 1), first, first + static_cast<int64_t>(engine() % 40), -1});
      sum += alignBytes(buffers.back().bytes);
    }
    int64_t bytes = planMemory(buffers);
    EXPECT_EQ(verifyMemory(rangesOf(buffers), bytes), "");
    EXPECT_LT(bytes, sum / 2);
    for (const PlannedBuffer &b : buffers)
      EXPECT_EQ(b.offset % arenaAlignment, 0);
  }
}

TEST(Memory, SharesBytesOverTime) {
  std::vector<PlannedBuffer> buffers{{1000, 0, 1, -1}, {1000, 2, 3, -1}, {1000, 4, 5, -1}};
  EXPECT_EQ(planMemory(buffers), 1024);
}

/// The check is no copy of the planner: it must see each way in which a plan can be wrong.
TEST(Memory, CheckFindsOverlaps) {
  EXPECT_NE(verifyMemory({{0, 64, 0, 5, 0}, {32, 96, 5, 9, 1}}, 128), "");
  EXPECT_EQ(verifyMemory({{0, 64, 0, 4, 0}, {32, 96, 5, 9, 1}}, 128), "");
  EXPECT_EQ(verifyMemory({{0, 64, 0, 5, 0}, {32, 64, 5, 9, 0}}, 128), "");
  EXPECT_NE(verifyMemory({{0, 256, 0, 5, 0}, {64, 96, 1, 2, 1}}, 256), "");
  EXPECT_NE(verifyMemory({{64, 129, 0, 5, 0}}, 128), "");
}

TEST(IndexMath, QuotientsVanish) {
  mlir::MLIRContext context;
  mlir::AffineExpr a = mlir::getAffineDimExpr(0, &context), b = mlir::getAffineDimExpr(1, &context);
  llvm::SmallVector<int64_t> extents{4, 8};
  EXPECT_EQ(linearForm((a * 8 + b).floorDiv(8), extents).toExpr(&context), a);
  EXPECT_EQ(linearForm((a * 8 + b) % 8, extents).toExpr(&context), b);
  EXPECT_EQ(linearForm((a * 8 + b).floorDiv(16), extents).toExpr(&context), a.floorDiv(2));
  EXPECT_TRUE(sameFunction((a * 8 + b).floorDiv(3) * 3 + (a * 8 + b) % 3, a * 8 + b, extents));
  EXPECT_FALSE(sameFunction((a * 8 + b).floorDiv(3) * 3, a * 8 + b, extents));
  // A collapsed loop over a 3x3 window is linear in itself again.
  mlir::AffineExpr x = a;
  llvm::SmallVector<int64_t> shape{64, 3, 3}, collapsed{576, 1};
  EXPECT_EQ(linearForm(x.floorDiv(3).floorDiv(3), collapsed).toExpr(&context), x.floorDiv(9));
  EXPECT_EQ(linearForm((x.floorDiv(3) + 5).floorDiv(4), collapsed).toExpr(&context), (x + 3).floorDiv(12) + 1);
  LinearForm form = linearForm(linearize(delinearize(x, shape, &context), shape, &context), collapsed);
  EXPECT_EQ(simplest(form, collapsed).toExpr(&context), x);
}

/// Every simplification is checked against the plain meaning of the expression.
TEST(IndexMath, SimplifiedExpressionsAgree) {
  mlir::MLIRContext context;
  mlir::AffineExpr d[] = {mlir::getAffineDimExpr(0, &context), mlir::getAffineDimExpr(1, &context), mlir::getAffineDimExpr(2, &context)};
  llvm::SmallVector<int64_t> extents{3, 4, 6};
  std::function<int64_t(mlir::AffineExpr, llvm::ArrayRef<int64_t>)> value = [&](mlir::AffineExpr e, llvm::ArrayRef<int64_t> at) -> int64_t {
    if (auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(e))
      return at[dim.getPosition()];
    if (auto c = llvm::dyn_cast<mlir::AffineConstantExpr>(e))
      return c.getValue();
    auto binary = llvm::cast<mlir::AffineBinaryOpExpr>(e);
    int64_t x = value(binary.getLHS(), at), y = value(binary.getRHS(), at);
    int64_t quotient = e.getKind() == mlir::AffineExprKind::Add || e.getKind() == mlir::AffineExprKind::Mul ? 0 : (x >= 0 ? x / y : -((-x + y - 1) / y));
    switch (e.getKind()) {
    case mlir::AffineExprKind::Add:
      return x + y;
    case mlir::AffineExprKind::Mul:
      return x * y;
    case mlir::AffineExprKind::Mod:
      return x - y * quotient;
    default:
      return quotient;
    }
  };
  std::mt19937 engine(2);
  for (int round = 0; round < 300; ++round) {
    mlir::AffineExpr e = d[engine() % 3];
    for (int step = 0; step < 5; ++step) {
      int64_t c = engine() % 7 + 1;
      switch (engine() % 4) {
      case 0:
        e = e * c;
        break;
      case 1:
        e = e + d[engine() % 3] * c - 3;
        break;
      case 2:
        e = e.floorDiv(c);
        break;
      default:
        e = e % c;
      }
    }
    LinearForm form = linearForm(e, extents);
    mlir::AffineExpr simple = form.toExpr(&context), expanded = expandRests(form, extents).toExpr(&context);
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t j = 0; j < 4; ++j)
        for (int64_t k = 0; k < 6; ++k) {
          ASSERT_EQ(value(simple, {i, j, k}), value(e, {i, j, k}));
          ASSERT_EQ(value(expanded, {i, j, k}), value(e, {i, j, k}));
        }
  }
}

/// Where a pattern of lanes is found, it is the form at every vector.
TEST(IndexMath, LanePatternsAgree) {
  mlir::MLIRContext context;
  mlir::AffineExpr row = mlir::getAffineDimExpr(0, &context), column = mlir::getAffineDimExpr(1, &context);
  llvm::SmallVector<int64_t> extents{5, 64};
  auto value = [&](mlir::AffineExpr e, int64_t r, int64_t c) {
    mlir::AffineExpr at = e.replaceDims({mlir::getAffineConstantExpr(r, &context), mlir::getAffineConstantExpr(c, &context)});
    return llvm::cast<mlir::AffineConstantExpr>(at).getValue();
  };
  struct Case {
    mlir::AffineExpr index;
    int64_t lanes, span; // span 0: no pattern
  };
  for (const Case &c : {Case{row * 64 + column, 8, 8}, Case{row * 128 + column * 2 - 1, 8, 15}, Case{(column + 1).floorDiv(2) + row, 8, 5},
                        Case{(column - 1).floorDiv(2) + row, 8, 5}, Case{(column * 3 - 2) % 8, 8, 8}, Case{column.floorDiv(64) * 7 + row, 8, 1},
                        Case{column % 16 + (row * 64 + column).floorDiv(16), 8, 8}, Case{(column - 16).floorDiv(32), 16, 1},
                        Case{(row * 48 + column) % 56, 8, 8}, Case{(row * 4 + column) % 56, 8, 0}, Case{(column + 1) % 16, 8, 0}, Case{column.floorDiv(3), 8, 0}, Case{(column + row).floorDiv(2), 8, 0}, Case{column % 3, 4, 0}}) {
    std::optional<LanePattern> pattern = lanePattern(linearForm(c.index, extents), 1, c.lanes, extents);
    ASSERT_EQ(pattern.has_value(), c.span != 0);
    if (!pattern)
      continue;
    EXPECT_EQ(pattern->span(), c.span);
    for (int64_t r = 0; r < extents[0]; ++r)
      for (int64_t first = 0; first < extents[1]; first += c.lanes)
        for (int64_t i = 0; i < c.lanes; ++i)
          ASSERT_EQ(value(pattern->first.toExpr(&context), r, first) + pattern->steps[i], value(c.index, r, first + i));
  }
}

TEST(Matmul, FoldsContiguousDimensions) {
  MatmulPlan plan;
  // a[4, 8, 16] x b[16, 12]: 32 rows.
  ASSERT_EQ(planMatmul({}, {{4, 128, 0, 96}, {8, 16, 0, 12}}, {{12, 0, 1, 1}}, {{16, 1, 12, 0}}, plan), MatmulObstacle::None);
  EXPECT_EQ(plan.m, 32);
  EXPECT_TRUE(plan.batch.empty());
  // Rows with a gap become a batch.
  ASSERT_EQ(planMatmul({}, {{4, 256, 0, 96}, {8, 16, 0, 12}}, {{12, 0, 1, 1}}, {{16, 1, 12, 0}}, plan), MatmulObstacle::None);
  EXPECT_EQ(plan.batch.size(), 1u);
  // Contracted dimensions with a gap do not fold, and a matrix without a unit stride is in the way.
  EXPECT_EQ(planMatmul({}, {{4, 64, 0, 12}}, {{12, 0, 1, 1}}, {{4, 16, 24, 0}, {4, 1, 12, 0}}, plan), MatmulObstacle::Contract);
  EXPECT_EQ(planMatmul({}, {{4, 64, 0, 12}}, {{12, 0, 1, 1}}, {{16, 2, 12, 0}}, plan), MatmulObstacle::Lhs);
}

namespace {
/// A buffer x of floats that a kernel with 1024 rows reads in one pass over rows of 256 and in another, and y that it writes.
struct Streams : testing::Test {
  mlir::MLIRContext ctx;
  mlir::Block block;
  mlir::Value x, y;
  std::vector<PassLoops> passes;
  Streams() {
    mlir::Builder b(&ctx);
    x = block.addArgument(b.getF32Type(), b.getUnknownLoc());
    y = block.addArgument(b.getF32Type(), b.getUnknownLoc());
    passes.assign(2, {{1024, 256}, {0, 1}, 1});
  }
  MemoryStream stream(mlir::Value pointer, unsigned pass, int64_t rowStride, int64_t stride, int64_t constant = 0) {
    MemoryStream s;
    s.pointer = pointer, s.pass = pass, s.elementBytes = 4, s.bytes = 16;
    s.offset.add(mlir::getAffineDimExpr(0, &ctx), rowStride);
    s.offset.add(mlir::getAffineDimExpr(1, &ctx), stride);
    s.offset.constant = constant;
    return s;
  }
  BufferTraffic measure(std::vector<MemoryStream> streams, int64_t size) { return measureTraffic(streams, passes, {x, y}, {size, size})[0]; }
};
} // namespace

TEST_F(Streams, CountAPassAgainAndTheSameAccessOnce) {
  BufferTraffic t = measure({stream(x, 0, 256, 1), stream(x, 0, 256, 1), stream(x, 1, 256, 1)}, 1024 * 256);
  EXPECT_EQ(t.loaded, 2 * 1024 * 256 * 4);
  EXPECT_EQ(t.leastLoaded, 1024 * 256 * 4);
}

TEST_F(Streams, HalvesOfARowAreOneRow) {
  passes.assign(2, {{1024, 128}, {0, 1}, 1});
  BufferTraffic t = measure({stream(x, 0, 256, 1), stream(x, 0, 256, 1, 128)}, 1024 * 256);
  EXPECT_EQ(t.loaded, 1024 * 256 * 4);
  EXPECT_EQ(t.leastLoaded, t.loaded);
}

TEST_F(Streams, WhatAllRowsReadComesFromTheCacheIfItFits) {
  EXPECT_EQ(measure({stream(x, 0, 0, 1)}, 256).loaded, 256 * 4);
  // Rows of 32 MB are gone when the next row begins.
  passes.assign(1, {{8, 8 << 20}, {0, 1}, 1});
  BufferTraffic t = measure({stream(x, 0, 0, 1)}, 8 << 20);
  EXPECT_EQ(t.loaded, int64_t(8) * (32 << 20));
  EXPECT_EQ(t.leastLoaded, 32 << 20);
}

TEST_F(Streams, WhatWasStoredNeedNotBeReadBack) {
  MemoryStream store = stream(x, 0, 256, 1);
  store.isStore = true;
  BufferTraffic t = measure({store, stream(x, 1, 256, 1)}, 1024 * 256);
  EXPECT_EQ(t.loaded, t.stored);
  EXPECT_EQ(t.leastLoaded, 0);
  EXPECT_EQ(t.leastStored, t.stored);
}

TEST_F(Streams, SayWhyTheyAreNarrow) {
  MemoryStream narrow = stream(x, 0, 255, 1);
  narrow.bytes = 4, narrow.narrow = "rows begin anywhere";
  BufferTraffic t = measure({narrow, stream(x, 1, 256, 1)}, 1024 * 256);
  EXPECT_EQ(t.instruction, 4);
  EXPECT_EQ(t.narrow, "rows begin anywhere");
  EXPECT_EQ(measure({stream(x, 1, 256, 1)}, 1024 * 256).narrow, "");
}
