//===- para-solve.cpp - The sharding solver on files ----------------------===//
#include "para/Solve/Solver.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

using namespace para;

namespace {
struct Options {
  llvm::cl::OptionCategory category{"para-solve"};
  llvm::cl::opt<std::string> input{llvm::cl::Positional, llvm::cl::desc("problem.json[.gz]"), llvm::cl::Required, llvm::cl::cat(category)};
  llvm::cl::opt<double> seconds{"time", llvm::cl::desc("seconds, reading included (default 60); less if the gap is zero before"),
                                llvm::cl::init(60), llvm::cl::cat(category)};
  llvm::cl::opt<unsigned> threads{"threads", llvm::cl::desc("threads (default 1)"), llvm::cl::init(1), llvm::cl::cat(category)};
  llvm::cl::opt<uint64_t> seed{"seed", llvm::cl::desc("of the random choices (default 0)"), llvm::cl::init(0), llvm::cl::cat(category)};
  llvm::cl::opt<std::string> output{"o", llvm::cl::desc("where the list of strategies goes, by node"),
                                    llvm::cl::value_desc("solution.json"), llvm::cl::cat(category)};
  llvm::cl::opt<bool> verbose{"v", llvm::cl::desc("say when a better solution is found"), llvm::cl::cat(category)};
};
} // namespace

static int refuse(const llvm::Twine &message, int status) {
  llvm::errs() << "para-solve: error: " << message << "\n";
  return status;
}

static bool write(llvm::StringRef path, const Solution &solution) {
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  if (error)
    return false;
  file << "[";
  for (auto [i, strategy] : llvm::enumerate(solution.choice))
    file << (i ? "," : "") << strategy;
  file << "]\n";
  file.flush();
  bool failed = file.has_error();
  file.clear_error();
  return !failed;
}

int main(int argc, char **argv) {
  auto start = std::chrono::steady_clock::now();
  auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  llvm::InitLLVM init(argc, argv);
  // LLVM's library has options of its own, one by a name of ours.
  if (auto taken = llvm::cl::getRegisteredOptions().find("threads"); taken != llvm::cl::getRegisteredOptions().end())
    taken->second->removeArgument();
  Options given;
  llvm::cl::HideUnrelatedOptions(given.category);
  llvm::cl::ParseCommandLineOptions(
      argc, argv,
      "Finds the cheapest strategy of each node of a problem in the format of the contest on intra-operator\n"
      "parallelism, with a lower bound on the cost of all solutions. Prints JSON: cost, lower_bound, gap, seconds.\n"
      "Exit status: 0 solved, 1 the file is at fault, 2 wrong usage, 3 no solution.\n");
  if (!(given.seconds > 0) || given.seconds > 1e7)
    return refuse("--time wants seconds above 0", 2);
  if (given.threads < 1 || given.threads > 1024)
    return refuse("--threads wants 1 to 1024", 2);
  llvm::Expected<Problem> problem = readProblem(given.input);
  if (!problem)
    return refuse(llvm::toString(problem.takeError()), 1);
  SolveOptions options;
  // What is left to do after the search, and a busy machine, need some of the time.
  options.seconds = std::max(0.01, given.seconds - elapsed() - std::min(2.0, 0.15 + 0.015 * given.seconds));
  options.threads = given.threads;
  options.seed = given.seed;
  if (given.verbose)
    options.progress = [&](const Solution &solution, double) {
      llvm::errs() << llvm::formatv("{0:F2} s: cost {1}, lower bound {2}\n", elapsed(), solution.cost, solution.lowerBound);
    };
  llvm::Expected<Solution> solution = solve(*problem, options);
  if (!solution)
    return refuse(llvm::toString(solution.takeError()), 3);
  if (llvm::Error error = problem->verify(solution->choice))
    return refuse("the solver is wrong: " + llvm::toString(std::move(error)), 3);
  if (!given.output.empty() && !write(given.output, *solution))
    return refuse("cannot write '" + given.output + "'", 1);
  llvm::outs() << llvm::formatv(
      "{0}\n", llvm::json::Value(llvm::json::Object{
                   {"cost", solution->cost}, {"lower_bound", solution->lowerBound}, {"gap", solution->getGap()}, {"seconds", elapsed()}}));
  llvm::outs().flush();
  return 0;
}
