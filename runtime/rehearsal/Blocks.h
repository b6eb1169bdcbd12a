//===- Blocks.h - A GPU's blocks on the processor ---------------*- C++ -*-===//
//
// What kernels of a GPU ask of their machine. On a GPU the compiler puts an instruction in the place of each of these; here a
// thread of a block runs until it waits for others, and then the next one does.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_REHEARSAL_BLOCKS_H
#define PARA_RUNTIME_REHEARSAL_BLOCKS_H

#include "para/Runtime/para_runtime.h"

extern "C" {
/// This thread's number in its block, and the block's in the launch.
int32_t para_gpu_thread();
int32_t para_gpu_block();
/// The block's shared memory, 16 bytes aligned; not initialized.
void *para_gpu_shared();
/// Returns when all threads of the block that have not ended are here; they see each other's stores then.
void para_gpu_barrier();
/// The same for the threads of this warp whose bits are in `group`, this one's among them.
void para_gpu_group_barrier(int32_t group);
/// The value that the thread whose number in the warp differs by the bits of `distance` brings; both are in `group`.
int32_t para_gpu_shuffle(int32_t value, int32_t distance, int32_t group);
/// The product that tensor cores make of the registers of a warp's threads (mma.m16n8k16, PTX ISA 9.7.15): this thread's four and two registers
/// of two narrow elements each, f16 or bf16, and its four sums, to which it adds.
void para_gpu_multiply(const int32_t *operands, float *sums, int32_t isHalf);
/// Deals out what a warp's threads have loaded, each a row of eight narrow elements: of matrix i, the rows of threads 8 i to 8 i + 7, thread
/// 4 g + t gets elements 2 t and 2 t + 1 of row g as its number i; transposed, those of column g of rows 2 t and 2 t + 1 (ldmatrix).
void para_gpu_deal_rows(int32_t *row, int32_t isTransposed);

/// Before each load (`writes` 0) and store (1, or 2 for an atomic one) of a kernel, unless it is of the thread's own memory: where the bytes
/// are. An access that the kernel may not make ends the program.
void *para_rehearse_access(void *address, int64_t bytes, int32_t alignment, int32_t writes);
}

namespace para::runtime::rehearsal {
/// Runs all blocks, in an order of the seed's. A misuse on which a GPU would hang or go astray (a barrier that not all reach, a shuffle with a
/// thread outside of the group) ends the program with a sentence.
void runBlocks(const para_thread_kernel &kernel, int64_t blocks, int32_t threads, int32_t sharedBytes, const int64_t *args);
} // namespace para::runtime::rehearsal

#endif
