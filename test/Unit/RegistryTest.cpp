//===- RegistryTest.cpp - Every op tells what the passes ask of it --------===//
#include "Collective/Collective.h"
#include "Composite/Composite.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace para;

namespace {
template <typename... Ops> llvm::StringSet<> namesOf() {
  llvm::StringSet<> names;
  (names.insert(Ops::getOperationName()), ...);
  return names;
}
llvm::StringSet<> collectives() {
  return namesOf<
#define GET_OP_LIST
#include "Collective/Collective.cpp.inc"
      >();
}
llvm::StringSet<> composites() {
  return namesOf<
#define GET_OP_LIST
#include "Composite/Composite.cpp.inc"
      >();
}

struct Registry {
  MLIRContext context;
  SmallVector<RegisteredOperationName> ops;
  Registry() {
    context.loadDialect<ParaDialect, func::FuncDialect>();
    for (RegisteredOperationName name : context.getRegisteredOperations())
      if (name.getDialectNamespace() == "para")
        ops.push_back(name);
  }
};

int64_t sizeOf(const Structure &structure, const DimFactors &factors) {
  int64_t size = 1;
  for (int factor : factors)
    size *= structure.factors[factor].size;
  return size;
}

/// Checks that the factors of an op say its operands' and results' shapes.
void checkStructure(Operation *op, const Structure &structure) {
  std::string name = op->getName().getStringRef().str();
  ASSERT_EQ(structure.operands.size(), op->getNumOperands()) << name;
  ASSERT_EQ(structure.results.size(), op->getNumResults()) << name;
  EXPECT_EQ(structure.linearity.size(), op->getNumOperands()) << name;
  auto check = [&](Type type, const ValueFactors &factors) {
    auto shape = cast<RankedTensorType>(type).getShape();
    ASSERT_EQ(factors.size(), shape.size()) << name;
    for (auto [dim, size] : llvm::zip(factors, shape))
      EXPECT_EQ(sizeOf(structure, dim), size) << name;
  };
  for (auto [type, factors] : llvm::zip(op->getOperandTypes(), structure.operands))
    check(type, factors);
  for (auto [type, factors] : llvm::zip(op->getResultTypes(), structure.results))
    check(type, factors);
  // A parallel factor is in every result or, of a whole operand, in none of the operands; a reduction is in no result.
  for (auto [number, factor] : llvm::enumerate(structure.factors)) {
    auto has = [number = int(number)](const ValueFactors &value) {
      return llvm::any_of(value, [&](const DimFactors &dim) { return llvm::is_contained(dim, number); });
    };
    if (factor.kind == FactorKind::Reduction)
      EXPECT_FALSE(llvm::any_of(structure.results, has)) << name << " has a reduction in its result";
    if (factor.kind == FactorKind::Parallel)
      EXPECT_TRUE(llvm::all_of(structure.results, has)) << name << " has a parallel factor that is not in every result";
    EXPECT_TRUE(llvm::any_of(structure.results, has) || llvm::any_of(structure.operands, has)) << name << " has a factor of nothing";
  }
}
} // namespace

// Every op of the core set has structure, derivative, and an element or a library call; no list of names is kept here.
TEST(Registry, CoreOpsTellAllFacts) {
  Registry registry;
  llvm::StringSet<> collective = collectives(), composite = composites();
  int core = 0;
  for (RegisteredOperationName op : registry.ops) {
    std::string name = op.getStringRef().str();
    if (collective.contains(name))
      continue;
    EXPECT_TRUE(op.hasInterface<StructureOpInterface>()) << name << " has no Structure";
    EXPECT_TRUE(op.hasInterface<DerivativeOpInterface>()) << name << " has no Derivative";
    if (composite.contains(name)) {
      EXPECT_TRUE(op.hasInterface<DecomposableOpInterface>()) << name << " has no formula";
      continue;
    }
    ++core;
    EXPECT_TRUE(op.hasInterface<ElementOpInterface>() || op.hasInterface<LibraryOpInterface>()) << name << " cannot be lowered";
    EXPECT_FALSE(op.hasInterface<DecomposableOpInterface>()) << name << " is in the core set and has a formula";
  }
  EXPECT_GE(core, 30);
}

// Every op that partitioning adds tells what it does to the layout, and is a call or a kernel; communication has an effect.
TEST(Registry, CollectivesTellAllFacts) {
  Registry registry;
  int seen = 0;
  llvm::StringSet<> collective = collectives();
  for (RegisteredOperationName op : registry.ops) {
    std::string name = op.getStringRef().str();
    if (!collective.contains(name))
      continue;
    ++seen;
    EXPECT_TRUE(op.hasInterface<RelayoutOpInterface>()) << name << " has no Relayout";
    EXPECT_TRUE(op.hasInterface<ElementOpInterface>() || op.hasInterface<LibraryOpInterface>()) << name << " cannot be lowered";
    if (op.hasInterface<CollectiveOpInterface>())
      EXPECT_TRUE(op.hasInterface<LibraryOpInterface>()) << name << " communicates and is no call";
  }
  EXPECT_EQ(seen, int(collective.size()));
}

// Each op occurs in its family's ops.mlir, where the round trip is tested, and its factors agree with the shapes there.
TEST(Registry, FactorsAgreeWithShapes) {
  Registry registry;
  llvm::StringSet<> seen;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator folder(PARA_TEST_OPS, error), end; folder != end && !error; folder.increment(error)) {
    SmallString<256> path(folder->path());
    llvm::sys::path::append(path, "ops.mlir");
    if (!llvm::sys::fs::exists(path))
      continue;
    auto module = parseSourceFile<ModuleOp>(path, &registry.context);
    ASSERT_TRUE(module) << path.c_str();
    module->walk([&](Operation *op) {
      seen.insert(op->getName().getStringRef());
      if (auto structured = dyn_cast<StructureOpInterface>(op)) {
        checkStructure(op, structured.getStructure());
        EXPECT_GE(structured.getFlops(), 0) << op->getName().getStringRef().str();
        EXPECT_GT(structured.getBytesMoved(), 0) << op->getName().getStringRef().str();
      }
    });
  }
  for (RegisteredOperationName op : registry.ops)
    EXPECT_TRUE(seen.contains(op.getStringRef())) << op.getStringRef().str() << " is in no ops.mlir of " << PARA_TEST_OPS;
}
