//===- KernelTable.cpp - The launches of a device program -----------------===//
#include "para/Lower/KernelTable.h"

#include "para/IR/Program.h"
#include "para/Lower/Rt.h"
#include "para/Runtime/Scatter.h"

#include "IndexMath.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace para;

namespace {
int64_t numberOf(Operation *op, StringRef name) {
  auto attr = op->getAttrOfType<IntegerAttr>(name);
  return attr ? attr.getInt() : 0;
}
ArrayRef<int64_t> listOf(Operation *op, StringRef name) { return op->getAttrOfType<DenseI64ArrayAttr>(name).asArrayRef(); }

/// Bytes of an element by the runtime's number for its type (para_dtype).
int64_t widthOf(int64_t dtype) {
  static constexpr int64_t bytes[] = {4, 8, 2, 2, 1, 1, 2, 4, 8, 1};
  return dtype >= 0 && dtype < 10 ? bytes[dtype] : 4;
}

/// How often the runtime of cuda calls the library: of the dimensions of a batch that no one stride joins it loops over all but the largest.
int64_t callsOf(rt::MatmulOp op) {
  struct Dim {
    int64_t size, a, b, c;
  };
  SmallVector<Dim> dims;
  for (auto [size, a, b, c] : llvm::zip_equal(op.getBatch(), op.getABatch(), op.getBBatch(), op.getCBatch())) {
    if (size == 1)
      continue;
    if (!dims.empty() && dims.back().a == size * a && dims.back().b == size * b && dims.back().c == size * c)
      dims.back() = {dims.back().size * size, a, b, c};
    else
      dims.push_back({size, a, b, c});
  }
  int64_t all = 1, largest = 1;
  for (const Dim &dim : dims)
    all *= dim.size, largest = std::max(largest, dim.size);
  return all / largest;
}

std::string sizes(ArrayRef<int64_t> list) {
  std::string text;
  for (int64_t size : list)
    text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

class Table {
public:
  explicit Table(ModuleOp program) : program(program) {
    for (auto kernel : program.getOps<rt::KernelOp>())
      kernels[kernel.getSymName()] = kernel, hasBlocks |= kernel.getBlock().has_value();
  }

  std::vector<KernelRow> run() {
    auto manifest = llvm::json::parse(program->getAttrOfType<StringAttr>("rt.manifest").getValue());
    assert(manifest && "the lower stage wrote it");
    llvm::StringMap<int64_t> runs; // of a segment, a step
    for (const llvm::json::Value &stage : *manifest->getAsObject()->getArray("stages"))
      for (const llvm::json::Value &action : *stage.getAsObject()->getArray("actions"))
        ++runs[*action.getAsObject()->getString("segment")];
    for (auto segment : program.getOps<rt::SegmentOp>())
      for (Operation &op : segment.getBody().front())
        add(&op, segment.getStage(), runs.lookup(segment.getSymName()), segment.getSymName().ends_with(".update"));
    return std::move(rows);
  }

private:
  void add(Operation *op, int64_t stage, int64_t runs, bool isUpdate) {
    KernelRow row;
    row.stage = stage;
    int64_t launches = 1;
    if (auto launch = dyn_cast<rt::LaunchOp>(op))
      describe(row, kernels[launch.getKernel()], isUpdate);
    else if (auto matmul = dyn_cast<rt::MatmulOp>(op))
      launches = describe(row, matmul);
    else if (auto convolution = dyn_cast<rt::ConvolutionOp>(op))
      describe(row, convolution);
    else if (auto scatter = dyn_cast<rt::ScatterAddOp>(op)) {
      KernelRow zero; // the table, first
      zero.stage = stage;
      describe(zero, "zero", "scatter", double(scatter.getBytes()));
      insert(op, zero, runs);
      if (hasBlocks) { // Indices are read once from memory; what is sorted and where rows begin is written.
        KernelRow order;
        order.stage = stage;
        int64_t written = scatter::passesOf(int64_t(scatter.getRows())) > 1 ? 3 : 2;
        describe(order, "scatter_order", "scatter", double(scatter.getPositions()) * double(widthOf(scatter.getIndexDtype()) + 4 * written));
        insert(op, order, runs);
      }
      describe(row, scatter);
    } else if (isa<rt::CopyOp>(op))
      describe(row, "copy", "copy", 2 * static_cast<double>(numberOf(op, "bytes")));
    else if (isa<rt::AllReduceOp, rt::AllGatherOp, rt::ReduceScatterOp, rt::AllToAllOp>(op))
      describe(row, op->getName().stripDialect(), "collective", 2 * static_cast<double>(numberOf(op, "count") * widthOf(numberOf(op, "dtype"))));
    else if (isa<rt::SendOp, rt::RecvOp>(op))
      describe(row, op->getName().stripDialect(), "message", static_cast<double>(numberOf(op, "bytes")));
    else
      return;
    insert(op, row, runs * launches);
  }

  void insert(Operation *op, KernelRow &row, int64_t launches) {
    auto [it, fresh] = known.try_emplace(std::to_string(row.stage) + row.name + row.family, rows.size());
    if (StringRef node = getNodeName(op->getLoc()); fresh && row.nodes.empty() && !node.empty())
      row.nodes.push_back(node.str());
    if (fresh)
      rows.push_back(row);
    rows[it->second].launches += launches;
  }

  static void describe(KernelRow &row, StringRef name, StringRef family, double bytes) {
    row.name = (name + " " + llvm::formatv("{0}", bytes).str()).str();
    row.family = family.str();
    row.moved = row.least = bytes;
  }

  static void describe(KernelRow &row, rt::KernelOp kernel, bool isUpdate) {
    auto facts = kernel->getAttrOfType<DictionaryAttr>("rt.facts");
    assert(facts && "kernels are described when they are emitted");
    row.name = kernel.getSymName().str();
    row.family = facts.getAs<StringAttr>("family").getValue().str();
    for (Attribute node : facts.getAs<ArrayAttr>("nodes"))
      row.nodes.push_back(cast<StringAttr>(node).getValue().str());
    if (kernel.getBlock()) {
      row.blocks = *kernel.getExtent();
      row.threads = *kernel.getBlock();
      row.sharedBytes = kernel.getSharedBytes().value_or(0);
    }
    row.flops = facts.getAs<FloatAttr>("flops").getValueAsDouble();
    ArrayRef<int64_t> product = facts.getAs<DenseI64ArrayAttr>("product").asArrayRef();
    row.batch = product[0], row.m = product[1], row.n = product[2], row.k = product[3];
    if (facts.getAs<BoolAttr>("tensor_cores").getValue())
      row.tensorFlops = 2 * double(row.batch) * double(row.m) * double(row.n) * double(row.k);
    row.moved = static_cast<double>(facts.getAs<IntegerAttr>("moved").getInt());
    row.least = static_cast<double>(facts.getAs<IntegerAttr>("least").getInt());
    for (Attribute entry : facts.getAs<ArrayAttr>("buffers")) {
      auto buffer = cast<DictionaryAttr>(entry);
      auto number = [&](StringRef name) { return buffer.getAs<IntegerAttr>(name).getInt(); };
      row.buffers.push_back({number("loaded"), number("stored"), number("least"), number("instruction"), buffer.getAs<StringAttr>("narrow").getValue().str()});
    }
    // What an update writes back; sums over gradients alone, of a norm, are reductions.
    double stored = 0;
    for (const KernelBuffer &buffer : row.buffers)
      stored += double(buffer.stored);
    if (isUpdate && (row.family != "reduction" || 8 * stored > row.moved))
      row.family = "optimizer";
  }

  static int64_t describe(KernelRow &row, rt::MatmulOp op) {
    row.family = "product";
    row.batch = productOf(op.getBatch());
    row.m = op.getMnk()[0], row.n = op.getMnk()[1], row.k = op.getMnk()[2];
    int64_t calls = callsOf(op);
    row.name = "matmul " + (row.batch > 1 ? std::to_string(row.batch) + " of " : "") + sizes(op.getMnk());
    if (calls > 1)
      row.name += " in " + std::to_string(calls);
    // Of one call.
    row.batch /= calls;
    double m = double(row.m), n = double(row.n), k = double(row.k), batch = double(row.batch);
    row.flops = 2 * batch * m * n * k;
    row.moved = row.least = batch * (double(widthOf(op.getDtype())) * (m * k + k * n) + double(widthOf(op.getCDtype())) * m * n);
    return calls;
  }

  static void describe(KernelRow &row, rt::ConvolutionOp op) {
    row.family = "convolution";
    ArrayRef<int64_t> nck = listOf(op, "nck");
    int64_t out = productOf(op.getOut()), in = productOf(op.getIn()), window = productOf(op.getWindow()), groups = op.getGroups();
    static constexpr StringLiteral kinds[] = {"", " to input", " to weight"};
    row.name = "convolution" + kinds[std::clamp<int64_t>(op.getKind(), 0, 2)].str() + " " + sizes(nck) + " " + sizes(op.getIn()) + " by " + sizes(op.getWindow());
    row.batch = groups;
    row.m = nck[0] * out, row.n = nck[2] / groups, row.k = nck[1] / groups * window;
    row.flops = 2 * double(row.batch) * double(row.m) * double(row.n) * double(row.k);
    row.moved = row.least = double(widthOf(op.getDtype())) * (double(nck[0] * nck[1] * in) + double(nck[0] * nck[2] * out) + double(nck[1] / groups * nck[2] * window));
  }

  static void describe(KernelRow &row, rt::ScatterAddOp op) {
    row.family = "scatter";
    row.name = "scatter_add " + sizes({int64_t(op.getPositions()), int64_t(op.getWidth()), int64_t(op.getRows())});
    double width = double(widthOf(op.getDtype()));
    row.moved = row.least = 2 * width * double(op.getPositions()) * double(op.getWidth()); // rows are read and written
    row.flops = double(op.getPositions()) * double(op.getWidth());
  }

  ModuleOp program;
  llvm::StringMap<rt::KernelOp> kernels;
  bool hasBlocks = false;
  std::vector<KernelRow> rows;
  llvm::StringMap<size_t> known; ///< rows by what is the same
};
} // namespace

std::vector<KernelRow> para::tabulateKernels(ModuleOp program) { return Table(program).run(); }
