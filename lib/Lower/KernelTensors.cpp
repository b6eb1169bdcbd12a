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

/// Two elements that lie side by side.
Value KernelTiles::loadPair(int64_t bytes, Value element) { return LLVM::LoadOp::create(b, b.getI32Type(), at(bytes, element), 4); }

Value KernelTiles::pack(Value low, Value high) {
  auto type = VectorType::get({2}, body.stored);
  Value pair = arith::ConstantOp::create(b, type, b.getZeroAttr(type));
  pair = vector::InsertOp::create(b, low, pair, ArrayRef<int64_t>{0});
  pair = vector::InsertOp::create(b, high, pair, ArrayRef<int64_t>{1});
  return vector::ExtractOp::create(b, vector::BitCastOp::create(b, VectorType::get({1}, b.getI32Type()), pair), ArrayRef<int64_t>{0});
}

KernelTiles::Values KernelTiles::multiplyOnTensorCores(const TileScore &score) {
  const TileOperand &outer = body.operands[score.outer], &inner = body.operands[score.inner];
  int64_t tiles = body.innerTile() / 8;
  Value group = arith::RemUIOp::create(b, arith::DivUIOp::create(b, threadNumber, index(4)), index(8)), pair = product(column, 2);
  Values outerAt, innerAt;
  for (int64_t r : {0, 1})
    outerAt.push_back(sum(product(rowOf(r), outer.stride), pair));
  for (int64_t tile = 0; tile < tiles; ++tile)
    innerAt.push_back(sum(product(sum(group, index(8 * tile)), inner.stride), pair));
  auto four = VectorType::get({4}, body.type);
  Values none(tiles, arith::ConstantOp::create(b, four, b.getZeroAttr(four)));
  Values sums = loop(index(0), index(body.paddedDepth(score.depth)), 16, none, [&](Value depth, Values state) {
    Values left;
    for (int64_t half : {0, 8})
      for (Value place : outerAt)
        left.push_back(loadPair(outer.offset, sum(place, sum(depth, index(half)))));
    for (auto [place, one] : llvm::zip_equal(innerAt, state)) {
      Values right;
      for (int64_t half : {0, 8})
        right.push_back(loadPair(inner.offset, sum(place, sum(depth, index(half)))));
      one = device.multiply(left, right, one, body.stored);
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
  Value group = arith::RemUIOp::create(b, arith::DivUIOp::create(b, threadNumber, index(4)), index(8));
  auto four = VectorType::get({4}, body.type);
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
    Value first = sum(product(column, 2), index(16 * step));
    for (int64_t tile = 0; tile < tiles; ++tile) {
      auto element = [&](int64_t offset) {
        Value place = sum(product(sum(first, index(offset)), operand.stride), sum(group, index(8 * tile)));
        return LLVM::LoadOp::create(b, body.stored, at(operand.offset, place), 2).getResult();
      };
      Values right;
      for (int64_t half : {0, 8})
        right.push_back(pack(element(half), element(half + 1)));
      sums[tile] = device.multiply(left, right, sums[tile], body.stored);
    }
  }
  Values result(before.begin(), before.end());
  for (int64_t tile = 0; tile < tiles; ++tile)
    for (int64_t i = 0; i < 4; ++i)
      result[i / 2 * count + 2 * tile + i % 2] = vector::ExtractOp::create(b, sums[tile], ArrayRef<int64_t>{i});
  return result;
}
