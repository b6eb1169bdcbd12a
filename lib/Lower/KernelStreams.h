//===- KernelStreams.h - What a kernel reads and writes ------------*- C++ -*-===//
//
// Every access to memory that the emitter writes, with the loops around it. From these follow the bytes that a launch moves and the
// bytes that it would move if it read each place once and wrote each once.
//
// A place that a pass visits again is taken from the cache if what the kernel touches in between fits there; one that a later pass over the row
// visits again, if all that is touched of the rows under way at once does.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LOWER_KERNELSTREAMS_H
#define PARA_LOWER_KERNELSTREAMS_H

#include "IndexMath.h"

#include "mlir/IR/Value.h"

#include <string>
#include <vector>

namespace para {

/// Somewhat less than what one side of an A100's second level cache holds, the smallest of those that we make code for.
constexpr int64_t cacheBytes = 16 << 20;

/// An access as one thread makes it.
struct MemoryStream {
  /// How neighbouring lanes lie: as one range, as one element, or in places of their own (dealt out, or by data).
  enum Pattern { Range, Same, Apart, ByData };
  mlir::Value pointer;
  LinearForm offset; ///< in elements; of the part that is affine in the loops
  unsigned pass = 0;
  bool isStore = false, dynamic = false;
  int64_t elementBytes = 0;
  Pattern pattern = Range;
  int64_t bytes = 0;            ///< that one instruction moves at most
  const char *narrow = nullptr; ///< what keeps it from taking a range of 16 bytes
};

/// All that a launch does with one buffer, in bytes.
struct BufferTraffic {
  int64_t loaded = 0, stored = 0;            ///< moved
  int64_t leastLoaded = 0, leastStored = 0;  ///< each place once
  int64_t instruction = 0;                   ///< of the narrowest access to a range; 0: none is to a range
  std::string narrow;                        ///< what keeps accesses from taking 16 bytes at once; empty if nothing does
};

/// The loops of each pass in the order in which they run, with their extents.
struct PassLoops {
  llvm::SmallVector<int64_t> extents;
  llvm::SmallVector<unsigned> order; ///< outermost first
  unsigned outer = 0;                ///< so many of `order` are of the launch
};

/// By buffer, in the order of `pointers`; `sizes` are elements. `rowsUnderWay`: how many turns of the launch's loops run at once, at most;
/// 0 if later passes are to pay again whatever the cache holds.
std::vector<BufferTraffic> measureTraffic(llvm::ArrayRef<MemoryStream> streams, llvm::ArrayRef<PassLoops> passes, llvm::ArrayRef<mlir::Value> pointers,
                                          llvm::ArrayRef<int64_t> sizes, int64_t rowsUnderWay = 0);

} // namespace para

#endif
