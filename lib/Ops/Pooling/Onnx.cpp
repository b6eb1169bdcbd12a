//===- Onnx.cpp - ONNX pooling --------------------------------------------===//

#include "para/Import/OnnxOp.h"
#include "para/Import/OnnxWindow.h"

using namespace mlir;
using namespace para;

using V = ImportValue;
using B = ImportBuilder;

static std::optional<Windowing> readPool(OnnxOp &op, V x) {
  if (!x)
    return std::nullopt;
  std::optional<SmallVector<int64_t>> window = op.getInts("kernel_shape");
  if (!x.isFloat() || x.rank() < 3 || x.rank() > 5 || !window || static_cast<int64_t>(window->size()) != x.rank() - 2) {
    op.error() << op.type() << " of " << x.type() << " is not supported";
    return std::nullopt;
  }
  return readWindowing(op, x.shape().drop_front(2), *window);
}

static void importMaxPool(OnnxOp &op) {
  V x = op.input(0);
  if (std::optional<Windowing> w = readPool(op, x))
    op.result(V(op.b.t.pool(ReductionKind::Max, op.b.materialize(x), *w)));
}

static void importAveragePool(OnnxOp &op) {
  B &b = op.b;
  V x = op.input(0);
  std::optional<Windowing> w = readPool(op, x);
  if (!w)
    return;
  V sum = V(b.t.pool(ReductionKind::Sum, b.materialize(x), *w));
  bool countPadding = op.getInt("count_include_pad", 0);
  bool ceil = op.getInt("ceil_mode", 0);
  std::optional<SmallVector<int64_t>> pads = op.getInts("pads");
  // The number of elements under each window, a product over dimensions.
  V count = b.splat(x.element(), SmallVector<int64_t>(x.rank(), 1), 1);
  for (size_t i = 0; i < w->window.size(); ++i) {
    int64_t size = x.dim(i + 2), begin = countPadding ? -w->padLow[i] : 0;
    int64_t end = countPadding ? size + w->padHigh[i] : size;
    if (countPadding && ceil) // What rounding up added is never counted.
      end = size + (pads ? (*pads)[w->window.size() + i] : 0);
    std::vector<Scalar> line;
    for (int64_t o = 0; o < sum.dim(i + 2); ++o) {
      int64_t under = 0;
      for (int64_t k = 0; k < w->window[i]; ++k) {
        int64_t at = o * w->strides[i] - w->padLow[i] + k * w->dilations[i];
        under += at >= begin && at < end;
      }
      line.push_back(Scalar::ofFloat(static_cast<double>(under)));
    }
    SmallVector<int64_t> shape(x.rank(), 1);
    shape[i + 2] = line.size();
    count = b.mul(count, b.known(RankedTensorType::get(shape, x.element()), std::move(line)));
  }
  op.result(b.div(sum, count));
}

static SmallVector<int64_t> spatialDims(V x) { return llvm::to_vector(llvm::seq<int64_t>(2, std::max<int64_t>(2, x.rank()))); }

static void importGlobalPool(OnnxOp &op) {
  V x = op.input(0);
  if (!x)
    return;
  SmallVector<int64_t> dims = spatialDims(x);
  op.result(op.type() == "GlobalMaxPool" ? op.b.reduce(ReductionKind::Max, x, dims, true) : op.b.mean(x, dims, true));
}

void para::registerPoolingOnnx(OnnxRegistry &r) {
  r.add("MaxPool", 1, importMaxPool);
  r.add("AveragePool", 1, importAveragePool);
  r.add({"GlobalAveragePool", "GlobalMaxPool"}, 1, importGlobalPool);
}
