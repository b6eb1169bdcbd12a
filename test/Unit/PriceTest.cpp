//===- PriceTest.cpp - Prices of ranks' programs --------------------------===//
#include "para/Plan/Price.h"

#include "para/IR/ParaDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include "llvm/ADT/StringExtras.h"

#include <gtest/gtest.h>

using namespace para;

namespace {
/// Two products of a forward pass on one rank, the second in a chunk of its own or not.
Price priceTwo(llvm::StringRef second, llvm::StringRef schedule) {
  mlir::MLIRContext context;
  context.loadDialect<ParaDialect, mlir::func::FuncDialect>();
  std::string text = (R"(module attributes {para.mesh = #para.mesh<["pipeline", "microbatch"], [1, 2]>, para.microbatches = 2 : i64} {
  func.func @stage0(%x: tensor<64x256xf32> {para.kind = "input", para.name = "x"}, %w: tensor<256x256xf32> {para.kind = "parameter", para.name = "w", para.stage = 0 : i64})
      -> (tensor<64x256xf32> {para.kind = "output", para.name = "y"}) attributes {para.schedule = [)" + schedule + R"(]} {
    %a = para.dot %x, %w batch [] x [] contract [1] x [0] {para.phase = #para<phase forward>, para.stage = 0 : i64} : tensor<64x256xf32>, tensor<256x256xf32> -> tensor<64x256xf32>
    %b = para.dot %a, %w batch [] x [] contract [1] x [0] {para.phase = )" + second + R"(, para.stage = 0 : i64} : tensor<64x256xf32>, tensor<256x256xf32> -> tensor<64x256xf32>
    return %b : tensor<64x256xf32>
  }
})").str();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(bool(module));
  return priceProgram(*module, llvm::cantFail(Machine::get("a100-80:1x1")));
}
} // namespace

// Chunks of the model take the time that they take together without; what the first makes is kept for each microbatch between the two.
TEST(Price, ChunksAreParts) {
  Price whole = priceTwo("#para<phase forward>", "[#para<phase forward>, 0], [#para<phase forward>, 1]");
  Price parts = priceTwo("#para<phase forward, 1>",
                         "[#para<phase forward>, 0], [#para<phase forward>, 1], [#para<phase forward, 1>, 0], [#para<phase forward, 1>, 1]");
  EXPECT_GT(whole.secondsPerStep, 0);
  EXPECT_NEAR(parts.secondsPerStep, whole.secondsPerStep, 1e-9 * whole.secondsPerStep);
  EXPECT_EQ(parts.flops, whole.flops);
  EXPECT_EQ(parts.stateBytes, whole.stateBytes);
  EXPECT_GT(parts.peakBytes[0], whole.peakBytes[0]);
}
