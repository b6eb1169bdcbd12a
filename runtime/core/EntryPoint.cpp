//===- EntryPoint.cpp - main() of compiled executables ------------------------===//
//
// In a file of its own: a program with its own main (tests, embedders) does not pull it in.
//
//===----------------------------------------------------------------------===//
#include "Launcher.h"
#include "para/Runtime/para_runtime.h"

int main(int argc, char **argv) {
  para::runtime::limitThreadSpinning(argv);
  return para_main(argc, argv, &para_main_program);
}
