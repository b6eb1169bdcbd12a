#include "KernelReport.h"

#include "para/Cost/Kernel.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace para;
using llvm::formatv;

namespace {
bool isProduct(const KernelRow &row) { return row.family == "product" || row.family == "convolution"; }

/// The library computes products of f32 and f64 in full; only f64 and the narrow types have tensor cores that do.
double tensorFlopsOf(const KernelRow &row, CostType type) { return isProduct(row) && type != CostType::F32 ? row.flops : row.tensorFlops; }

/// Of one launch: bound by memory, or by what computes. None of what goes to other ranks: that is the plan's to price.
std::optional<double> secondsOf(const KernelRow &row, const Machine &machine, CostType type) {
  if (row.family == "collective" || row.family == "message")
    return std::nullopt;
  if (row.k > 0) {
    Kernel kernel = Kernel::product(type, row.m, row.n, row.k, row.batch);
    kernel.bytes = row.moved;
    if (row.family == "convolution")
      kernel.kind = Kernel::Convolution;
    return kernelSeconds(machine, kernel);
  }
  return kernelSeconds(machine, Kernel::streaming(row.moved, row.flops));
}

struct Sum {
  double launches = 0, moved = 0, least = 0, flops = 0, tensorFlops = 0, seconds = 0, worst = 0, kernels = 0;
  double ratio() const { return least > 0 ? moved / least : 1; }
};

double ratioOf(const KernelRow &row) { return row.least > 0 ? row.moved / row.least : 1; }

void add(Sum &sum, const KernelRow &row, const Machine *machine, CostType type) {
  double count = static_cast<double>(row.launches);
  sum.launches += count;
  sum.kernels += 1;
  sum.moved += count * row.moved;
  sum.least += count * row.least;
  sum.flops += count * row.flops;
  sum.tensorFlops += count * tensorFlopsOf(row, type);
  sum.seconds += machine ? count * secondsOf(row, *machine, type).value_or(0) : 0;
  sum.worst = std::max(sum.worst, ratioOf(row));
}

llvm::MapVector<llvm::StringRef, Sum> byFamily(llvm::ArrayRef<KernelRow> rows, const Machine *machine, CostType type) {
  llvm::MapVector<llvm::StringRef, Sum> sums;
  for (const KernelRow &row : rows)
    add(sums[row.family], row, machine, type);
  return sums;
}

std::string shorten(const std::vector<std::string> &nodes) {
  std::string text;
  for (auto [i, node] : llvm::enumerate(nodes)) {
    if (i == 3) {
      text += " +" + std::to_string(nodes.size() - 3);
      break;
    }
    text += (text.empty() ? "" : " ") + node;
  }
  return text;
}

std::string pad(llvm::StringRef text, size_t width) { return text.str() + std::string(width - std::min(width, text.size()), ' '); }
std::string milliseconds(double seconds) { return formatv("{0:F3}", seconds * 1e3).str(); }
std::string megabytes(double bytes) { return formatv("{0:F2}", bytes / 1e6).str(); }
} // namespace

void para::printKernels(llvm::ArrayRef<KernelRow> rows, const Machine *machine, CostType type, llvm::raw_ostream &os) {
  size_t width = 8;
  for (const KernelRow &row : rows)
    width = std::max(width, row.name.size());
  bool hasStages = llvm::any_of(rows, [](const KernelRow &row) { return row.stage > 0; });
  auto time = [&](double seconds) { return machine ? formatv(" {0,10}", milliseconds(seconds)).str() : std::string(); };
  os << "kernels of a step: launches of a rank; of one launch blocks x threads, MB moved and their ratio to the least, Mflops"
     << (machine ? ", ms on " + machine->name : "") << "\n";
  auto row = [&](llvm::StringRef stage, llvm::StringRef name, auto... columns) {
    os << (hasStages ? stage : "") << formatv("  {0} {1,-13} {2,8} {3,15} {4,10} {5,6} {6,12}", pad(name, width), columns...);
  };
  row("  stage", "kernel", "family", "launches", "blocks x threads", "MB", "ratio", "Mflops");
  os << (machine ? "         ms" : "") << "  nodes\n";
  for (const KernelRow &kernel : rows) {
    std::string shape = kernel.threads ? std::to_string(kernel.blocks) + " x " + std::to_string(kernel.threads) : "-";
    row(formatv("  {0,5}", kernel.stage).str(), kernel.name, kernel.family, kernel.launches, shape, megabytes(kernel.moved),
        formatv("{0:F2}", ratioOf(kernel)).str(), formatv("{0:F1}", kernel.flops / 1e6).str());
    std::optional<double> seconds = machine ? secondsOf(kernel, *machine, type) : 0;
    os << (seconds ? time(*seconds) : formatv(" {0,10}", "-").str()) << "  " << shorten(kernel.nodes) << "\n";
  }
  os << "\n"
     << formatv("  {0,-13} {1,8} {2,8} {3,12} {4,6} {5,6} {6,14}", "family", "kernels", "launches", "MB a step", "ratio", "worst", "Mflops a step")
     << (machine ? "         ms" : "") << "\n";
  Sum all;
  for (const KernelRow &row : rows)
    add(all, row, machine, type);
  auto line = [&](llvm::StringRef name, const Sum &sum) {
    os << formatv("  {0,-13} {1,8} {2,8} {3,12} {4,6:F2} {5,6:F2} {6,14}", name, int64_t(sum.kernels), int64_t(sum.launches),
                  megabytes(sum.moved), sum.ratio(), sum.worst, formatv("{0:F1}", sum.flops / 1e6).str())
       << time(sum.seconds) << "\n";
  };
  for (auto &[family, sum] : byFamily(rows, machine, type))
    line(family, sum);
  line("all", all);
  double share = all.flops > 0 ? all.tensorFlops / all.flops : 0;
  os << formatv("  flops on tensor cores: {0:F1} %\n", 100 * share);
}

llvm::json::Value para::kernelsToJson(llvm::ArrayRef<KernelRow> rows, const Machine *machine, CostType type) {
  llvm::json::Array kernels;
  llvm::json::Object families;
  Sum all;
  for (const KernelRow &row : rows) {
    add(all, row, machine, type);
    llvm::json::Array buffers;
    for (const KernelBuffer &buffer : row.buffers) {
      llvm::json::Object entry{{"loaded_bytes", buffer.loaded}, {"stored_bytes", buffer.stored}, {"minimal_bytes", buffer.least},
                               {"instruction_bytes", buffer.instruction}};
      if (!buffer.narrow.empty())
        entry["narrow"] = buffer.narrow;
      buffers.push_back(std::move(entry));
    }
    llvm::json::Object entry{{"name", row.name}, {"family", row.family}, {"stage", row.stage}, {"nodes", llvm::json::Array(row.nodes)}, {"launches", row.launches},
                             {"blocks", row.blocks}, {"threads", row.threads}, {"shared_bytes", row.sharedBytes}, {"bytes", row.moved}, {"minimal_bytes", row.least},
                             {"bytes_ratio", ratioOf(row)}, {"flops", row.flops}, {"tensor_core_flops", tensorFlopsOf(row, type)}};
    if (row.isKernel())
      entry["buffers"] = std::move(buffers);
    if (auto seconds = machine ? secondsOf(row, *machine, type) : std::nullopt)
      entry["seconds"] = *seconds;
    kernels.push_back(std::move(entry));
  }
  auto toJson = [&](const Sum &sum) {
    llvm::json::Object entry{{"kernels", int64_t(sum.kernels)}, {"launches", int64_t(sum.launches)}, {"bytes", sum.moved},
                             {"minimal_bytes", sum.least}, {"bytes_ratio", sum.ratio()}, {"worst_bytes_ratio", sum.worst},
                             {"flops", sum.flops}, {"tensor_core_flops", sum.tensorFlops}};
    if (machine)
      entry["seconds"] = sum.seconds;
    return entry;
  };
  for (auto &[family, sum] : byFamily(rows, machine, type))
    families[family] = toJson(sum);
  return llvm::json::Object{{"kernels", std::move(kernels)}, {"families", std::move(families)}, {"step", toJson(all)}};
}
