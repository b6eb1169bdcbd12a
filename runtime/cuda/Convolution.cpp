//===- Convolution.cpp - Convolutions by cuDNN --------------------------------===//
#include "Convolution.h"

#include <algorithm>
#include <cstring>

namespace para::runtime::cuda {

namespace {
// Values of cudnn_graph.h and cudnn_ops.h.
enum { RealF32 = 0, RealF64 = 1, RealF16 = 2, RealBF16 = 9 };
enum { LayoutNCHW = 0, CrossCorrelation = 1, FmaMath = 3, DefaultMath = 0, Deterministic = 1 };

int typeOf(int32_t dtype) {
  switch (dtype) {
  case PARA_F32: return RealF32;
  case PARA_F64: return RealF64;
  case PARA_F16: return RealF16;
  case PARA_BF16: return RealBF16;
  }
  return -1;
}
} // namespace

Status Convolutions::create() {
  PARA_TRY(loadDnn(dnn));
  int result = dnn.cudnnCreate(&handle);
  return result == 0 ? Status::success() : Status::error(std::string("cuDNN: ") + dnn.cudnnGetErrorString(result));
}

void Convolutions::release(Entry &entry) {
  for (Handle tensor : {entry.x, entry.y})
    if (tensor)
      dnn.cudnnDestroyTensorDescriptor(tensor);
  if (entry.w)
    dnn.cudnnDestroyFilterDescriptor(entry.w);
  if (entry.convolution)
    dnn.cudnnDestroyConvolutionDescriptor(entry.convolution);
  entry = Entry();
}

Convolutions::~Convolutions() {
  for (auto &[desc, entry] : entries)
    release(entry);
  if (handle)
    dnn.cudnnDestroy(handle);
}

bool Convolutions::make(Entry &entry, std::string &cause) {
  const para_convolution_desc &d = entry.desc;
  int type = typeOf(d.dtype);
  if (type < 0 || d.spatial < 1 || d.spatial > 3 || d.groups < 1) {
    cause = "convolution: no code for this element type or number of dimensions";
    return false;
  }
  // cuDNN has no fewer than two dimensions: one of size 1 goes in front.
  std::vector<int> in, out, window, stride, dilation, pad;
  auto add = [](std::vector<int> &list, int64_t v) { list.push_back(int(v)); };
  if (d.spatial == 1)
    for (auto [list, value] : {std::pair(&in, 1), {&out, 1}, {&window, 1}, {&stride, 1}, {&dilation, 1}, {&pad, 0}})
      list->push_back(value);
  for (int32_t i = 0; i < d.spatial; ++i) {
    if (d.pad_low[i] != d.pad_high[i]) {
      cause = "convolution: cuDNN pads both sides of a dimension alike, and this one has " + std::to_string(d.pad_low[i]) +
              " before and " + std::to_string(d.pad_high[i]) + " behind; pad the input by an operation of its own";
      return false;
    }
    add(in, d.in[i]), add(out, d.out[i]), add(window, d.window[i]), add(stride, d.stride[i]), add(dilation, d.dilation[i]), add(pad, d.pad_low[i]);
  }
  int rank = int(in.size()) + 2, result = 0;
  auto note = [&](int code) { result = result ? result : code; };
  auto dims = [&](int64_t first, int64_t second, const std::vector<int> &rest) {
    std::vector<int> all{int(first), int(second)};
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  };
  auto tensor = [&](Handle &made, const std::vector<int> &shape) {
    std::vector<int> strides(shape.size(), 1);
    for (size_t i = shape.size() - 1; i-- > 0;)
      strides[i] = strides[i + 1] * shape[i + 1];
    note(dnn.cudnnCreateTensorDescriptor(&made));
    if (result == 0)
      note(dnn.cudnnSetTensorNdDescriptor(made, type, rank, shape.data(), strides.data()));
  };
  tensor(entry.x, dims(d.n, d.c, in));
  tensor(entry.y, dims(d.n, d.k, out));
  std::vector<int> filter = dims(d.k, d.c / d.groups, window);
  note(dnn.cudnnCreateFilterDescriptor(&entry.w));
  if (result == 0)
    note(dnn.cudnnSetFilterNdDescriptor(entry.w, type, LayoutNCHW, rank, filter.data()));
  note(dnn.cudnnCreateConvolutionDescriptor(&entry.convolution));
  if (result == 0)
    note(dnn.cudnnSetConvolutionNdDescriptor(entry.convolution, rank - 2, pad.data(), stride.data(), dilation.data(), CrossCorrelation,
                                             d.dtype == PARA_F64 ? RealF64 : RealF32));
  if (result == 0)
    note(dnn.cudnnSetConvolutionGroupCount(entry.convolution, d.groups));
  // f32 means f32: by default cuDNN would round its factors to 10 bits.
  if (result == 0)
    note(dnn.cudnnSetConvolutionMathType(entry.convolution, d.dtype == PARA_F32 ? FmaMath : DefaultMath));
  if (result != 0)
    cause = std::string("cuDNN: ") + dnn.cudnnGetErrorString(result);
  return result == 0 && choose(entry, cause);
}

bool Convolutions::choose(Entry &entry, std::string &cause) {
  constexpr int most = 16;
  DnnChoice choices[most];
  int found = 0, result = 0;
  if (entry.desc.kind == PARA_CONV_FORWARD)
    result = dnn.cudnnGetConvolutionForwardAlgorithm_v7(handle, entry.x, entry.w, entry.convolution, entry.y, most, &found, choices);
  else if (entry.desc.kind == PARA_CONV_INPUT_GRAD)
    result = dnn.cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, entry.w, entry.y, entry.convolution, entry.x, most, &found, choices);
  else
    result = dnn.cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, entry.x, entry.y, entry.convolution, entry.w, most, &found, choices);
  if (result != 0) {
    cause = std::string("cuDNN: ") + dnn.cudnnGetErrorString(result);
    return false;
  }
  constexpr size_t mostWorkspaceBytes = size_t(256) << 20;
  for (int i = 0; i < found; ++i)
    if (choices[i].status == 0 && choices[i].determinism == Deterministic && choices[i].memory <= mostWorkspaceBytes) {
      entry.algorithm = choices[i].algorithm;
      entry.workspaceBytes = int64_t(choices[i].memory);
      if (entry.desc.dtype != PARA_F32)
        dnn.cudnnSetConvolutionMathType(entry.convolution, choices[i].mathType);
      return true;
    }
  cause = "cuDNN has no algorithm with repeatable results for this convolution";
  return false;
}

para_status Convolutions::run(int32_t stream, const para_convolution_desc &desc, void *x, void *w, void *y, const char *op) {
  Entry &entry = entries[&desc];
  if (!entry.isMade || std::memcmp(&entry.desc, &desc, sizeof(desc)) != 0) {
    release(entry);
    entry.desc = desc;
    std::string cause;
    if (!make(entry, cause)) {
      release(entry);
      return ctx->fail(op, cause);
    }
    entry.isMade = true;
  }
  Address address = entry.workspaceBytes ? ctx->scratchFor(stream, entry.workspaceBytes) : 0;
  if (entry.workspaceBytes && !address)
    return ctx->fail(op, "convolution: no memory is left for cuDNN", PARA_OUT_OF_MEMORY);
  void *workspace = reinterpret_cast<void *>(uintptr_t(address));
  size_t bytes = size_t(entry.workspaceBytes);
  float narrow[] = {1, 0};
  double wide[] = {1, 0};
  bool isDouble = desc.dtype == PARA_F64;
  const void *one = isDouble ? static_cast<const void *>(wide) : narrow, *zero = isDouble ? static_cast<const void *>(wide + 1) : narrow + 1;
  int result = dnn.cudnnSetStream(handle, ctx->streams[stream]);
  if (result == 0 && desc.kind == PARA_CONV_FORWARD)
    result = dnn.cudnnConvolutionForward(handle, one, entry.x, x, entry.w, w, entry.convolution, entry.algorithm, workspace, bytes, zero, entry.y, y);
  else if (result == 0 && desc.kind == PARA_CONV_INPUT_GRAD)
    result = dnn.cudnnConvolutionBackwardData(handle, one, entry.w, w, entry.y, y, entry.convolution, entry.algorithm, workspace, bytes, zero, entry.x, x);
  else if (result == 0)
    result = dnn.cudnnConvolutionBackwardFilter(handle, one, entry.x, x, entry.y, y, entry.convolution, entry.algorithm, workspace, bytes, zero, entry.w, w);
  return result == 0 ? PARA_OK : ctx->fail(op, std::string("cuDNN: ") + dnn.cudnnGetErrorString(result));
}

} // namespace para::runtime::cuda

para_status para_convolution(para_context *ctx, int32_t stream, const para_convolution_desc *desc, void *x, void *w, void *y, const char *op) {
  using namespace para::runtime;
  cuda::OpScope scope(ctx, stream, op, "convolution");
  if (!ctx->isStream(stream))
    return ctx->fail(op, "there is no stream " + std::to_string(stream));
  if (!ctx->convolutions) {
    ctx->convolutions = std::make_unique<cuda::Convolutions>(ctx);
    if (Status status = ctx->convolutions->create(); status.failed())
      return ctx->fail(op, status.message());
  }
  return ctx->convolutions->run(stream, *desc, x, w, y, op);
}
