// Kinds of execution as text: defaults, facts of a run, what is refused.
#include "para/Cost/Execution.h"

#include "gtest/gtest.h"

using namespace para;

namespace {
TEST(CostExecution, CompiledProgramsHideWhatTheyCan) {
  auto execution = Execution::get("compiled");
  ASSERT_TRUE(bool(execution));
  EXPECT_EQ(execution->kernelSeconds, 0);
  EXPECT_EQ(execution->gradientOverlap, 1);
  EXPECT_EQ(execution->slowdown, 1);
}

TEST(CostExecution, FactsOfARunReplaceWhatIsUsual) {
  auto execution = Execution::get("eager:gradient_overlap=0,loss_bytes=52");
  ASSERT_TRUE(bool(execution));
  EXPECT_EQ(execution->gradientOverlap, 0);
  EXPECT_EQ(execution->lossBytes, 52);
  EXPECT_GT(execution->kernelSeconds, 0);
}

TEST(CostExecution, RefusesWhatItDoesNotKnow) {
  auto message = [](llvm::StringRef spec) {
    auto execution = Execution::get(spec);
    return execution ? std::string() : llvm::toString(execution.takeError());
  };
  EXPECT_EQ(message("lazy"), "'lazy' is none of compiled, eager");
  EXPECT_NE(message("eager:speed=2").find("'speed' is none of kernel_seconds, "), std::string::npos);
  EXPECT_NE(message("eager:gradient_overlap=2").find("a number from 0 to"), std::string::npos);
  EXPECT_NE(message("eager:gradient_overlap=much").find("'gradient_overlap=much'"), std::string::npos);
  EXPECT_NE(message("eager:slowdown").find("'slowdown'"), std::string::npos);
  EXPECT_NE(message("eager:slowdown=2,slowdown=3").find("given twice"), std::string::npos);
  for (const Field<Execution> &field : Execution::getFields())
    if (field.isSwitch())
      EXPECT_EQ(message((std::string("eager:") + field.key + "=0.5")), std::string("'") + field.key + "=0.5': 0 or 1 is needed");
}
} // namespace
