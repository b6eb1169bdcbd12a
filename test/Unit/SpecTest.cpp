//===- SpecTest.cpp - NAME:key=value and globs ----------------------------===//
#include "para/Support/Spec.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

using namespace para;

// Name, numbers and texts are what was written, and defaults stand in for what was not.
TEST(Spec, Parses) {
  Spec spec = llvm::cantFail(Spec::parse("adamw:lr=1e-3,weight_decay=0.1,no_decay=*bias|*ln*"));
  EXPECT_EQ(spec.name, "adamw");
  EXPECT_EQ(llvm::cantFail(spec.getNumber("lr", 1)), 1e-3);
  EXPECT_EQ(llvm::cantFail(spec.getNumber("beta1", 0.9)), 0.9);
  EXPECT_EQ(spec.getText("no_decay"), "*bias|*ln*");
  EXPECT_EQ(spec.getText("other", "none"), "none");
  EXPECT_TRUE(llvm::cantFail(Spec::parse("sgd")).values.empty());
}

// What is not of the form is refused with the text that is wrong.
TEST(Spec, RefusesOtherForms) {
  EXPECT_NE(llvm::toString(Spec::parse("sgd:lr").takeError()).find("'lr'"), std::string::npos);
  EXPECT_NE(llvm::toString(Spec::parse("sgd:=1").takeError()).find("key=value"), std::string::npos);
  EXPECT_NE(llvm::toString(Spec::parse("sgd:lr=1,lr=2").takeError()).find("twice"), std::string::npos);
  EXPECT_NE(llvm::toString(Spec::parse("sgd:").takeError()).find("colon with nothing behind it"), std::string::npos);
  EXPECT_NE(llvm::toString(Spec::parse("sgd:lr=1,").takeError()).find("comma with nothing behind it"), std::string::npos);
  EXPECT_NE(llvm::toString(splitList(",a").takeError()).find("comma with nothing before it"), std::string::npos);
  EXPECT_NE(llvm::toString(splitList("a,,b").takeError()).find("comma with nothing behind it"), std::string::npos);
  Spec spec = llvm::cantFail(Spec::parse("sgd:lr=fast"));
  EXPECT_NE(llvm::toString(spec.getNumber("lr", 1).takeError()).find("'fast' is not a number"), std::string::npos);
}

// Globs are anchored and separated by bars.
TEST(Patterns, Match) {
  Patterns patterns = llvm::cantFail(Patterns::parse("*bias|blocks.?.ln*"));
  EXPECT_TRUE(patterns.match("head.bias"));
  EXPECT_TRUE(patterns.match("blocks.3.ln1.weight"));
  EXPECT_FALSE(patterns.match("blocks.12.ln1.weight"));
  EXPECT_FALSE(patterns.match("bias.weight"));
  EXPECT_TRUE(llvm::cantFail(Patterns::parse("")).empty());
  EXPECT_FALSE(llvm::cantFail(Patterns::parse("")).match(""));
  auto broken = Patterns::parse("[");
  EXPECT_FALSE(bool(broken));
  llvm::consumeError(broken.takeError());
}

// @FILE stands for the lines of a file; a file that is not there is named.
TEST(Patterns, FromFile) {
  llvm::SmallString<128> path;
  int descriptor;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("patterns", "txt", descriptor, path));
  llvm::raw_fd_ostream(descriptor, true) << "norm*\n\n  wte.weight \n";
  Patterns patterns = llvm::cantFail(Patterns::parse(("@" + path + "|x").str()));
  llvm::sys::fs::remove(path);
  EXPECT_TRUE(patterns.match("norm.weight"));
  EXPECT_TRUE(patterns.match("wte.weight"));
  EXPECT_TRUE(patterns.match("x"));
  EXPECT_FALSE(patterns.match("wpe.weight"));
  EXPECT_NE(llvm::toString(Patterns::parse("@/no/such/file").takeError()).find("/no/such/file"), std::string::npos);
}
