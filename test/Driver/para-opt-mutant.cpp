//===- para-opt-mutant.cpp - A para-opt that makes wrong programs ----------===//
//
//   para-opt-mutant KIND TEXT MODEL.onnx [flags]
//
// Is para-opt, but that behind the proofs one mutation of that kind (para-mutate --list) is made in each program for several ranks: the first, seed by
// seed, whose description has the text in it. Says on standard error what it did. Exit status 77 where there is none.
//
//===----------------------------------------------------------------------===//
#include "../Verify/Mutations.h"

#include "para/Driver/Compile.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace para;
using namespace para::test;

/// What the mutation that the seed chooses has done; empty where nothing of this kind is at that place.
static std::string mutate(ModuleOp module, const MutationKind &kind, unsigned seed) {
  std::mt19937 random(seed);
  ProgramView view(module);
  std::vector<Site> sites = kind.find(view, random);
  std::string what = sites.empty() ? "" : sites[random() % sites.size()].apply();
  return what.empty() || what[0] == ' ' ? "" : what;
}

static void mutate(ModuleOp module, StringRef name, StringRef text) {
  constexpr unsigned tries = 500;
  const MutationKind *kind = llvm::find_if(getMutationKinds(), [&](const MutationKind &kind) { return kind.name == name; });
  for (unsigned seed = 1; kind != getMutationKinds().end() && seed < tries; ++seed) {
    OwningOpRef<ModuleOp> copy = module.clone();
    std::string what = mutate(*copy, *kind, seed);
    if (what.empty() || !StringRef(what).contains(text))
      continue;
    llvm::errs() << "mutant: " << mutate(module, *kind, seed) << "\n";
    return;
  }
  llvm::errs() << "there is no mutation '" << name << "' with '" << text << "'\n";
  exit(77);
}

int main(int argc, char **argv) {
  if (argc < 4) {
    llvm::errs() << "para-opt-mutant KIND TEXT MODEL.onnx [flags]\n";
    return 2;
  }
  auto options = parseDriverOptions(ArrayRef<const char *>(argv + 3, argc - 3));
  if (!options) {
    llvm::errs() << llvm::toString(options.takeError()) << "\n";
    return 2;
  }
  CompileHooks hooks;
  hooks.proven = [&](ModuleOp module) { mutate(module, argv[1], argv[2]); };
  return compileModel(*options, argv[0], hooks);
}
