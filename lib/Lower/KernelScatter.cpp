//===- KernelScatter.cpp - Rows added to a table, on a GPU ----------------===//
//
// Two kernels. The first is one block that sorts positions by the rows that they go to, by digits, those of a row staying in their order,
// and notes where each row's run of positions begins. In the second, blocks take the runs, some columns each: the warps of a block add up a share
// of the run each, and the shares are added in their order. No sum depends on which thread comes first, so that results repeat bit for bit.
//
//===----------------------------------------------------------------------===//
#include "KernelScatter.h"

#include "DType.h"
#include "DeviceCalls.h"

#include "para/Lower/Rt.h"
#include "para/Runtime/Scatter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace para;
using namespace para::scatter;

namespace {
using arith::CmpIPredicate;

/// Code of one kernel: short names for what both are made of.
class Writer {
public:
  Writer(ModuleOp program, Location loc, Type index) : b(loc, program.getContext()), device(b, program), program(program), index(index) {}

  void emitOrder();
  void emitAdd(Type element);

private:
  /// A function of `pointers` addresses and `numbers` integers; the builder goes into it.
  Block *start(const std::string &name, unsigned pointers, unsigned numbers) {
    b.setInsertionPointToEnd(program.getBody());
    SmallVector<Type> types(pointers, LLVM::LLVMPointerType::get(b.getContext()));
    types.append(numbers, b.getI64Type());
    auto func = func::FuncOp::create(b, name, b.getFunctionType(types, {}));
    func->setAttr(rt::threadsAttrName, b.getI64IntegerAttr(threads));
    Block *entry = func.addEntryBlock();
    b.setInsertionPointToStart(entry);
    func::ReturnOp::create(b);
    b.setInsertionPointToStart(entry);
    return entry;
  }

  Value integer(int64_t v) { return arith::ConstantOp::create(b, b.getI64IntegerAttr(v)); }
  Value small(int64_t v) { return arith::ConstantOp::create(b, b.getI32IntegerAttr(static_cast<int32_t>(v))); }
  Value widen(Value v) { return arith::ExtUIOp::create(b, b.getI64Type(), v); }
  Value narrow(Value v) { return arith::TruncIOp::create(b, b.getI32Type(), v); }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubIOp::create(b, x, y); }
  Value mul(Value x, int64_t y) { return arith::MulIOp::create(b, x, integer(y)); }
  Value compare(CmpIPredicate predicate, Value x, Value y) { return arith::CmpIOp::create(b, predicate, x, y); }
  Value select(Value condition, Value x, Value y) { return arith::SelectOp::create(b, condition, x, y); }

  Value place(Type type, Value pointer, Value number) { return LLVM::GEPOp::create(b, pointer.getType(), type, pointer, ArrayRef<LLVM::GEPArg>{number}); }
  unsigned bytesOf(Type type) { return type.getIntOrFloatBitWidth() / 8; }
  Value load(Type type, Value pointer, Value number) { return LLVM::LoadOp::create(b, type, place(type, pointer, number), bytesOf(type)); }
  void store(Value v, Value pointer, Value number) { LLVM::StoreOp::create(b, v, place(v.getType(), pointer, number), bytesOf(v.getType())); }
  /// Numbers of 32 bits.
  Value get(Value pointer, Value number) { return load(b.getI32Type(), pointer, number); }
  Value sharedAt(int64_t bytes) { return place(b.getI8Type(), shared, integer(bytes)); }

  void loop(Value from, Value to, int64_t step, function_ref<void(Value)> body) { loop(from, to, integer(step), body); }
  void loop(Value from, Value to, Value step, function_ref<void(Value)> body) {
    auto op = scf::ForOp::create(b, from, to, step);
    OpBuilder::InsertionGuard keep(b);
    b.setInsertionPointToStart(op.getBody());
    body(op.getInductionVar());
  }
  void when(Value condition, function_ref<void()> body) {
    auto op = scf::IfOp::create(b, TypeRange{}, condition, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard keep(b);
    b.setInsertionPointToStart(op.thenBlock());
    body();
  }
  Value either(Type type, Value condition, function_ref<Value()> yes, function_ref<Value()> no) {
    auto op = scf::IfOp::create(b, type, condition, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard keep(b);
    b.setInsertionPointToEnd(op.thenBlock());
    scf::YieldOp::create(b, yes());
    b.setInsertionPointToEnd(op.elseBlock());
    scf::YieldOp::create(b, no());
    return op.getResult(0);
  }

  /// The row to which a position goes: `rows` for all that lie outside.
  Value rowOf(Value position) {
    Value number = load(index, indices, position);
    if (!number.getType().isInteger(64))
      number = arith::ExtSIOp::create(b, b.getI64Type(), number);
    Value row = sub(number, first);
    return select(compare(CmpIPredicate::ult, row, rows), row, rows);
  }

  void startThread() {
    thread = widen(device.thread());
    warp = arith::DivUIOp::create(b, thread, integer(32));
    lane = arith::RemUIOp::create(b, thread, integer(32));
    shared = device.sharedMemory();
  }
  /// How many threads of the warp before this one have its digit, and whether none behind it has. The warp's digits are in `tile`.
  struct Rank {
    Value before, isLast;
  };
  Rank rankInWarp(Value digit);

  ImplicitLocOpBuilder b;
  DeviceCalls device;
  ModuleOp program;
  Type index;
  Value indices, positions, first, rows;
  Value thread, warp, lane, shared, tile, counts;
};
} // namespace

Writer::Rank Writer::rankInWarp(Value digit) {
  Value begin = sub(thread, lane), same = small(0); // a bit for each thread
  auto four = VectorType::get({4}, b.getI32Type());
  for (int64_t other = 0; other < 32; other += 4) {
    Value found = LLVM::LoadOp::create(b, four, place(b.getI32Type(), tile, add(begin, integer(other))), /*alignment=*/16);
    for (int64_t i = 0; i < 4; ++i) {
      Value one = vector::ExtractOp::create(b, found, ArrayRef<int64_t>{i});
      Value bit = select(compare(CmpIPredicate::eq, one, digit), small(int64_t(1) << (other + i)), small(0));
      same = arith::OrIOp::create(b, same, bit);
    }
  }
  Value own = arith::ShLIOp::create(b, small(1), narrow(lane)), before = arith::AndIOp::create(b, same, sub(own, small(1)));
  return {LLVM::CtPopOp::create(b, b.getI32Type(), before), compare(CmpIPredicate::eq, sub(same, before), own)};
}

/// para_scatter_order_INDEX(indices, work, positions, first, rows, passes): `work` as in para/Runtime/Scatter.h.
void Writer::emitOrder() {
  Block *entry = start(std::string("para_scatter_order_") + dtypeName(index), 2, 4);
  indices = entry->getArgument(0);
  Value work = entry->getArgument(1), passes = entry->getArgument(5);
  positions = entry->getArgument(2), first = entry->getArgument(3), rows = entry->getArgument(4);
  startThread();
  tile = sharedAt(0), counts = sharedAt(4 * (threads + 2 * digits));
  Value begins = sharedAt(4 * threads), sums = sharedAt(4 * (threads + digits));
  Value even = place(b.getI32Type(), work, integer(oddPassesAt)), odd = place(b.getI32Type(), even, positions), runs = place(b.getI32Type(), odd, positions);
  Value wholeWarp = small(-1);

  // A last pass puts in front the positions with which a row's run begins.
  loop(integer(0), add(passes, integer(1)), 1, [&](Value pass) {
    Value isFirst = compare(CmpIPredicate::eq, pass, integer(0)), isLast = compare(CmpIPredicate::eq, pass, passes);
    Value isOdd = compare(CmpIPredicate::ne, arith::AndIOp::create(b, pass, integer(1)), integer(0));
    Value from = select(isOdd, even, odd), to = select(isLast, runs, select(isOdd, odd, even));
    auto positionAt = [&](Value p) {
      return either(b.getI64Type(), isFirst, [&] { return p; }, [&] { return widen(get(from, p)); });
    };
    auto digitAt = [&](Value p) {
      return either(
          b.getI32Type(), isLast,
          [&] {
            Value isStart = compare(CmpIPredicate::eq, p, integer(0)), before = select(isStart, p, sub(p, integer(1)));
            Value isOther = compare(CmpIPredicate::ne, rowOf(positionAt(p)), rowOf(positionAt(before)));
            return select(arith::OrIOp::create(b, isStart, isOther), small(0), small(1));
          },
          [&] {
            Value rest = arith::ShRUIOp::create(b, rowOf(positionAt(p)), mul(pass, digitBits));
            return narrow(arith::AndIOp::create(b, rest, integer(digits - 1)));
          });
    };
    // Those beyond the end come last in the last tile, and count behind all others.
    struct Mine {
      Value position, inside, digit;
    };
    auto setTile = [&](Value begin) {
      Value p = add(begin, thread), inside = compare(CmpIPredicate::ult, p, positions);
      Value digit = either(b.getI32Type(), inside, [&] { return digitAt(p); }, [&] { return small(digits - 1); });
      store(digit, tile, thread);
      return Mine{p, inside, digit};
    };
    auto clearCounts = [&] {
      for (int64_t w = 0; w < warps; ++w)
        store(small(0), counts, add(thread, integer(w * digits)));
    };
    auto countOf = [&](Value digit) { return add(mul(warp, digits), widen(digit)); };

    // How many have each digit, by warp.
    clearCounts();
    device.wait();
    loop(integer(0), positions, threads, [&](Value begin) {
      Mine mine = setTile(begin);
      device.wait(wholeWarp);
      Rank rank = rankInWarp(mine.digit);
      when(rank.isLast, [&] {
        Value at = countOf(mine.digit);
        store(add(get(counts, at), add(rank.before, small(1))), counts, at);
      });
      device.wait(wholeWarp);
    });
    device.wait();
    Value own = small(0);
    for (int64_t w = 0; w < warps; ++w)
      own = add(own, get(counts, add(thread, integer(w * digits))));
    // Those of all smaller digits.
    Value sum = own;
    for (int64_t distance = 1; distance < digits; distance *= 2) {
      store(sum, sums, thread);
      device.wait();
      Value far = compare(CmpIPredicate::uge, thread, integer(distance));
      sum = add(sum, either(b.getI32Type(), far, [&] { return get(sums, sub(thread, integer(distance))); }, [&] { return small(0); }));
      device.wait();
    }
    store(sub(sum, own), begins, thread);
    when(arith::AndIOp::create(b, isLast, compare(CmpIPredicate::eq, thread, integer(0))), [&] { store(own, work, integer(0)); });

    loop(integer(0), positions, threads, [&](Value begin) {
      Mine mine = setTile(begin);
      clearCounts();
      device.wait();
      Rank rank = rankInWarp(mine.digit);
      when(rank.isLast, [&] { store(add(rank.before, small(1)), counts, countOf(mine.digit)); });
      device.wait();
      Value next = get(begins, thread);
      for (int64_t w = 0; w < warps; ++w) {
        Value at = add(thread, integer(w * digits)), count = get(counts, at);
        store(next, counts, at);
        next = add(next, count);
      }
      store(next, begins, thread);
      device.wait();
      when(mine.inside, [&] {
        Value value = either(b.getI64Type(), isLast, [&] { return mine.position; }, [&] { return positionAt(mine.position); });
        store(narrow(value), to, widen(add(get(counts, countOf(mine.digit)), rank.before)));
      });
      device.wait();
    });
  });
}

/// para_scatter_DTYPE_INDEX(indices, updates, out, work, order, positions, width, first, rows, blocks): `order` is where in `work` the sorted
/// positions are; `blocks` blocks share the runs, and as many more for each further part of the columns.
void Writer::emitAdd(Type element) {
  Block *entry = start(std::string("para_scatter_") + dtypeName(element) + "_" + dtypeName(index), 5, 5);
  auto argument = [&](unsigned i) -> Value { return entry->getArgument(i); };
  Value updates = argument(1), out = argument(2), work = argument(3), order = argument(4), width = argument(6), blocks = argument(9);
  indices = argument(0), positions = argument(5), first = argument(7), rows = argument(8);
  startThread();
  auto plus = [&](Value x, Value y) { return arith::AddFOp::create(b, x, y).getResult(); };
  Value runs = place(b.getI32Type(), work, add(integer(oddPassesAt), mul(positions, 2)));
  Value count = widen(get(work, integer(0))), block = widen(device.block());
  Value column = mul(arith::DivUIOp::create(b, block, blocks), columns);
  loop(arith::RemUIOp::create(b, block, blocks), count, blocks, [&](Value run) {
    Value next = add(run, integer(1)), begin = widen(get(runs, run));
    Value end = either(b.getI64Type(), compare(CmpIPredicate::ult, next, count), [&] { return widen(get(runs, next)); }, [&] { return positions; });
    Value row = rowOf(widen(get(order, begin)));
    when(compare(CmpIPredicate::ult, row, rows), [&] {
      Value size = sub(end, begin);
      auto shareAt = [&](Value w) { return add(begin, arith::DivUIOp::create(b, arith::MulIOp::create(b, size, w), integer(warps))); };
      SmallVector<Value> zeros(columnsPerThread, arith::ConstantOp::create(b, b.getZeroAttr(element)));
      auto share = scf::ForOp::create(b, shareAt(warp), shareAt(add(warp, integer(1))), integer(1), zeros);
      {
        OpBuilder::InsertionGuard keep(b);
        b.setInsertionPointToStart(share.getBody());
        Value from = arith::MulIOp::create(b, widen(get(order, share.getInductionVar())), width);
        SmallVector<Value> sums;
        for (auto [j, sum] : llvm::enumerate(share.getRegionIterArgs())) {
          Value c = add(add(column, lane), integer(32 * j)), last = sub(width, integer(1));
          c = select(compare(CmpIPredicate::ult, c, width), c, last); // read and not stored
          sums.push_back(plus(sum, load(element, updates, add(from, c))));
        }
        scf::YieldOp::create(b, sums);
      }
      for (auto [j, sum] : llvm::enumerate(share.getResults()))
        store(sum, shared, add(mul(warp, columns), add(lane, integer(32 * j))));
      device.wait();
      Value mine = add(column, thread), inside = compare(CmpIPredicate::ult, mine, width);
      when(arith::AndIOp::create(b, inside, compare(CmpIPredicate::ult, thread, integer(columns))), [&] {
        Value at = add(arith::MulIOp::create(b, row, width), mine), total = load(element, out, at);
        for (int64_t w = 0; w < warps; ++w)
          total = plus(total, load(element, shared, add(thread, integer(w * columns))));
        store(total, out, at);
      });
      device.wait();
    });
  });
}

LogicalResult para::emitScatters(ModuleOp program) {
  Builder types(program.getContext());
  bool isFine = true;
  program.walk([&](rt::ScatterAddOp op) {
    int64_t dtype = op.getDtype(), indexDtype = op.getIndexDtype();
    Type element = dtype == PARA_F32 ? types.getF32Type() : dtype == PARA_F64 ? types.getF64Type() : Type();
    Type index = indexDtype == PARA_I32 ? types.getI32Type() : indexDtype == PARA_I64 ? types.getI64Type() : Type();
    if (!element || !index) {
      op.emitError("adds rows of an element type, or by indices of one, for which a GPU has no code here");
      isFine = false;
      return;
    }
    Writer writer(program, op.getLoc(), index);
    std::string order = std::string("para_scatter_order_") + dtypeName(index), add = std::string("para_scatter_") + dtypeName(element) + "_" + dtypeName(index);
    if (!program.lookupSymbol(order))
      writer.emitOrder();
    if (!program.lookupSymbol(add))
      writer.emitAdd(element);
  });
  return success(isFine);
}
