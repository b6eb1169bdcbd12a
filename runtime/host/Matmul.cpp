//===- Matmul.cpp - Library matrix products -----------------------------------===//
#include "Context.h"
#include "Gemm.h"
#include "Library.h"
#include "Matmul.h"

using namespace para::runtime;

namespace para::runtime {

struct MatmulCache::Entry {
  para_matmul_desc original, desc;
  dnnl::matmul primitive;
  dnnl::memory a, b, c;
  std::unordered_map<int, dnnl::memory> arguments;
  int threads; ///< the same when made and when run, as oneDNN asks
};

namespace {
/// Below this, waking other threads takes longer than they save.
constexpr double smallFlops = 1e6;

/// oneDNN takes the number of threads from OpenMP.
class ThreadCount {
public:
  ThreadCount(int threads, int64_t usual) : usual(int(usual)), differs(threads != int(usual)) {
    if (differs)
      omp_set_num_threads(threads);
  }
  ~ThreadCount() {
    if (differs)
      omp_set_num_threads(usual);
  }

private:
  int usual;
  bool differs;
};
} // namespace

MatmulCache::MatmulCache() = default;
MatmulCache::~MatmulCache() = default;

static void dropBatch(para_matmul_desc &desc, int32_t at) {
  for (int32_t d = at; d + 1 < desc.batch_rank; ++d) {
    desc.batch[d] = desc.batch[d + 1];
    desc.a_batch_stride[d] = desc.a_batch_stride[d + 1];
    desc.b_batch_stride[d] = desc.b_batch_stride[d + 1];
    desc.c_batch_stride[d] = desc.c_batch_stride[d + 1];
  }
  --desc.batch_rank;
}

para_matmul_desc simplify(const para_matmul_desc &original) {
  para_matmul_desc desc = original;
  for (int32_t d = desc.batch_rank; d-- > 0;)
    if (desc.batch[d] == 1)
      dropBatch(desc, d);
  for (int32_t d = desc.batch_rank - 1; d-- > 0;) {
    int64_t inner = desc.batch[d + 1];
    if (desc.a_batch_stride[d] != inner * desc.a_batch_stride[d + 1] ||
        desc.b_batch_stride[d] != inner * desc.b_batch_stride[d + 1] ||
        desc.c_batch_stride[d] != inner * desc.c_batch_stride[d + 1])
      continue;
    desc.batch[d + 1] *= desc.batch[d];
    dropBatch(desc, d);
  }
  while (desc.batch_rank > 0) {
    int32_t d = desc.batch_rank - 1;
    if (desc.b_batch_stride[d] != 0 || desc.a_batch_stride[d] != desc.m * desc.a_row_stride ||
        desc.c_batch_stride[d] != desc.m * desc.c_row_stride)
      break;
    desc.m *= desc.batch[d];
    dropBatch(desc, d);
  }
  return desc;
}

MatmulCache::Entry *MatmulCache::find(const para_matmul_desc *desc, int64_t threads, std::string &cause) {
  std::unique_ptr<Entry> &entry = entries[desc];
  if (entry && std::memcmp(&entry->original, desc, sizeof(*desc)) == 0)
    return entry.get();
  try {
    auto made = std::make_unique<Entry>();
    made->original = *desc;
    made->desc = simplify(*desc);
    const para_matmul_desc &d = made->desc;
    double flops = 2.0 * double(d.m) * double(d.n) * double(d.k);
    for (int32_t i = 0; i < d.batch_rank; ++i)
      flops *= double(d.batch[i]);
    made->threads = flops < smallFlops ? 1 : int(threads);
    ThreadCount count(made->threads, threads);
    dnnl::memory::dims aDims, bDims, cDims, aStrides, bStrides, cStrides;
    for (int32_t i = 0; i < d.batch_rank; ++i) {
      // An operand that does not vary has extent 1 there, which oneDNN broadcasts.
      aDims.push_back(d.a_batch_stride[i] ? d.batch[i] : 1);
      bDims.push_back(d.b_batch_stride[i] ? d.batch[i] : 1);
      cDims.push_back(d.batch[i]);
      aStrides.push_back(d.a_batch_stride[i] ? d.a_batch_stride[i] : 1);
      bStrides.push_back(d.b_batch_stride[i] ? d.b_batch_stride[i] : 1);
      cStrides.push_back(d.c_batch_stride[i]);
    }
    aDims.insert(aDims.end(), {d.m, d.k});
    bDims.insert(bDims.end(), {d.k, d.n});
    cDims.insert(cDims.end(), {d.m, d.n});
    aStrides.insert(aStrides.end(), {d.a_row_stride, d.a_column_stride});
    bStrides.insert(bStrides.end(), {d.b_row_stride, d.b_column_stride});
    cStrides.insert(cStrides.end(), {d.c_row_stride, 1});
    dnnl::memory::data_type type = libraryType(d.dtype);
    dnnl::memory::desc a(aDims, type, aStrides), b(bDims, type, bStrides), c(cDims, libraryType(d.c_dtype), cStrides);
    dnnl::primitive_attr attributes;
    if (d.alpha != 1)
      attributes.set_output_scales(0, {d.alpha});
    if (d.beta != 0) {
      dnnl::post_ops post;
      post.append_sum(d.beta);
      attributes.set_post_ops(post);
    }
    dnnl::matmul::primitive_desc primitive(dnnl::matmul::desc(a, b, c), attributes, libraryEngine());
    made->primitive = dnnl::matmul(primitive);
    made->a = dnnl::memory(a, libraryEngine(), nullptr);
    made->b = dnnl::memory(b, libraryEngine(), nullptr);
    made->c = dnnl::memory(c, libraryEngine(), nullptr);
    made->arguments = {{DNNL_ARG_SRC, made->a}, {DNNL_ARG_WEIGHTS, made->b}, {DNNL_ARG_DST, made->c}};
    entry = std::move(made);
    return entry.get();
  } catch (const dnnl::error &error) {
    entry.reset();
    cause = std::string("oneDNN: ") + error.what();
    return nullptr;
  }
}

} // namespace para::runtime

template <typename T, typename Sum, typename Result = T>
static para_status runOwn(para_context *ctx, const para_matmul_desc &desc, const void *a, const void *b, void *c) {
  Gemm<T, Sum, Result>::run(ctx->threads, desc, static_cast<const T *>(a), static_cast<const T *>(b), static_cast<Result *>(c));
  return PARA_OK;
}

/// Of 16-bit operands.
template <typename T> static para_status runNarrow(para_context *ctx, const para_matmul_desc &desc, const void *a, const void *b, void *c) {
  return desc.c_dtype == PARA_F32 ? runOwn<T, float, float>(ctx, desc, a, b, c) : runOwn<T, float>(ctx, desc, a, b, c);
}

para_status para_matmul(para_context *ctx, int32_t stream, const para_matmul_desc *desc, const void *a, const void *b,
                        void *c, const char *op) {
  OpScope scope(ctx, stream, op, "matmul");
  if (desc->batch_rank < 0 || desc->batch_rank > PARA_MAX_RANK)
    return ctx->fail(op, "matmul: too many batch dimensions");
  int64_t results = desc->m * desc->n;
  for (int32_t d = 0; d < desc->batch_rank; ++d)
    results *= desc->batch[d];
  if (results == 0)
    return PARA_OK;
  bool isNarrow = desc->dtype == PARA_F16 || desc->dtype == PARA_BF16;
  if (desc->c_dtype != desc->dtype && !(isNarrow && desc->c_dtype == PARA_F32))
    return ctx->fail(op, "matmul: no code for a result of another element type");
  if (desc->dtype == PARA_F64)
    return runOwn<double, double>(ctx, simplify(*desc), a, b, c);
  if (desc->dtype == PARA_F16)
    return runNarrow<Float16>(ctx, simplify(*desc), a, b, c);
  if (desc->k == 0 && desc->dtype == PARA_F32)
    return runOwn<float, float>(ctx, *desc, a, b, c);
  if (desc->dtype == PARA_BF16 && (desc->k == 0 || !libraryHasBFloat16() || libraryMissesTiles(desc->k)))
    return runNarrow<BFloat16>(ctx, simplify(*desc), a, b, c);
  if (desc->dtype != PARA_F32 && desc->dtype != PARA_BF16)
    return ctx->fail(op, "matmul: no code for this element type");
  std::string cause;
  MatmulCache::Entry *entry = ctx->matmuls->find(desc, ctx->threads, cause);
  if (!entry)
    return ctx->fail(op, cause);
  try {
    entry->a.set_data_handle(const_cast<void *>(a));
    entry->b.set_data_handle(const_cast<void *>(b));
    entry->c.set_data_handle(c);
    ThreadCount count(entry->threads, ctx->threads);
    entry->primitive.execute(libraryStream(), entry->arguments);
  } catch (const dnnl::error &error) {
    return ctx->fail(op, std::string("oneDNN: ") + error.what());
  }
  return PARA_OK;
}
