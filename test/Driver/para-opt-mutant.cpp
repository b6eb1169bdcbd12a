//===- para-opt-mutant.cpp - A para-opt that makes wrong programs ----------===//
//
//   para-opt-mutant KIND SEED MODEL.onnx [flags]
//
// Is para-opt, but that behind the proofs one mutation of that kind (para-mutate --list) is made in each program for several ranks, at a place that
// the seed chooses. Says on standard error what it did. Exit status 77 where there is no place for it.
//
//===----------------------------------------------------------------------===//
#include "../Verify/Mutations.h"

#include "para/Driver/Compile.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace para;
using namespace para::test;

static void mutate(ModuleOp module, StringRef name, unsigned seed) {
  const MutationKind *kind = llvm::find_if(getMutationKinds(), [&](const MutationKind &kind) { return kind.name == name; });
  if (kind == getMutationKinds().end()) {
    llvm::errs() << "there is no mutation '" << name << "'\n";
    exit(2);
  }
  std::mt19937 random(seed);
  ProgramView view(module);
  std::vector<Site> sites = kind->find(view, random);
  std::string what = sites.empty() ? "" : sites[random() % sites.size()].apply();
  if (what.empty() || what[0] == ' ') {
    llvm::errs() << "nothing of this kind at that place\n";
    exit(77);
  }
  llvm::errs() << "mutant: " << what << "\n";
}

int main(int argc, char **argv) {
  unsigned seed = 0;
  if (argc < 4 || StringRef(argv[2]).getAsInteger(10, seed)) {
    llvm::errs() << "para-opt-mutant KIND SEED MODEL.onnx [flags]\n";
    return 2;
  }
  auto options = parseDriverOptions(ArrayRef<const char *>(argv + 3, argc - 3));
  if (!options) {
    llvm::errs() << llvm::toString(options.takeError()) << "\n";
    return 2;
  }
  CompileHooks hooks;
  hooks.proven = [&](ModuleOp module) { mutate(module, argv[1], seed); };
  return compileModel(*options, argv[0], hooks);
}
