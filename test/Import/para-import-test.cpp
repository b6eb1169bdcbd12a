//===- para-import-test.cpp - Imports a model and prints it ---------------===//
//
//   para-import-test model.onnx [--dim NAME=N,...] [--precision=f64] [--train] [--summary]
//   para-import-test model.onnx --fuzz=COUNT [--seed=S]    imports that many broken versions of the file
//
//===----------------------------------------------------------------------===//

#include "para/Import/OnnxImport.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <ctime>
#include <random>

using namespace mlir;
namespace cl = llvm::cl;

static cl::opt<std::string> input(cl::Positional, cl::Required, cl::desc("model.onnx"));
static cl::list<std::string> dims("dim", cl::CommaSeparated, cl::desc("NAME=SIZE"));
static cl::opt<para::Precision> precision(
    "precision", cl::init(para::Precision::Model),
    cl::values(clEnumValN(para::Precision::Model, "model", ""), clEnumValN(para::Precision::F32, "f32", ""),
               clEnumValN(para::Precision::F64, "f64", ""), clEnumValN(para::Precision::BF16, "bf16", ""),
               clEnumValN(para::Precision::F16, "f16", "")));
static cl::opt<bool> train("train", cl::desc("training semantics"));
static cl::opt<bool> summary("summary", cl::desc("print counts instead of the module"));
static cl::opt<bool> generic("generic", cl::desc("print in the generic form, constants in full"));
static cl::opt<bool> locations("mlir-locations", cl::desc("print locations"));
static cl::opt<bool> quiet("quiet", cl::desc("print errors only"));
static cl::opt<unsigned> fuzz("fuzz", cl::desc("import this many mutations of the file"));
static cl::opt<unsigned> seed("seed", cl::init(1), cl::desc("seed of the mutations"));

/// Flips bits, overwrites, cuts, repeats or drops bytes.
static std::string mutate(std::string bytes, std::mt19937 &random) {
  auto pick = [&](size_t n) { return n == 0 ? 0 : random() % n; };
  unsigned changes = 1 + pick(4);
  for (unsigned i = 0; i < changes && !bytes.empty(); ++i) {
    size_t at = pick(bytes.size());
    switch (pick(6)) {
    case 0: bytes[at] ^= 1 << pick(8); break;
    case 1: bytes[at] = static_cast<char>(random()); break;
    case 2: bytes[at] = static_cast<char>(0xff); break;
    case 3: bytes.resize(at); break;
    case 4: bytes.erase(at, 1 + pick(16)); break;
    default: bytes.insert(at, bytes.substr(pick(bytes.size()), 1 + pick(64))); break;
    }
  }
  return bytes;
}

static int runFuzz(const para::ImportOptions &options) {
  auto buffer = llvm::MemoryBuffer::getFile(input);
  llvm::SmallString<128> path;
  if (!buffer || llvm::sys::fs::createTemporaryFile("para-fuzz", "onnx", path))
    return 1;
  unsigned good = 0, bad = 0, silent = 0;
  double longest = 0;
  for (unsigned i = 0; i < fuzz; ++i) {
    std::mt19937 random(seed + i);
    std::error_code error;
    {
      llvm::raw_fd_ostream file(path, error);
      file << mutate((*buffer)->getBuffer().str(), random);
    }
    MLIRContext context(MLIRContext::Threading::DISABLED);
    unsigned errors = 0;
    context.getDiagEngine().registerHandler([&](Diagnostic &d) { errors += d.getSeverity() == DiagnosticSeverity::Error; });
    std::clock_t start = std::clock(); // of the processor: what else the machine does does not count
    para::ModelOutline outline;
    bool ok = succeeded(para::importOnnx(path, options, &context, &outline));
    longest = std::max(longest, double(std::clock() - start) / CLOCKS_PER_SEC);
    ++(ok ? good : bad);
    if (ok == (errors > 0)) {
      ++silent;
      llvm::errs() << "seed " << seed + i << ": " << (ok ? "errors but a module" : "no module and no error") << "\n";
    }
  }
  llvm::sys::fs::remove(path);
  llvm::outs() << fuzz << " mutations: " << good << " imported, " << bad << " refused, " << silent << " inconsistent\n";
  if (longest > 10.0)
    llvm::errs() << "the slowest took " << longest << " s of the processor\n";
  return silent || longest > 10.0;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv);
  para::ImportOptions options;
  options.precision = precision;
  options.train = train;
  for (StringRef entry : dims) {
    auto [name, size] = entry.rsplit('=');
    int64_t value;
    if (size.getAsInteger(10, value)) {
      llvm::errs() << "--dim needs NAME=SIZE, not '" << entry << "'\n";
      return 2;
    }
    options.dims[name] = value;
  }
  if (fuzz)
    return runFuzz(options);

  MLIRContext context(MLIRContext::Threading::DISABLED);
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler(sources, &context);
  FailureOr<OwningOpRef<ModuleOp>> module = para::importOnnx(input, options, &context);
  if (failed(module))
    return 1;
  if (summary) {
    llvm::MapVector<StringRef, unsigned> counts;
    (*module)->walk([&](Operation *op) { ++counts[op->getName().getStringRef()]; });
    for (auto [name, count] : counts)
      llvm::outs() << name << " " << count << "\n";
  } else if (!quiet) {
    OpPrintingFlags flags;
    if (generic)
      flags.printGenericOpForm();
    else
      flags.elideLargeElementsAttrs(16);
    flags.enableDebugInfo(locations);
    (**module)->print(llvm::outs(), flags);
    llvm::outs() << "\n";
  }
  return 0;
}
