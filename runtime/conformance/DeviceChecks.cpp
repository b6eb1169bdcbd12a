//===- DeviceChecks.cpp - Buffers, streams, events, kernels, products ----------===//
#include "Suite.h"

#include <array>
#include <cstring>

#ifdef PARA_CONFORMANCE_GPU
#include "rehearsal/Blocks.h"
#endif

namespace para::conformance {

namespace {
void scaleAddPart(int64_t begin, int64_t end, const int64_t *args) {
  auto *x = reinterpret_cast<const int32_t *>(args[0]);
  auto *y = reinterpret_cast<int32_t *>(args[1]);
  for (int64_t i = begin; i < end; ++i)
    y[i] += int32_t(args[3]) * x[i];
}

void scaleAddThread(const int64_t *args) {
#ifdef PARA_CONFORMANCE_GPU
  int64_t i = int64_t(para_gpu_block()) * scaleAdd.block + para_gpu_thread();
  if (i >= args[2])
    return;
  auto at = [&](int64_t base, int writes) { return static_cast<int32_t *>(para_rehearse_access(reinterpret_cast<int32_t *>(base) + i, 4, 4, writes)); };
  int32_t sum = *at(args[1], 0) + int32_t(args[3]) * *at(args[0], 0);
  *at(args[1], 1) = sum;
#else
  (void)args;
#endif
}

constexpr char code[] = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry scale_add(.param .u64 px, .param .u64 py, .param .u64 pn, .param .u64 pk)
.maxntid 128, 1, 1
{
  .reg .pred %p<2>;
  .reg .b32 %r<9>;
  .reg .b64 %rd<12>;
  ld.param.u64 %rd1, [px];
  ld.param.u64 %rd2, [py];
  ld.param.u64 %rd3, [pn];
  ld.param.u64 %rd4, [pk];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  cvt.u64.u32 %rd5, %r4;
  setp.ge.u64 %p1, %rd5, %rd3;
  @%p1 bra DONE;
  cvta.to.global.u64 %rd6, %rd1;
  cvta.to.global.u64 %rd7, %rd2;
  shl.b64 %rd8, %rd5, 2;
  add.s64 %rd9, %rd6, %rd8;
  add.s64 %rd10, %rd7, %rd8;
  ld.global.u32 %r5, [%rd9];
  cvt.u32.u64 %r6, %rd4;
  ld.global.u32 %r7, [%rd10];
  mad.lo.s32 %r8, %r5, %r6, %r7;
  st.global.u32 [%rd10], %r8;
DONE:
  ret;
}
)";

double small(int64_t i) { return double((i * 7 + i / 11) % 9 - 4); }
para_status add(Suite &suite, int32_t stream, int64_t x, int64_t y, int64_t count, int64_t factor, const char *op) {
  int64_t args[] = {int64_t(suite.at(x)), int64_t(suite.at(y)), count, factor};
  return para_launch(suite.context(), stream, &scaleAdd, suite.extent(count, scaleAdd.block), args, 4, op);
}
} // namespace

const para_kernel scaleAdd = {"scale_add", scaleAddPart, 16, 128, 0};
const para_thread_kernel threadKernels[1] = {{"scale_add", scaleAddThread, 4, 128, 0}};

std::string makeImage() {
  struct {
    char mark[8];
    uint64_t count;
    uint32_t arch, kind;
    uint64_t offset, bytes;
  } head = {{'P', 'A', 'R', 'A', 'G', 'P', 'U', '1'}, 1, 80, 0, sizeof(head), sizeof(code) - 1};
  return std::string(reinterpret_cast<const char *>(&head), sizeof(head)) + std::string(code, sizeof(code));
}

/// Of all sizes, at all offsets, beyond what a back end may move at once; copies over themselves; zeros.
Status checkBuffers(Suite &suite) {
  auto bytesOf = [](int64_t count, int64_t salt) { return elements(PARA_U8, count, [=](int64_t i) { return double((i * 31 + i / 251 + salt) % 256); }); };
  for (int64_t bytes : {int64_t(1), int64_t(7), int64_t(4096), int64_t(5000001)})
    for (int64_t shift : {0, 3}) {
      int64_t from = suite.room(bytes, shift), to = suite.room(bytes, 7 - shift), zeroed = suite.room(bytes, shift), over = suite.room(bytes + 100, shift);
      auto data = bytesOf(bytes, shift), none = std::vector<char>(size_t(bytes)), moved = bytesOf(bytes + 100, 5);
      auto expected = moved;
      std::memmove(expected.data() + 100, moved.data(), size_t(bytes));
      suite.add({format("copy of %lld bytes", (long long)bytes), {{from, data}}, {{to, data}}, [&suite, from, to, bytes] {
                   return para_copy(suite.context(), 2, suite.at(to), suite.at(from), bytes, "copy");
                 }});
      suite.add({format("zeros in %lld bytes", (long long)bytes), {{zeroed, data}}, {{zeroed, none}}, [&suite, zeroed, bytes] {
                   return para_zero(suite.context(), 0, suite.at(zeroed), bytes, "zero");
                 }});
      suite.add({format("copy of %lld bytes over themselves", (long long)bytes), {{over, moved}}, {{over, expected}}, [&suite, over, bytes] {
                   return para_copy(suite.context(), 1, suite.at(over + 100), suite.at(over), bytes, "copy.over");
                 }});
      if (bytes > 1000000)
        PARA_TRY(suite.run());
    }
  PARA_TRY(suite.run());
  std::vector<char> large = bytesOf(40 << 20, 1), found(large.size());
  PARA_TRY(suite.device.write(12345, large.data(), int64_t(large.size())));
  PARA_TRY(suite.device.read(12345, found.data(), int64_t(found.size())));
  return found == large ? Status::success() : Status::error("40 MiB that were written are not those that were read");
}

/// Lists that take turns: what one needs beside the arena must not be taken from another that has run before.
Status checkLists(Suite &suite) {
  constexpr int64_t least = 4096;
  int keys[3] = {};
  auto data = [](int64_t bytes) { return elements(PARA_U8, bytes, [](int64_t i) { return double(i * 29 % 253); }); };
  for (int turn = 0; turn < 12; ++turn) {
    int which = turn < 3 ? 0 : turn % 3; // The first is captured before the others ask for more.
    int64_t bytes = least << (2 * which), shift = 64;
    std::vector<char> before = data(bytes + shift), found(before.size()), expected = before;
    std::memmove(expected.data() + shift, before.data(), size_t(bytes));
    PARA_TRY(suite.device.write(0, before.data(), bytes + shift));
    PARA_TRY(suite.device.run(&keys[which], [&] { return para_copy(suite.context(), 0, suite.at(shift), suite.at(0), bytes, "over"); }));
    PARA_TRY(suite.device.read(0, found.data(), bytes + shift));
    if (found != expected)
      return Status::error(format("rank %lld: list %d of three, in turn %d: a copy of %lld bytes is not as it should be", (long long)suite.world.rank(), which, turn,
                                  (long long)bytes));
  }
  return Status::success();
}

/// Streams are in order; between them events are all that orders, in each list anew.
Status checkStreams(Suite &suite) {
  constexpr int64_t count = 1000;
  int64_t a = suite.room(count * 4), b = suite.room(count * 4), c = suite.room(count * 4);
  auto start = elements(PARA_I32, count, small);
  suite.add({"a chain over three streams", {{a, start}}, {{c, elements(PARA_I32, count, [](int64_t i) { return 6 * small(i); })}}, [&suite, a, b, c] {
               para_context *ctx = suite.context();
               auto pass = [&](int32_t from, int32_t to, int32_t event) {
                 para_status status = para_event_record(ctx, from, event);
                 return status ? status : para_event_wait(ctx, to, event);
               };
               para_status status = para_zero(ctx, 0, suite.at(b), count * 4, "b");
               status = status ? status : add(suite, 0, a, b, count, 2, "double"); // b = 2 a
               status = status ? status : pass(0, 2, 41);
               status = status ? status : para_copy(ctx, 2, suite.at(c), suite.at(b), count * 4, "c");
               status = status ? status : pass(2, 1, 7);
               status = status ? status : para_copy(ctx, 1, suite.at(b), suite.at(a), count * 4, "again"); // b was read
               status = status ? status : pass(1, 0, 41); // an event again
               return status ? status : add(suite, 0, b, c, count, 4, "six");
             }});
  return suite.run();
}

Status checkKernels(Suite &suite) {
  for (int64_t count : {1, 127, 128, 129, 5000}) {
    int64_t x = suite.room(count * 4), y = suite.room(count * 4 + 4);
    auto before = elements(PARA_I32, count + 1, [](int64_t i) { return double(i); });
    auto after = elements(PARA_I32, count + 1, [=](int64_t i) { return double(i) + (i < count ? -3 * small(i) : 0); }); // and nothing behind it
    suite.add({format("kernel on %lld elements", (long long)count), {{x, elements(PARA_I32, count, small)}, {y, before}}, {{y, after}},
               [&suite, x, y, count] { return add(suite, 0, x, y, count, -3, "kernel"); }});
  }
  suite.add({"kernel on nothing", {}, {}, [&suite] {
               int64_t args[] = {0, 0, 0, 0};
               return para_launch(suite.context(), 0, &scaleAdd, 0, args, 4, "nothing");
             }});
  return suite.run();
}

/// All layouts and types, with small whole numbers, so that all orders of adding give the same.
Status checkProducts(Suite &suite) {
  static std::vector<std::unique_ptr<para_matmul_desc>> descs; // Back ends know them by their address.
  constexpr std::pair<int32_t, int32_t> types[] = {{PARA_F32, PARA_F32},   {PARA_F64, PARA_F64}, {PARA_F16, PARA_F16},
                                                   {PARA_BF16, PARA_BF16}, {PARA_F16, PARA_F32}, {PARA_BF16, PARA_F32}};
  for (auto [type, resultType] : types)
    for (const auto &sizes : std::vector<std::array<int64_t, 3>>{{1, 1, 1}, {5, 7, 3}, {16, 24, 8}, {1, 33, 20}, {9, 1, 2}, {4, 3, 0}})
      for (int variant = 0; variant < 8; ++variant) {
        int64_t m = sizes[0], n = sizes[1], k = sizes[2];
        int32_t dtype = type, result = resultType;
        bool ta = variant & 1, tb = variant & 2;
        float beta = variant & 4 ? 1 : 0;
        auto desc = std::make_unique<para_matmul_desc>();
        desc->dtype = dtype, desc->c_dtype = result, desc->m = m, desc->n = n, desc->k = k;
        desc->a_row_stride = ta ? 1 : k, desc->a_column_stride = ta ? m : 1;
        desc->b_row_stride = tb ? 1 : n, desc->b_column_stride = tb ? k : 1;
        desc->c_row_stride = n, desc->alpha = 1, desc->beta = beta;
        int64_t size = elementBytes(DType(dtype)), a = suite.room(m * k * size), b = suite.room(k * n * size), c = suite.room(m * n * elementBytes(DType(result)));
        auto left = [](int64_t i) { return double(i % 3 - 1); };
        auto right = [](int64_t i) { return double(i % 5 - 2); };
        auto expected = [&](int64_t i) {
          double sum = beta == 0 ? 0 : small(i);
          for (int64_t p = 0; p < k; ++p)
            sum += left(i / n * desc->a_row_stride + p * desc->a_column_stride) * right(p * desc->b_row_stride + i % n * desc->b_column_stride);
          return sum;
        };
        suite.add({format("%s product %lld x %lld x %lld into %s, variant %d", dtypeName(DType(dtype)), (long long)m, (long long)n, (long long)k,
                          dtypeName(DType(result)), variant),
                   {{a, elements(dtype, m * k, left)}, {b, elements(dtype, k * n, right)}, {c, elements(result, m * n, small)}},
                   {{c, elements(result, m * n, expected)}}, [&suite, desc = desc.get(), a, b, c] {
                     return para_matmul(suite.context(), 0, desc, suite.at(a), suite.at(b), suite.at(c), "product");
                   }});
        descs.push_back(std::move(desc));
      }
  return suite.run();
}

} // namespace para::conformance
