//===- para-mutate.cpp - Breaks scheduled programs and asks the proofs ------===//
//
//   para-mutate PROGRAM.mlir --seed=1 --count=20
//
// For each mutation a line: kind, "refused" or "SLIPPED", what was done, what the proofs said; separated by tabs. Exit status 0 if all were
// refused, 1 if one slipped through, 2 if the program itself is refused.
//
//===----------------------------------------------------------------------===//
#include "Mutations.h"

#include "para/Verify/Passes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/CommandLine.h"

using namespace mlir;
using namespace para;
using namespace para::test;

static llvm::cl::opt<std::string> input(llvm::cl::Positional, llvm::cl::desc("<program.mlir>"));
static llvm::cl::opt<unsigned> seed("seed", llvm::cl::init(1));
static llvm::cl::opt<unsigned> count("count", llvm::cl::init(20), llvm::cl::desc("mutations to make"));
static llvm::cl::opt<std::string> only("kind", llvm::cl::desc("only this kind"));
static llvm::cl::opt<bool> list("list", llvm::cl::desc("names the kinds"));
static llvm::cl::opt<bool> print("print", llvm::cl::desc("print the program of a mutation that slipped through"));

/// What the proofs say; empty if they hold.
static std::string prove(ModuleOp module) {
  std::string said;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
    if (said.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
      said = diagnostic.str();
    return success();
  });
  PassManager pm(module.getContext());
  pm.enableVerifier(false);
  buildVerifyPipeline(pm);
  if (failed(pm.run(module)) && said.empty())
    said = "refused without a word";
  return said;
}

int main(int argc, char **argv) {
  llvm::cl::ParseCommandLineOptions(argc, argv, "breaks scheduled programs and asks the proofs\n");
  if (list) {
    for (const MutationKind &kind : getMutationKinds())
      llvm::outs() << kind.name << "\n";
    return 0;
  }
  MLIRContext context;
  context.disableMultithreading();
  context.loadDialect<ParaDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> program = parseSourceFile<ModuleOp>(input, &context);
  if (!program)
    return 2;
  if (std::string said = prove(*program); !said.empty()) {
    llvm::errs() << "the program itself is refused: " << said << "\n";
    return 2;
  }
  std::mt19937 random(seed);
  auto kinds = getMutationKinds();
  unsigned made = 0, slipped = 0, barren = 0;
  for (unsigned turn = random() % kinds.size(); made < count && barren < 4 * kinds.size(); ++turn, ++barren) {
    const MutationKind &kind = kinds[turn % kinds.size()];
    if (!only.empty() && kind.name != only)
      continue;
    OwningOpRef<ModuleOp> copy = program->clone();
    ProgramView view(*copy);
    auto sites = kind.find(view, random);
    std::string what = sites.empty() ? "" : sites[random() % sites.size()].apply();
    if (what.empty() || what[0] == ' ')
      continue; // nothing of this kind at that place
    std::string said = prove(*copy);
    llvm::outs() << kind.name << "\t" << (said.empty() ? "SLIPPED" : "refused") << "\t" << what << "\t" << said << "\n";
    if (said.empty() && print)
      copy->dump();
    slipped += said.empty();
    ++made;
    barren = 0;
  }
  return slipped ? 1 : 0;
}
