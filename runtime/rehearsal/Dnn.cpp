//===- Dnn.cpp - cuDNN's table, served by the processor -----------------------===//
//
// Convolutions by plain loops over their definition, summed in doubles.
//
//===----------------------------------------------------------------------===//
#include "Machine.h"
#include "Rehearsal.h"

#include "core/DType.h"

#include <cstring>

namespace para::runtime::rehearsal {

namespace {
using cuda::DnnChoice;
using cuda::Handle;
// Values of cudnn_graph.h and cudnn_ops.h.
enum { Success = 0, BadParam = 2000, NotSupported = 3000 };
enum { RealF32 = 0, RealF64 = 1, RealF16 = 2, RealBF16 = 9, CrossCorrelation = 1 };
enum { Repeatable = 1, Unrepeatable = 7 };
constexpr size_t workspaceBytes = 64;

struct Tensor {
  int type = -1;
  std::vector<int> shape;
  int64_t elements() const {
    int64_t count = 1;
    for (int v : shape)
      count *= v;
    return count;
  }
  DType dtype() const { return type == RealF64 ? PARA_F64 : type == RealF32 ? PARA_F32 : type == RealF16 ? PARA_F16 : PARA_BF16; }
  size_t bytes() const { return size_t(elements()) * (type == RealF64 ? 8 : type == RealF32 ? 4 : 2); }
};
struct Convolution {
  std::vector<int> pad, stride, dilation;
  int groups = 1;
};
struct Library {
  Handle stream = nullptr;
};

size_t version() { return 91900; }
const char *errorString(int status) { return status == BadParam ? "bad parameters (rehearsed)" : status ? "not supported (rehearsed)" : "success"; }
int create(Handle *handle) { return *handle = new Library, Success; }
int destroy(Handle handle) { return delete static_cast<Library *>(handle), Success; }
int setStream(Handle handle, Handle stream) { return static_cast<Library *>(handle)->stream = stream, Success; }
int tensorCreate(Handle *made) { return *made = new Tensor, Success; }
int tensorDestroy(Handle made) { return delete static_cast<Tensor *>(made), Success; }
int setShape(Handle made, int type, int rank, const int *shape) {
  *static_cast<Tensor *>(made) = {type, std::vector<int>(shape, shape + rank)};
  bool isKnown = type == RealF32 || type == RealF64 || type == RealF16 || type == RealBF16;
  return rank < 4 || rank > 5 ? BadParam : isKnown ? Success : NotSupported;
}
int tensorSet(Handle made, int type, int rank, const int *shape, const int *strides) {
  for (int d = 0; d < rank; ++d)
    if (strides[d] != (d + 1 < rank ? strides[d + 1] * shape[d + 1] : 1))
      return NotSupported;
  return setShape(made, type, rank, shape);
}
int filterSet(Handle made, int type, int layout, int rank, const int *shape) { return layout ? NotSupported : setShape(made, type, rank, shape); }
int convolutionCreate(Handle *made) { return *made = new Convolution, Success; }
int convolutionDestroy(Handle made) { return delete static_cast<Convolution *>(made), Success; }
int convolutionSet(Handle made, int rank, const int *pad, const int *stride, const int *dilation, int mode, int) {
  *static_cast<Convolution *>(made) = {{pad, pad + rank}, {stride, stride + rank}, {dilation, dilation + rank}};
  return mode == CrossCorrelation ? Success : NotSupported;
}
int setGroups(Handle made, int groups) { return static_cast<Convolution *>(made)->groups = groups, groups > 0 ? Success : BadParam; }
int setMath(Handle, int) { return Success; }

bool fits(const Tensor &x, const Tensor &w, const Tensor &y, const Convolution &c) {
  if (x.shape.size() != c.pad.size() + 2 || w.shape.size() != x.shape.size() || y.shape.size() != x.shape.size())
    return false;
  if (x.shape[1] != w.shape[1] * c.groups || y.shape[1] != w.shape[0] || x.shape[0] != y.shape[0] || w.shape[0] % c.groups)
    return false;
  for (size_t d = 0; d < c.pad.size(); ++d)
    if (y.shape[d + 2] != (x.shape[d + 2] + 2 * c.pad[d] - (w.shape[d + 2] - 1) * c.dilation[d] - 1) / c.stride[d] + 1)
      return false;
  return x.type == w.type && x.type == y.type;
}

int choose(const void *x, const void *w, const void *c, const void *y, int *found, DnnChoice *choices) {
  choices[0] = {Unrepeatable, 0, 0, 0, /*determinism=*/0, 0, {}}; // must not be taken: its sums change from run to run
  choices[1] = {Repeatable, 0, 0, workspaceBytes, 1, 0, {}};
  *found = 2;
  auto tensor = [](const void *handle) -> const Tensor & { return *static_cast<const Tensor *>(handle); };
  return fits(tensor(x), tensor(w), tensor(y), *static_cast<const Convolution *>(c)) ? Success : BadParam;
}
int chooseForward(Handle, Handle x, Handle w, Handle c, Handle y, int, int *found, DnnChoice *choices) { return choose(x, w, c, y, found, choices); }
int chooseInput(Handle, Handle w, Handle y, Handle c, Handle x, int, int *found, DnnChoice *choices) { return choose(x, w, c, y, found, choices); }
int chooseWeight(Handle, Handle x, Handle y, Handle c, Handle w, int, int *found, DnnChoice *choices) { return choose(x, w, c, y, found, choices); }

/// Calls visit(x element, w element, y element) for each product of the sums.
template <typename Visit> void walk(const Tensor &x, const Tensor &w, const Tensor &y, const Convolution &c, Visit visit) {
  size_t spatial = c.pad.size();
  int perGroup = w.shape[0] / c.groups;
  std::vector<int> at(2 + spatial);
  int64_t taps = 1;
  for (size_t d = 0; d < spatial; ++d)
    taps *= w.shape[d + 2];
  for (int64_t o = 0, outputs = y.elements(); o < outputs; ++o) {
    int64_t rest = o;
    for (size_t d = at.size(); d-- > 0; rest /= y.shape[d])
      at[d] = int(rest % y.shape[d]);
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t left = tap, inside = 0, plane = 1;
      bool isInside = true;
      for (size_t d = spatial; d-- > 0; left /= w.shape[d + 2]) {
        int place = at[d + 2] * c.stride[d] - c.pad[d] + int(left % w.shape[d + 2]) * c.dilation[d];
        isInside &= place >= 0 && place < x.shape[d + 2];
        inside += place * plane;
        plane *= x.shape[d + 2];
      }
      if (isInside)
        for (int channel = 0; channel < w.shape[1]; ++channel)
          visit((int64_t(at[0]) * x.shape[1] + at[1] / perGroup * w.shape[1] + channel) * plane + inside,
                (int64_t(at[1]) * w.shape[1] + channel) * taps + tap, o);
    }
  }
}

enum class Kind { Forward, Input, Weight };

std::vector<double> load(const Tensor &tensor, uintptr_t address) {
  std::vector<double> values(static_cast<size_t>(tensor.elements()));
  convertElements(tensor.dtype(), memory().read(address, tensor.bytes()), PARA_F64, values.data(), tensor.elements());
  return values;
}

int run(Kind kind, Handle handle, const void *alpha, Handle x, const void *xs, Handle w, const void *ws, Handle c, Handle y, const void *ys, int algorithm,
        void *workspace, size_t bytes, const void *beta) {
  Tensor xt = *static_cast<Tensor *>(x), wt = *static_cast<Tensor *>(w), yt = *static_cast<Tensor *>(y);
  Convolution convolution = *static_cast<Convolution *>(c);
  bool isDouble = xt.type == RealF64;
  auto scale = [&](const void *factor) { return isDouble ? *static_cast<const double *>(factor) : double(*static_cast<const float *>(factor)); };
  if (algorithm != Repeatable || !fits(xt, wt, yt, convolution) || !workspace || bytes < workspaceBytes || scale(alpha) != 1 || scale(beta) != 0)
    return BadParam;
  auto at = [](const void *pointer) { return reinterpret_cast<uintptr_t>(pointer); };
  Stream *stream = machine().streamOf(static_cast<Library *>(handle)->stream, "cudnnSetStream");
  machine().enqueue(stream, "convolution", nullptr, std::function<void()>([=] {
                      std::memset(memory().write(at(workspace), bytes), 0xff, bytes);
                      const Tensor &written = kind == Kind::Forward ? yt : kind == Kind::Input ? xt : wt;
                      std::vector<double> sums(size_t(written.elements()), 0.0);
                      std::vector<double> a = kind == Kind::Input ? load(wt, at(ws)) : load(xt, at(xs));
                      std::vector<double> b = kind == Kind::Forward ? load(wt, at(ws)) : load(yt, at(ys));
                      walk(xt, wt, yt, convolution, [&](int64_t i, int64_t j, int64_t o) {
                        if (kind == Kind::Forward)
                          sums[size_t(o)] += a[size_t(i)] * b[size_t(j)];
                        else if (kind == Kind::Input)
                          sums[size_t(i)] += a[size_t(j)] * b[size_t(o)];
                        else
                          sums[size_t(j)] += a[size_t(i)] * b[size_t(o)];
                      });
                      const void *to = kind == Kind::Forward ? ys : kind == Kind::Input ? xs : ws;
                      convertElements(PARA_F64, sums.data(), written.dtype(), memory().write(at(to), written.bytes()), written.elements());
                    }));
  return Success;
}
int forward(Handle handle, const void *alpha, Handle x, const void *xs, Handle w, const void *ws, Handle c, int algorithm, void *workspace,
            size_t bytes, const void *beta, Handle y, void *ys) {
  return run(Kind::Forward, handle, alpha, x, xs, w, ws, c, y, ys, algorithm, workspace, bytes, beta);
}
int backwardInput(Handle handle, const void *alpha, Handle w, const void *ws, Handle y, const void *ys, Handle c, int algorithm, void *workspace,
                  size_t bytes, const void *beta, Handle x, void *xs) {
  return run(Kind::Input, handle, alpha, x, xs, w, ws, c, y, ys, algorithm, workspace, bytes, beta);
}
int backwardWeight(Handle handle, const void *alpha, Handle x, const void *xs, Handle y, const void *ys, Handle c, int algorithm, void *workspace,
                   size_t bytes, const void *beta, Handle w, void *ws) {
  return run(Kind::Weight, handle, alpha, x, xs, w, ws, c, y, ys, algorithm, workspace, bytes, beta);
}
} // namespace

void fill(cuda::Dnn &dnn) {
  dnn.cudnnGetVersion = version;
  dnn.cudnnGetErrorString = errorString;
  dnn.cudnnCreate = create;
  dnn.cudnnDestroy = destroy;
  dnn.cudnnSetStream = setStream;
  dnn.cudnnCreateTensorDescriptor = tensorCreate;
  dnn.cudnnDestroyTensorDescriptor = tensorDestroy;
  dnn.cudnnSetTensorNdDescriptor = tensorSet;
  dnn.cudnnCreateFilterDescriptor = tensorCreate;
  dnn.cudnnDestroyFilterDescriptor = tensorDestroy;
  dnn.cudnnSetFilterNdDescriptor = filterSet;
  dnn.cudnnCreateConvolutionDescriptor = convolutionCreate;
  dnn.cudnnDestroyConvolutionDescriptor = convolutionDestroy;
  dnn.cudnnSetConvolutionNdDescriptor = convolutionSet;
  dnn.cudnnSetConvolutionGroupCount = setGroups;
  dnn.cudnnSetConvolutionMathType = setMath;
  dnn.cudnnGetConvolutionForwardAlgorithm_v7 = chooseForward;
  dnn.cudnnGetConvolutionBackwardDataAlgorithm_v7 = chooseInput;
  dnn.cudnnGetConvolutionBackwardFilterAlgorithm_v7 = chooseWeight;
  dnn.cudnnConvolutionForward = forward;
  dnn.cudnnConvolutionBackwardData = backwardInput;
  dnn.cudnnConvolutionBackwardFilter = backwardWeight;
}

} // namespace para::runtime::rehearsal
