#include "VerifyLimits.h"

#include "Exit.h"
#include "Verify.h"
#include "para/IR/Program.h"
#include "para/Plan/Units.h"

#include "llvm/Support/MemoryBuffer.h"

#include <unistd.h>

using namespace mlir;
using namespace para;

namespace {
constexpr int64_t mostRanks = 256; ///< processes on one computer

std::optional<int64_t> readNumber(StringRef path) {
  int64_t number = 0;
  auto text = llvm::MemoryBuffer::getFileAsStream(path);
  if (!text || (*text)->getBuffer().trim().getAsInteger(10, number))
    return std::nullopt; // there is no such limit
  return number;
}

/// Bytes of memory that programs could have: what the kernel says, and what is left of a container's.
int64_t getFreeMemory() {
  int64_t bytes = int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE), kilobytes = 0;
  if (auto text = llvm::MemoryBuffer::getFileAsStream("/proc/meminfo")) {
    StringRef line = (*text)->getBuffer().split("MemAvailable:").second.ltrim();
    if (!line.consumeInteger(10, kilobytes))
      bytes = kilobytes * 1024;
  }
  if (auto limit = readNumber("/sys/fs/cgroup/memory.max"))
    bytes = std::min(bytes, *limit - readNumber("/sys/fs/cgroup/memory.current").value_or(0));
  return bytes;
}

/// Bytes of what is there on one rank in f64, be the program as it may: parameters, states and the gradients that are compared.
double getLeastBytes(func::FuncOp main) {
  constexpr double bytesOfElement = 8;
  double bytes = 0;
  for (BlockArgument argument : main.getArguments()) {
    StringRef kind = getArgKind(main, argument.getArgNumber());
    double elements = double(cast<RankedTensorType>(argument.getType()).getNumElements());
    if (kind == "parameter" || kind == "state")
      bytes += bytesOfElement * elements;
    if (main.getArgAttr(argument.getArgNumber(), "para.trainable"))
      bytes += bytesOfElement * elements;
  }
  return bytes;
}
} // namespace

int para::failVerify(const llvm::Twine &message, int status) {
  llvm::errs() << "para-opt: error: --verify: " << message << "\n";
  return status;
}

int para::checkVerifyMemory(const llvm::Twine &what, double bytes) {
  double free = double(getFreeMemory());
  if (bytes <= free)
    return kDone;
  return failVerify(what + " would take " + inBytes(bytes) + " in f64, and this computer has " + inBytes(free) +
                  " left: verify the plan of a smaller model (fewer layers or narrower ones, --dim batch=N), or compile without --verify",
              kRefused);
}

int para::admitVerification(ModuleOp planned, const Plan &plan, DriverOptions &options) {
  int64_t ranks = plan.getNumRanks();
  if (ranks == 1 && options.target == "host" && plan.recompute == "none") {
    bool isOneRankAsked = options.ranks == 1 || !options.mesh.empty() || options.plan != "auto";
    if (!isOneRankAsked)
      return failVerify("one rank is compared with several, and the plan has one: give the number of ranks (--ranks N, --mesh, --machine)", kWrongUsage);
    llvm::errs() << "para-opt: note: " << options.show("--verify") << " does nothing here: the plan has one rank, as was asked, and its program is the serial one\n";
    options.verify = false;
    return kDone;
  }
  if (ranks > mostRanks)
    return failVerify("the plan has " + llvm::Twine(ranks) + " ranks, and at most " + llvm::Twine(mostRanks) +
                    " run on one computer: verify the same way to plan on fewer of them, or compile without --verify",
                kRefused);
  return checkVerifyMemory("one rank with all parameters" + llvm::Twine(options.train ? ", gradients and optimizer state" : ""), getLeastBytes(planned.lookupSymbol<func::FuncOp>("main")));
}
