//===- Convolution.cpp - Library convolutions ---------------------------------===//
#include "Convolution.h"

#include "Context.h"
#include "Library.h"
#include "Threads.h"
#include "WeightReorder.h"

using namespace para::runtime;

namespace para::runtime {

namespace {
/// A tensor of the call: where the program has it, and where the primitive wants it.
struct Operand {
  dnnl::memory plain, blocked;
  dnnl::reorder reorder;
  bool isSame = true;
  int64_t offset = 0; ///< of the blocked one in the call's scratch
};

constexpr int64_t scratchAlignment = 64;
int64_t aligned(int64_t bytes) { return (bytes + scratchAlignment - 1) / scratchAlignment * scratchAlignment; }
} // namespace

struct ConvolutionCache::Entry {
  para_convolution_desc desc;
  Operand x, w, y;
  int64_t scratchBytes = 0;
  std::optional<WeightReorder> weightReorder;
  dnnl::primitive primitive;
  std::unordered_map<int, dnnl::memory> arguments;
};

ConvolutionCache::ConvolutionCache() = default;
ConvolutionCache::~ConvolutionCache() = default;

static int64_t spatial(const para_convolution_desc &desc, const int64_t *sizes) {
  int64_t total = 1;
  for (int32_t d = 0; d < desc.spatial; ++d)
    total *= sizes[d];
  return total;
}
int64_t inputElements(const para_convolution_desc &desc) { return desc.n * desc.c * spatial(desc, desc.in); }
int64_t weightElements(const para_convolution_desc &desc) {
  return desc.k * (desc.c / desc.groups) * spatial(desc, desc.window);
}
int64_t outputElements(const para_convolution_desc &desc) { return desc.n * desc.k * spatial(desc, desc.out); }

static dnnl::memory::desc plainDesc(dnnl::memory::dims dims, dnnl::memory::data_type type) {
  dnnl::memory::dims strides(dims.size());
  int64_t stride = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= dims[d];
  }
  return dnnl::memory::desc(dims, type, strides);
}

static void makeOperand(Operand &operand, const dnnl::memory::desc &plain, const dnnl::memory::desc &chosen,
                        bool isWritten, int64_t &scratchBytes) {
  // All calls take turns with one scratch: it stays in cache, and there is as much of it as the largest call needs.
  operand.plain = dnnl::memory(plain, libraryEngine(), nullptr);
  operand.isSame = plain == chosen;
  if (operand.isSame) {
    operand.blocked = operand.plain;
    return;
  }
  operand.blocked = dnnl::memory(chosen, libraryEngine(), nullptr);
  operand.offset = scratchBytes;
  scratchBytes += aligned(int64_t(chosen.get_size()));
  operand.reorder = isWritten ? dnnl::reorder(operand.blocked, operand.plain)
                              : dnnl::reorder(operand.plain, operand.blocked);
}

ConvolutionCache::Entry *ConvolutionCache::find(const para_convolution_desc *key, std::string &cause) {
  std::unique_ptr<Entry> &entry = entries[key];
  if (entry && std::memcmp(&entry->desc, key, sizeof(*key)) == 0)
    return entry.get();
  try {
    const para_convolution_desc &desc = *key;
    auto made = std::make_unique<Entry>();
    made->desc = desc;
    dnnl::memory::dims x{desc.n, desc.c}, y{desc.n, desc.k}, w, strides, dilates, low, high;
    if (desc.groups > 1)
      w = {desc.groups, desc.k / desc.groups, desc.c / desc.groups};
    else
      w = {desc.k, desc.c};
    for (int32_t d = 0; d < desc.spatial; ++d) {
      x.push_back(desc.in[d]);
      y.push_back(desc.out[d]);
      w.push_back(desc.window[d]);
      strides.push_back(desc.stride[d]);
      dilates.push_back(desc.dilation[d] - 1);
      low.push_back(desc.pad_low[d]);
      high.push_back(desc.pad_high[d]);
    }
    dnnl::memory::data_type type = libraryType(desc.dtype);
    auto any = [&](const dnnl::memory::dims &dims) {
      return dnnl::memory::desc(dims, type, dnnl::memory::format_tag::any);
    };
    auto algorithm = dnnl::algorithm::convolution_direct;
    dnnl::convolution_forward::primitive_desc forward(
        dnnl::convolution_forward::desc(dnnl::prop_kind::forward_training, algorithm, any(x), any(w), any(y), strides,
                                        dilates, low, high),
        libraryEngine());
    dnnl::memory::desc chosenX = forward.src_desc(), chosenW = forward.weights_desc(), chosenY = forward.dst_desc();
    if (desc.kind == PARA_CONV_FORWARD) {
      made->primitive = dnnl::convolution_forward(forward);
    } else if (desc.kind == PARA_CONV_INPUT_GRAD) {
      dnnl::convolution_backward_data::primitive_desc backward(
          dnnl::convolution_backward_data::desc(algorithm, any(x), any(w), any(y), strides, dilates, low, high),
          libraryEngine(), forward);
      chosenX = backward.diff_src_desc();
      chosenW = backward.weights_desc();
      chosenY = backward.diff_dst_desc();
      made->primitive = dnnl::convolution_backward_data(backward);
    } else {
      dnnl::convolution_backward_weights::primitive_desc backward(
          dnnl::convolution_backward_weights::desc(algorithm, any(x), any(w), any(y), strides, dilates, low, high),
          libraryEngine(), forward);
      chosenX = backward.src_desc();
      chosenW = backward.diff_weights_desc();
      chosenY = backward.diff_dst_desc();
      made->primitive = dnnl::convolution_backward_weights(backward);
    }
    bool isForward = desc.kind == PARA_CONV_FORWARD, isInput = desc.kind == PARA_CONV_INPUT_GRAD;
    makeOperand(made->x, plainDesc(x, type), chosenX, isInput, made->scratchBytes);
    makeOperand(made->w, plainDesc(w, type), chosenW, desc.kind == PARA_CONV_WEIGHT_GRAD, made->scratchBytes);
    makeOperand(made->y, plainDesc(y, type), chosenY, isForward, made->scratchBytes);
    if (desc.kind == PARA_CONV_WEIGHT_GRAD && desc.groups == 1 && !made->w.isSame)
      made->weightReorder = WeightReorder::find(chosenW);
    made->arguments = {{isInput ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, made->x.blocked},
                       {desc.kind == PARA_CONV_WEIGHT_GRAD ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, made->w.blocked},
                       {isForward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, made->y.blocked}};
    entry = std::move(made);
    return entry.get();
  } catch (const dnnl::error &error) {
    entry.reset();
    cause = std::string("oneDNN: ") + error.what();
    return nullptr;
  }
}

} // namespace para::runtime

/// `addresses`: of y, x and w.
static para_status runLibrary(para_context *ctx, ConvolutionCache::Entry &entry, void *const (&addresses)[3], char *scratch,
                              const char *op) {
  Operand *operands[] = {&entry.y, &entry.x, &entry.w};
  int32_t kind = entry.desc.kind;
  try {
    for (int i = 0; i < 3; ++i) {
      Operand &operand = *operands[i];
      operand.plain.set_data_handle(addresses[i]);
      if (operand.isSame)
        continue;
      operand.blocked.set_data_handle(scratch + operand.offset);
      if (i != kind)
        operand.reorder.execute(libraryStream(), operand.plain, operand.blocked);
    }
    entry.primitive.execute(libraryStream(), entry.arguments);
    Operand &written = *operands[kind];
    if (entry.weightReorder)
      entry.weightReorder->run(ctx->threads, reinterpret_cast<const float *>(scratch + written.offset), static_cast<float *>(addresses[kind]));
    else if (!written.isSame)
      written.reorder.execute(libraryStream(), written.blocked, written.plain);
  } catch (const dnnl::error &error) {
    return ctx->fail(op, std::string("oneDNN: ") + error.what());
  }
  return PARA_OK;
}

/// What the library lacks of 16 bits is computed in f32: the operands are converted, and the result back.
static para_status runHalf(para_context *ctx, const para_convolution_desc *desc, void *const (&halves)[3], const char *op) {
  // Cached under the same address: it stays the description of this call.
  static thread_local std::unordered_map<const para_convolution_desc *, std::unique_ptr<para_convolution_desc>> keys;
  std::unique_ptr<para_convolution_desc> &key = keys[desc];
  if (!key)
    key = std::make_unique<para_convolution_desc>();
  *key = *desc;
  key->dtype = PARA_F32;
  std::string cause;
  ConvolutionCache::Entry *entry = ctx->convolutions->find(key.get(), cause);
  if (!entry)
    return ctx->fail(op, cause);
  int64_t counts[] = {outputElements(*desc), inputElements(*desc), weightElements(*desc)}, bytes = entry->scratchBytes;
  int64_t offsets[3];
  for (int i = 0; i < 3; ++i) {
    offsets[i] = bytes;
    bytes += aligned(counts[i] * 4);
  }
  char *scratch = ctx->scratchFor(bytes, op);
  if (!scratch)
    return PARA_ERROR;
  void *floats[] = {scratch + offsets[0], scratch + offsets[1], scratch + offsets[2]};
  for (int i = 0; i < 3; ++i)
    if (i != desc->kind)
      convertElements(DType(desc->dtype), halves[i], PARA_F32, floats[i], counts[i]);
  para_status status = runLibrary(ctx, *entry, floats, scratch, op);
  if (status == PARA_OK)
    convertElements(PARA_F32, floats[desc->kind], DType(desc->dtype), halves[desc->kind], counts[desc->kind]);
  return status;
}

para_status para_convolution(para_context *ctx, int32_t stream, const para_convolution_desc *desc, void *x, void *w,
                             void *y, const char *op) {
  OpScope scope(ctx, stream, op, "convolution");
  if (desc->spatial < 1 || desc->spatial > 3 || desc->groups < 1 || desc->kind < 0 || desc->kind > 2)
    return ctx->fail(op, "convolution: bad description");
  void *addresses[] = {y, x, w};
  switch (desc->dtype) {
  case PARA_F64:
    convolveDirect(ctx->threads, *desc, static_cast<double *>(x), static_cast<double *>(w), static_cast<double *>(y));
    return PARA_OK;
  case PARA_F32:
  case PARA_BF16: {
    if (desc->dtype == PARA_BF16 && !libraryHasBFloat16())
      return runHalf(ctx, desc, addresses, op);
    std::string cause;
    ConvolutionCache::Entry *entry = ctx->convolutions->find(desc, cause);
    if (!entry)
      return ctx->fail(op, cause);
    char *scratch = ctx->scratchFor(entry->scratchBytes, op);
    return scratch || entry->scratchBytes == 0 ? runLibrary(ctx, *entry, addresses, scratch, op) : PARA_ERROR;
  }
  case PARA_F16:
    return runHalf(ctx, desc, addresses, op);
  }
  return ctx->fail(op, "convolution: no code for this element type");
}
