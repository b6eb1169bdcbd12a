//===- KernelsTest.cpp - What a program is priced by -----------------------===//
#include "para/Lower/Kernels.h"

#include "para/IR/ParaDialect.h"
#include "para/Lower/Rt.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace para;

namespace {
class Kernels : public testing::Test {
protected:
  Kernels() { context.loadDialect<ParaDialect, rt::RtDialect, func::FuncDialect>(); }
  /// The kernels of the functions, with the module as it was.
  FormedKernels form(const std::string &functions) {
    std::string text = "module attributes {para.microbatches = 2 : i64, para.mesh = #para.mesh<[\"data\", \"pipeline\"], [2, 2]>} {\n" + functions + "\n}\n";
    auto module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    auto print = [&] {
      std::string printed;
      llvm::raw_string_ostream stream(printed);
      module->print(stream);
      return printed;
    };
    std::string before = print();
    FailureOr<FormedKernels> formed = formKernels(*module);
    EXPECT_TRUE(succeeded(formed));
    EXPECT_EQ(print(), before);
    return succeeded(formed) ? std::move(*formed) : FormedKernels();
  }
  MLIRContext context;
};
} // namespace

// One kernel that reads both inputs once and writes the result: what lies between is in no memory. A multiplication is the unit of work.
TEST_F(Kernels, ElementwiseOpsAreOne) {
  std::vector<FormedKernel> kernels = form(R"(func.func @stage0(%x: tensor<64x32xf32>, %b: tensor<32xf32>) -> tensor<64x32xf32> {
    %r = para.broadcast %b [1] {para.phase = #para<phase forward>} : tensor<32xf32> -> tensor<64x32xf32>
    %s = para.add %x, %r {para.phase = #para<phase forward>} : tensor<64x32xf32>
    %y = para.mul %s, %s {para.phase = #para<phase forward>} : tensor<64x32xf32>
    return %y : tensor<64x32xf32>
  })")["stage0"];
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].kind, FormedKernel::Fused);
  EXPECT_EQ(kernels[0].phase.phase, Phase::Forward);
  EXPECT_EQ(kernels[0].bytes, 4 * (64 * 32 + 32 + 64 * 32));
  EXPECT_GE(kernels[0].work, 2 * 64 * 32);
  EXPECT_LE(kernels[0].work, 3 * 64 * 32); // the repetition is no arithmetic, but may count as one
  EXPECT_EQ(kernels[0].flops, 0);
}

// Of a table the rows that are taken count and not the others; exponentials count as the arithmetic they become.
TEST_F(Kernels, BytesAreThoseThatAreRead) {
  std::vector<FormedKernel> kernels = form(R"(func.func @stage0(%x: tensor<1024x32xf32>) -> tensor<16x32xf32> {
    %s = para.slice %x [8, 0] [1, 1] {para.phase = #para<phase forward>} : tensor<1024x32xf32> -> tensor<16x32xf32>
    %y = para.exp %s {para.phase = #para<phase forward>} : tensor<16x32xf32>
    return %y : tensor<16x32xf32>
  })")["stage0"];
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].bytes, 2 * 4 * 16 * 32);
  EXPECT_GT(kernels[0].work, 5 * 16 * 32);
}

// Products have their sizes, flops and bytes; one that adds to the sum of the microbatches before reads that sum, too.
TEST_F(Kernels, Products) {
  std::vector<FormedKernel> kernels = form(R"(func.func @stage0(%a: tensor<3x8x16xf32>, %b: tensor<3x16x12xf32>, %x: tensor<8x16xf32>, %t: tensor<8x12xf32>) -> (tensor<3x8x12xf32>, tensor<16x12xf32>) {
    %d = para.dot %a, %b batch [0] x [0] contract [2] x [1] {para.phase = #para<phase forward>} : tensor<3x8x16xf32>, tensor<3x16x12xf32> -> tensor<3x8x12xf32>
    %dw = para.dot %x, %t batch [] x [] contract [0] x [0] {para.phase = #para<phase backward>} : tensor<8x16xf32>, tensor<8x12xf32> -> tensor<16x12xf32>
    %sum = para.accumulate %dw {para.phase = #para<phase backward>} : tensor<16x12xf32>
    return %d, %sum : tensor<3x8x12xf32>, tensor<16x12xf32>
  })")["stage0"];
  ASSERT_EQ(kernels.size(), 2u);
  const FormedKernel &forward = kernels[0], &backward = kernels[1];
  EXPECT_EQ(forward.kind, FormedKernel::Product);
  EXPECT_EQ(forward.batch, 3);
  EXPECT_EQ(forward.m * forward.n, 8 * 12); // either factor may come first
  EXPECT_EQ(forward.k, 16);
  EXPECT_EQ(forward.flops, 2.0 * 3 * 8 * 12 * 16);
  EXPECT_EQ(forward.bytes, 4.0 * 3 * (8 * 16 + 16 * 12 + 8 * 12));
  EXPECT_EQ(forward.summedBytes, 0);
  EXPECT_EQ(backward.kind, FormedKernel::Product);
  EXPECT_EQ(backward.phase.phase, Phase::Backward);
  EXPECT_EQ(backward.batch, 1);
  EXPECT_EQ(backward.k, 8);
  EXPECT_EQ(backward.flops, 2.0 * 16 * 12 * 8);
  EXPECT_EQ(backward.summedBytes, 4.0 * 16 * 12);
  EXPECT_EQ(backward.bytes, 4.0 * (8 * 16 + 8 * 12 + 2 * 16 * 12));
}

TEST_F(Kernels, ConvolutionsAndScatters) {
  FormedKernels kernels = form(R"(func.func @stage0(%x: tensor<2x4x10x10xf32>, %w: tensor<6x2x3x3xf32>, %i: tensor<5xi64>, %u: tensor<5x8xf32>) -> (tensor<2x6x8x8xf32>, tensor<40x8xf32>) {
    %c = para.convolution %x, %w {dilations = array<i64: 1, 1>, groups = 2 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>, para.phase = #para<phase forward>} : tensor<2x4x10x10xf32>, tensor<6x2x3x3xf32> -> tensor<2x6x8x8xf32>
    %s = para.scatter_add %i, %u {para.phase = #para<phase backward>} : tensor<5xi64>, tensor<5x8xf32> -> tensor<40x8xf32>
    return %c, %s : tensor<2x6x8x8xf32>, tensor<40x8xf32>
  })");
  const FormedKernel *convolution = nullptr, *scatter = nullptr;
  for (const FormedKernel &kernel : kernels["stage0"])
    (kernel.kind == FormedKernel::Convolution ? convolution : scatter) = &kernel;
  ASSERT_TRUE(convolution && scatter);
  EXPECT_EQ(convolution->flops, 2.0 * (2 * 6 * 8 * 8) * (2 * 3 * 3)); // of each group its own two channels
  EXPECT_GE(convolution->bytes, 4.0 * (2 * 4 * 10 * 10 + 6 * 2 * 3 * 3 + 2 * 6 * 8 * 8));
  EXPECT_EQ(scatter->kind, FormedKernel::Scatter);
  EXPECT_EQ(scatter->phase.phase, Phase::Backward);
  EXPECT_EQ(scatter->bytes, 8.0 * 5 + 4.0 * (5 * 8 + 40 * 8));
}

// What moves is told apart by whether all ranks of an axis take part or two; the stages stand each by itself, and the serial program is none.
TEST_F(Kernels, CommunicationByStage) {
  FormedKernels kernels = form(R"(
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %y = para.exp %x : tensor<8xf32>
    return %y : tensor<8xf32>
  }
  func.func @stage0(%x: tensor<8x4xf32>) {
    para.send %x to 1 tag 0 {para.phase = #para<phase forward>} : tensor<8x4xf32>
    return
  }
  func.func @stage1() -> tensor<8x4xf32> {
    %x = para.recv from 0 tag 0 {para.phase = #para<phase forward>} : tensor<8x4xf32>
    %y = para.all_reduce sum %x ["data"] {para.phase = #para<phase update>} : tensor<8x4xf32> -> tensor<8x4xf32>
    return %y : tensor<8x4xf32>
  })");
  EXPECT_EQ(kernels.count("main"), 0u);
  ASSERT_EQ(kernels["stage0"].size(), 1u);
  EXPECT_EQ(kernels["stage0"][0].kind, FormedKernel::Message);
  EXPECT_EQ(kernels["stage0"][0].bytes, 4.0 * 8 * 4);
  ASSERT_EQ(kernels["stage1"].size(), 2u);
  EXPECT_EQ(kernels["stage1"][0].kind, FormedKernel::Message);
  EXPECT_EQ(kernels["stage1"][1].kind, FormedKernel::Collective);
  EXPECT_EQ(kernels["stage1"][1].phase.phase, Phase::Update);
  EXPECT_EQ(kernels["stage1"][1].bytes, 2 * 4.0 * 8 * 4);
}
