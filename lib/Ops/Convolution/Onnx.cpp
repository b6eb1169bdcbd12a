//===- Onnx.cpp - ONNX convolutions ---------------------------------------===//

#include "para/Import/OnnxOp.h"
#include "para/Import/OnnxWindow.h"

using namespace mlir;
using namespace para;

using V = ImportValue;
using B = ImportBuilder;

static V addBias(OnnxOp &op, V y) {
  V bias = op.optional(2);
  if (!bias || !y)
    return y;
  SmallVector<int64_t> shape(y.rank(), 1);
  shape[1] = y.dim(1);
  return op.b.add(y, op.b.reshape(bias, shape));
}

static bool checkOperands(OnnxOp &op, V x, V weight) {
  if (!x || !weight)
    return false;
  if (x.isFloat() && x.element() == weight.element() && x.rank() == weight.rank() && x.rank() >= 3 && x.rank() <= 5)
    return true;
  op.error() << op.type() << " of " << x.type() << " and " << weight.type() << " is not supported";
  return false;
}

static void importConv(OnnxOp &op) {
  V x = op.input(0), weight = op.input(1);
  int64_t groups = op.getInt("group", 1);
  if (!checkOperands(op, x, weight))
    return;
  if (groups <= 0 || x.dim(1) != weight.dim(1) * groups || weight.dim(0) % groups != 0)
    return void(op.error() << "Conv in " << groups << " groups does not fit " << x.type() << " and " << weight.type());
  std::optional<Windowing> w = readWindowing(op, x.shape().drop_front(2), SmallVector<int64_t>(weight.shape().drop_front(2)));
  if (w)
    op.result(addBias(op, V(op.b.t.convolution(op.b.materialize(x), op.b.materialize(weight), *w, groups))));
}

/// The transposed convolution is the input gradient of a convolution; its padding is told by the size of the result.
static void importConvTranspose(OnnxOp &op) {
  B &b = op.b;
  V x = op.input(0), weight = op.input(1);
  int64_t groups = op.getInt("group", 1);
  if (!checkOperands(op, x, weight))
    return;
  if (groups <= 0 || x.dim(1) != weight.dim(0) || x.dim(1) % groups != 0)
    return void(op.error() << "ConvTranspose in " << groups << " groups does not fit " << x.type() << " and " << weight.type());
  size_t n = x.rank() - 2;
  SmallVector<int64_t> ones(n, 1), zeros(n, 0), window(weight.shape().drop_front(2));
  SmallVector<int64_t> strides = op.getInts("strides").value_or(ones), dilations = op.getInts("dilations").value_or(ones);
  SmallVector<int64_t> extra = op.getInts("output_padding").value_or(zeros);
  SmallVector<int64_t> pads = op.getInts("pads").value_or(SmallVector<int64_t>(2 * n, 0));
  std::optional<SmallVector<int64_t>> wanted = op.getInts("output_shape");
  std::string mode = op.getString("auto_pad", "NOTSET");
  if (wanted && wanted->size() == n + 2)
    wanted->erase(wanted->begin(), wanted->begin() + 2);
  if (strides.size() != n || dilations.size() != n || extra.size() != n || pads.size() != 2 * n || (wanted && wanted->size() != n))
    return void(op.error() << "ConvTranspose has attributes of the wrong length");
  SmallVector<int64_t> shape = {x.dim(0), weight.dim(1) * groups};
  Windowing w;
  w.window = window;
  w.strides = strides;
  w.dilations = dilations;
  for (size_t i = 0; i < n; ++i) {
    if (strides[i] <= 0 || dilations[i] <= 0 || extra[i] < 0 || !b.checkShape({strides[i], x.dim(i + 2)}) || !b.checkShape({dilations[i], window[i]}))
      return void(op.error() << "ConvTranspose has an impossible window");
    int64_t full = strides[i] * (x.dim(i + 2) - 1) + extra[i] + (window[i] - 1) * dilations[i] + 1;
    int64_t low = pads[i], high = pads[n + i], size = full - low - high;
    bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
    if (wanted || same) {
      size = wanted ? (*wanted)[i] : x.dim(i + 2) * strides[i];
      int64_t total = std::max<int64_t>(0, full - size);
      low = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      high = full - size - low;
    } else if (mode == "VALID") {
      low = high = 0;
      size = full;
    }
    // What output_padding adds lies behind the last window.
    w.padLow.push_back(low);
    w.padHigh.push_back(high);
    shape.push_back(size);
    if (size <= 0 || (size + low + high - (window[i] - 1) * dilations[i] - 1) / strides[i] + 1 != x.dim(i + 2))
      return void(op.error() << "ConvTranspose cannot have " << size << " elements along dimension " << i + 2);
  }
  if (b.checkShape(shape))
    op.result(addBias(op, V(b.t.convolutionInputGrad(b.materialize(x), b.materialize(weight), shape, w, groups))));
}

void para::registerConvolutionOnnx(OnnxRegistry &r) {
  r.add("Conv", 1, importConv);
  r.add("ConvTranspose", 1, importConvTranspose);
}
