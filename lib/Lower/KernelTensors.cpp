//===- KernelTensors.cpp - Products of tiles by tensor cores ---------------===//
//
// A warp makes 16 x 8 sums over 16 terms at once (mma.m16n8k16, PTX ISA 9.7.15). With the thread of number 4 g + t in its warp: of the left
// factor it has the rows g and g + 8, of each the pairs from 2 t and from 2 t + 8; of the right one column g, the pairs from row 2 t and from
// 2 t + 8; of the sums the rows g and g + 8, of each the pair from column 2 t. So sums, made narrow, are a left factor as they are.
//
//===----------------------------------------------------------------------===//
#include "KernelTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace para;

Value KernelTiles::pack(Value low, Value high) {
  auto type = VectorType::get({2}, body.operandType);
  Value pair = arith::ConstantOp::create(b, type, b.getZeroAttr(type));
  pair = vector::InsertOp::create(b, low, pair, ArrayRef<int64_t>{0});
  pair = vector::InsertOp::create(b, high, pair, ArrayRef<int64_t>{1});
  return vector::ExtractOp::create(b, vector::BitCastOp::create(b, VectorType::get({1}, b.getI32Type()), pair), ArrayRef<int64_t>{0});
}

KernelTiles::Values KernelTiles::multiplyOnTensorCores(const TileScore &score) {
  const TileOperand &outer = body.operands[score.outer], &inner = body.operands[score.inner];
  int64_t tiles = body.innerTile() / 8;
  // Where the matrices' rows are that this thread tells: of 16 rows the lower and the upper eight, then of the columns further on; of two
  // tiles of the other factor the columns and those further on, one tile after the other.
  Value lane = arith::RemUIOp::create(b, threadNumber, index(32)), eight = arith::RemUIOp::create(b, lane, index(8));
  Value second = arith::RemUIOp::create(b, arith::DivUIOp::create(b, lane, index(8)), index(2)), fourth = arith::DivUIOp::create(b, lane, index(16));
  Value warpRow = product(arith::DivUIOp::create(b, threadNumber, index(32)), 16);
  Value left = sum(product(sum(warpRow, sum(eight, product(second, 8))), outer.stride), product(fourth, 8));
  Value right = sum(product(sum(eight, product(fourth, 8)), inner.stride), product(second, 8));
  auto four = VectorType::get({4}, body.sumType);
  Values none(tiles, arith::ConstantOp::create(b, four, b.getZeroAttr(four)));
  Values sums = loop(index(0), index(body.paddedDepth(score.depth)), 16, none, [&](Value depth, Values state) {
    Values x = device.loadMatrices(at(outer.offset, sum(left, depth)), /*transposed=*/false);
    for (int64_t tile = 0; tile < tiles; tile += 2) {
      Values y = device.loadMatrices(at(inner.offset, sum(sum(right, depth), index(8 * tile * inner.stride))), /*transposed=*/false);
      for (int64_t i : {0, 1})
        state[tile + i] = device.multiply(x, ArrayRef(y).slice(2 * i, 2), state[tile + i], body.operandType);
    }
    return state;
  });
  Type scalar = getElementTypeOrSelf(score.op->getResult(0).getType());
  Values elements;
  for (int64_t r : {0, 1})
    for (Value four : sums)
      for (int64_t i : {0, 1})
        elements.push_back(convert(vector::ExtractOp::create(b, four, ArrayRef<int64_t>{2 * r + i}), scalar));
  return elements;
}

KernelTiles::Values KernelTiles::addProductOnTensorCores(const TileSum &sumOf, ArrayRef<Value> scores, ValueRange before) {
  const TileOperand &operand = body.operands[sumOf.operand];
  int64_t tiles = body.paddedDepth(sumOf.depth) / 8, count = body.sumsOf(sumOf.depth), columns = body.innerOfThread;
  // This thread tells a row of one of two tiles, of its lower or its upper eight.
  Value lane = arith::RemUIOp::create(b, threadNumber, index(32));
  Value rowAt = sum(product(arith::RemUIOp::create(b, lane, index(16)), operand.stride), product(arith::DivUIOp::create(b, lane, index(16)), 8));
  auto four = VectorType::get({4}, body.sumType);
  Values sums;
  for (int64_t tile = 0; tile < tiles; ++tile) {
    Value one = arith::ConstantOp::create(b, four, b.getZeroAttr(four));
    for (int64_t i = 0; i < 4; ++i)
      one = vector::InsertOp::create(b, before[i / 2 * count + 2 * tile + i % 2], one, ArrayRef<int64_t>{i});
    sums.push_back(one);
  }
  for (int64_t step = 0; step < columns / 4; ++step) { // over 16 of the inner dimension
    Values left;
    for (int64_t half : {0, 2})
      for (int64_t r : {0, 1})
        left.push_back(pack(scores[r * columns + 4 * step + half], scores[r * columns + 4 * step + half + 1]));
    for (int64_t tile = 0; tile < tiles; tile += 2) {
      Values right = device.loadMatrices(at(operand.offset, sum(rowAt, index(16 * step * operand.stride + 8 * tile))), /*transposed=*/true);
      for (int64_t i : {0, 1})
        sums[tile + i] = device.multiply(left, ArrayRef(right).slice(2 * i, 2), sums[tile + i], body.operandType);
    }
  }
  Values result(before.begin(), before.end());
  for (int64_t tile = 0; tile < tiles; ++tile)
    for (int64_t i = 0; i < 4; ++i)
      result[i / 2 * count + 2 * tile + i % 2] = vector::ExtractOp::create(b, sums[tile], ArrayRef<int64_t>{i});
  return result;
}
