//===- Scatter.cpp - Rows added to a table, on a GPU ----------------------===//
//
// A block for each position. The first position of a row owns it: its block adds all updates of the row in their order, so that
// results repeat bit for bit. The others have nothing to do. Who finds an earlier one says so, as others may at the same time.
//
//===----------------------------------------------------------------------===//
#include "Internal.h"

#include "para/Lower/Rt.h"
#include "para/Runtime/para_runtime.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/SourceMgr.h"

#include <set>

using namespace mlir;
using namespace para;

static const char scatterText[] = R"(
declare i32 @para_gpu_thread()
declare i32 @para_gpu_block()
declare ptr @para_gpu_shared()
declare void @para_gpu_barrier()

define void @NAME(ptr %indices, ptr %updates, ptr %out, i64 %positions, i64 %width, i64 %first, i64 %rows) {
entry:
  %t32 = call i32 @para_gpu_thread()
  %p32 = call i32 @para_gpu_block()
  %t = zext i32 %t32 to i64
  %p = zext i32 %p32 to i64
  %taken.at = call ptr @para_gpu_shared()
  %mine.at = getelementptr INDEX, ptr %indices, i64 %p
  %mine = load INDEX, ptr %mine.at
  %leads = icmp eq i64 %t, 0
  br i1 %leads, label %clear, label %cleared
clear:
  store i32 0, ptr %taken.at
  br label %cleared
cleared:
  call void @para_gpu_barrier()
  br label %earlier
earlier:
  %q = phi i64 [ %t, %cleared ], [ %q.next, %earlier.next ]
  %q.more = icmp ult i64 %q, %p
  br i1 %q.more, label %earlier.body, label %earlier.end
earlier.body:
  %q.at = getelementptr INDEX, ptr %indices, i64 %q
  %q.row = load INDEX, ptr %q.at
  %q.same = icmp eq INDEX %q.row, %mine
  br i1 %q.same, label %earlier.found, label %earlier.next
earlier.found:
  store atomic i32 1, ptr %taken.at syncscope("block") monotonic, align 4
  br label %earlier.end
earlier.next:
  %q.next = add i64 %q, THREADS
  br label %earlier
earlier.end:
  call void @para_gpu_barrier()
  %taken = load i32, ptr %taken.at
  %free = icmp eq i32 %taken, 0
  %wide = WIDEN
  %row = sub i64 %wide, %first
  %inside = icmp ult i64 %row, %rows
  %owns = and i1 %free, %inside
  br i1 %owns, label %columns, label %done
columns:
  %row.begin = mul i64 %row, %width
  br label %column
column:
  %c = phi i64 [ %t, %columns ], [ %c.next, %column.end ]
  %c.more = icmp ult i64 %c, %width
  br i1 %c.more, label %column.begin, label %done
column.begin:
  %o = add i64 %row.begin, %c
  %o.at = getelementptr ELEMENT, ptr %out, i64 %o
  %start = load ELEMENT, ptr %o.at
  br label %sum
sum:
  %s = phi i64 [ %p, %column.begin ], [ %s.next, %sum.next ]
  %total = phi ELEMENT [ %start, %column.begin ], [ %total.next, %sum.next ]
  %s.more = icmp ult i64 %s, %positions
  br i1 %s.more, label %sum.body, label %column.end
sum.body:
  %s.at = getelementptr INDEX, ptr %indices, i64 %s
  %s.row = load INDEX, ptr %s.at
  %s.same = icmp eq INDEX %s.row, %mine
  br i1 %s.same, label %add, label %sum.next
add:
  %u.begin = mul i64 %s, %width
  %u = add i64 %u.begin, %c
  %u.at = getelementptr ELEMENT, ptr %updates, i64 %u
  %update = load ELEMENT, ptr %u.at
  %added = ADD ELEMENT %total, %update
  br label %sum.next
sum.next:
  %total.next = phi ELEMENT [ %total, %sum.body ], [ %added, %add ]
  %s.next = add i64 %s, 1
  br label %sum
column.end:
  store ELEMENT %total, ptr %o.at
  %c.next = add i64 %c, THREADS
  br label %column
done:
  ret void
}
)";

namespace {
struct Element {
  const char *name, *type;
};
} // namespace

static Element elementOf(int64_t dtype) {
  switch (dtype) {
  case PARA_F32: return {"f32", "float"};
  case PARA_F64: return {"f64", "double"};
  case PARA_F16: return {"f16", "half"};
  case PARA_BF16: return {"bf16", "bfloat"};
  case PARA_I32: return {"i32", "i32"};
  case PARA_I64: return {"i64", "i64"};
  }
  return {nullptr, nullptr};
}

std::string para::scatterName(int64_t dtype, int64_t indexDtype) {
  const char *element = elementOf(dtype).name, *index = elementOf(indexDtype).name;
  return std::string("para_scatter_") + (element ? element : "unknown") + "_" + (index ? index : "unknown");
}

static std::string replaced(std::string text, StringRef what, StringRef with) {
  for (size_t at = text.find(what.str()); at != std::string::npos; at = text.find(what.str(), at + with.size()))
    text.replace(at, what.size(), with.str());
  return text;
}

LogicalResult para::addScatters(llvm::Module &kernels, ModuleOp program) {
  std::set<std::pair<int64_t, int64_t>> wanted;
  bool isFine = true;
  program.walk([&](rt::ScatterAddOp op) {
    int64_t dtype = op.getDtype(), index = op.getIndexDtype();
    if (!elementOf(dtype).name || (index != PARA_I32 && index != PARA_I64)) {
      op.emitError("adds rows of an element type, or by indices of one, for which a GPU has no code here");
      isFine = false;
    }
    wanted.insert({dtype, index});
  });
  for (auto [dtype, index] : wanted) {
    if (!isFine)
      return failure();
    StringRef element = elementOf(dtype).type, number = elementOf(index).type;
    std::string text = replaced(scatterText, "NAME", scatterName(dtype, index));
    text = replaced(text, "INDEX", number);
    text = replaced(text, "ELEMENT", element);
    text = replaced(text, "ADD ", element.starts_with("i") ? "add " : "fadd ");
    text = replaced(text, "WIDEN", index == PARA_I64 ? "add i64 %mine, 0" : "sext i32 %mine to i64");
    text = replaced(text, "THREADS", std::to_string(scatterThreads));
    llvm::SMDiagnostic problem;
    std::unique_ptr<llvm::Module> part = llvm::parseAssemblyString(text, problem, kernels.getContext());
    assert(part && "the text is a constant of ours");
    part->setDataLayout(kernels.getDataLayout());
    part->setTargetTriple(kernels.getTargetTriple());
    if (llvm::Linker::linkModules(kernels, std::move(part)))
      return program.emitError("the scatter kernels do not fit to the others");
  }
  return success();
}
