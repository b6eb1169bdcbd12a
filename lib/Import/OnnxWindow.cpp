#include "para/Import/OnnxWindow.h"

using namespace mlir;

namespace para {

std::optional<Windowing> readWindowing(OnnxOp &op, ArrayRef<int64_t> input, ArrayRef<int64_t> window) {
  size_t n = input.size();
  SmallVector<int64_t> ones(n, 1);
  std::optional<SmallVector<int64_t>> kernel = op.getInts("kernel_shape");
  SmallVector<int64_t> strides = op.getInts("strides").value_or(ones), dilations = op.getInts("dilations").value_or(ones);
  SmallVector<int64_t> pads = op.getInts("pads").value_or(SmallVector<int64_t>(2 * n, 0));
  std::string mode = op.getString("auto_pad", "NOTSET");
  bool ceil = op.getInt("ceil_mode", 0);
  if (op.b.hasFailed())
    return std::nullopt;
  auto fail = [&](const Twine &text) {
    op.error() << op.type() << " " << text;
    return std::nullopt;
  };
  if (window.size() != n || strides.size() != n || dilations.size() != n || pads.size() != 2 * n)
    return fail("has attributes of the wrong length");
  if (kernel && ArrayRef<int64_t>(*kernel) != window)
    return fail("has a kernel_shape that is not its weight's");
  Windowing w;
  for (size_t i = 0; i < n; ++i) {
    constexpr int64_t most = 1 << 20;
    auto sane = [](int64_t x) { return x > 0 && x <= most; };
    if (!sane(window[i]) || !sane(strides[i]) || !sane(dilations[i]) || pads[i] < 0 || pads[i] > most || pads[n + i] < 0 || pads[n + i] > most)
      return fail("has an impossible window");
    int64_t extent = dilations[i] * (window[i] - 1) + 1, low = pads[i], high = pads[n + i];
    if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
      int64_t out = (input[i] + strides[i] - 1) / strides[i];
      int64_t total = std::max<int64_t>(0, (out - 1) * strides[i] + extent - input[i]);
      low = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      high = total - low;
    } else if (mode == "VALID") {
      low = high = 0;
    } else if (mode != "NOTSET" && !mode.empty()) {
      return fail("has the unknown auto_pad '" + Twine(mode) + "'");
    }
    int64_t room = input[i] + low + high - extent;
    if (room < 0)
      return fail("has a window of " + Twine(extent) + " elements over " + Twine(input[i] + low + high));
    if (ceil) {
      int64_t out = (room + strides[i] - 1) / strides[i] + 1;
      if ((out - 1) * strides[i] >= input[i] + low)
        --out;
      high += (out - 1) * strides[i] - room > 0 ? (out - 1) * strides[i] - room : 0;
    }
    w.window.push_back(window[i]);
    w.strides.push_back(strides[i]);
    w.dilations.push_back(dilations[i]);
    w.padLow.push_back(low);
    w.padHigh.push_back(high);
  }
  return w;
}

} // namespace para
