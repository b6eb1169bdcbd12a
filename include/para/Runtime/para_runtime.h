//===- para_runtime.h - The flat C ABI of compiled programs -----*- C -*-===//
//
// Everything a compiled program may call, and the descriptor it exports. The `rt` dialect mirrors these functions one to
// one. A back end (host, cuda) implements them; compiled code never sees MPI, NCCL, CUDA or oneDNN.
//
// Every call returns PARA_OK or a status; compiled code returns the first status that is not PARA_OK from its segment.
// `op` is the model's own node name and appears in every error. `stream` is 0 for compute, 1 for communication, 2 for
// copies; a back end whose work is synchronous may ignore it. Sizes are in elements unless the name says bytes.
//
// Example of what compiled code does for one data-parallel gradient:
//   para_launch(ctx, 0, &kernel_7, 4096, args, 3, "blocks.0.mlp");
//   para_event_record(ctx, 0, 5); para_event_wait(ctx, 1, 5);
//   para_all_reduce(ctx, 1, /*communicator*/0, /*sequence*/3, buffer, buffer, 1024, PARA_F32, PARA_SUM, "blocks.0.mlp");
//
//===--------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_PARA_RUNTIME_H
#define PARA_RUNTIME_PARA_RUNTIME_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PARA_ABI_VERSION 3
#define PARA_MAX_RANK 8

/// One rank's state: device, arena, communicators, streams, events. Opaque to compiled code.
typedef struct para_context para_context;

typedef int32_t para_status;
enum { PARA_OK = 0, PARA_ERROR = 1, PARA_PEER_FAILED = 2, PARA_OUT_OF_MEMORY = 3 };

/// Element types; the value is part of the ABI.
enum para_dtype { PARA_F32 = 0, PARA_F64 = 1, PARA_F16 = 2, PARA_BF16 = 3, PARA_I8 = 4, PARA_U8 = 5, PARA_I16 = 6, PARA_I32 = 7, PARA_I64 = 8, PARA_BOOL = 9 };
enum para_reduction { PARA_SUM = 0, PARA_MAX = 1, PARA_MIN = 2 };

/// A kernel. On the host `function` runs the part [begin, end) of the outermost parallel extent; back ends split it over
/// threads. On a GPU `function` is null and `name` is the entry in the embedded image, started with `block` threads.
/// Each argument is 8 bytes: a buffer's address or an integer.
typedef struct para_kernel {
  const char *name;
  void (*function)(int64_t begin, int64_t end, const int64_t *args);
  int64_t grain;          ///< smallest useful part of the extent
  int32_t block;          ///< GPU threads a block
  int32_t shared_bytes;   ///< GPU shared memory a block
} para_kernel;

/// c[b..., m, n] = alpha * a x b + beta * c (+ bias[n]). Leading strides are in elements; `batch` dimensions are `rank`
/// many with their own strides (0 broadcasts). a is m x k, b is k x n, with arbitrary row and column strides of which one is 1.
/// a and b are of `dtype`, c of `c_dtype`: the same, or f32 where these are 16-bit. Sums are f32 at least.
typedef struct para_matmul_desc {
  int32_t dtype, c_dtype;
  int32_t batch_rank;
  int64_t batch[PARA_MAX_RANK], a_batch_stride[PARA_MAX_RANK], b_batch_stride[PARA_MAX_RANK], c_batch_stride[PARA_MAX_RANK];
  int64_t m, n, k;
  int64_t a_row_stride, a_column_stride, b_row_stride, b_column_stride, c_row_stride;
  float alpha, beta;
} para_matmul_desc;

enum para_convolution_kind { PARA_CONV_FORWARD = 0, PARA_CONV_INPUT_GRAD = 1, PARA_CONV_WEIGHT_GRAD = 2 };

/// Convolution over `spatial` dimensions, layouts N C spatial..., K C/groups window..., N K spatial.... `kind` says which of
/// the three tensors is written (y, x or w).
typedef struct para_convolution_desc {
  int32_t kind, dtype, spatial, groups;
  int64_t n, c, k;
  int64_t in[3], out[3], window[3], stride[3], dilation[3], pad_low[3], pad_high[3];
} para_convolution_desc;

// --- called by compiled code ------------------------------------------------------------------------------------------

/// Base address of this rank's arena; buffers are at static offsets from it.
void *para_arena(para_context *ctx);
/// This rank's coordinate on mesh axis `axis` (index into the manifest's mesh).
int64_t para_coordinate(para_context *ctx, int32_t axis);

para_status para_launch(para_context *ctx, int32_t stream, const para_kernel *kernel, int64_t extent, const int64_t *args, int32_t num_args, const char *op);
para_status para_matmul(para_context *ctx, int32_t stream, const para_matmul_desc *desc, const void *a, const void *b, void *c, const char *op);
para_status para_convolution(para_context *ctx, int32_t stream, const para_convolution_desc *desc, void *x, void *w, void *y, const char *op);
/// out[indices[p], :] += updates[p, :], for p in order (deterministic). `out` must be initialized. Rows outside of
/// [first, first + rows) are skipped: a shard of a table passes where its rows begin.
para_status para_scatter_add(para_context *ctx, int32_t stream, int32_t dtype, int32_t index_dtype, int64_t positions, int64_t width, int64_t first, int64_t rows, const void *indices, const void *updates, void *out, const char *op);
para_status para_copy(para_context *ctx, int32_t stream, void *to, const void *from, int64_t bytes, const char *op);
/// Sets bytes to zero.
para_status para_zero(para_context *ctx, int32_t stream, void *to, int64_t bytes, const char *op);

/// Collectives. `communicator` indexes the manifest's list; `sequence` counts a communicator's operations within one step
/// and is checked between the members. Counts are elements per rank (the shard for all-gather, reduce-scatter and all-to-all).
para_status para_all_reduce(para_context *ctx, int32_t stream, int32_t communicator, int32_t sequence, const void *in, void *out, int64_t count, int32_t dtype, int32_t reduction, const char *op);
para_status para_all_gather(para_context *ctx, int32_t stream, int32_t communicator, int32_t sequence, const void *in, void *out, int64_t count, int32_t dtype, const char *op);
para_status para_reduce_scatter(para_context *ctx, int32_t stream, int32_t communicator, int32_t sequence, const void *in, void *out, int64_t count, int32_t dtype, int32_t reduction, const char *op);
para_status para_all_to_all(para_context *ctx, int32_t stream, int32_t communicator, int32_t sequence, const void *in, void *out, int64_t count, int32_t dtype, const char *op);

/// Point to point along mesh axis `axis`, to or from the rank whose coordinate there is `peer` and whose others equal ours.
/// `tag` names the message (value and microbatch). A send may return before its buffer is free: para_wait(tag) frees it.
para_status para_send(para_context *ctx, int32_t stream, int32_t axis, int64_t peer, int64_t tag, const void *buffer, int64_t bytes, const char *op);
para_status para_recv(para_context *ctx, int32_t stream, int32_t axis, int64_t peer, int64_t tag, void *buffer, int64_t bytes, const char *op);
para_status para_wait(para_context *ctx, int32_t stream, int64_t tag, const char *op);

para_status para_event_record(para_context *ctx, int32_t stream, int32_t event);
para_status para_event_wait(para_context *ctx, int32_t stream, int32_t event);

// --- exported by compiled code ----------------------------------------------------------------------------------------

/// One piece of a stage's program, run for one microbatch. `slot` selects the set of activation buffers.
typedef struct para_segment {
  const char *name; ///< as in the manifest: "stage0.forward"
  para_status (*run)(para_context *ctx, int64_t microbatch, int64_t slot);
} para_segment;

/// A kernel of a GPU for the processor, by which a rehearsal runs it: what one thread does. Found by its name, as the GPU's is.
typedef struct para_thread_kernel {
  const char *name;
  void (*function)(const int64_t *args);
  int32_t num_args;
  int32_t most_threads; ///< of a block
  int32_t waits;        ///< whether its threads wait for one another
} para_thread_kernel;

/// What the linked program exports under the name `para_main_program`. The manifest is JSON (runtime/README.md).
typedef struct para_program {
  uint32_t abi_version;
  uint32_t num_segments;
  const char *manifest;
  uint64_t manifest_bytes;
  const para_segment *segments;
  const char *image; ///< GPU code (fat or PTX), null on the host
  uint64_t image_bytes;
  const para_thread_kernel *thread_kernels; ///< null on the host
  uint64_t num_thread_kernels;
} para_program;

extern const para_program para_main_program;

/// The executable's main: flags, ranks, data, the loop over steps, checkpoints. Returns the exit status.
int para_main(int argc, char **argv, const para_program *program);

#ifdef __cplusplus
}
#endif
#endif
