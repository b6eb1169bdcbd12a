//===- KernelTileProducts.cpp - Products of tiles, one term at a time ------===//
#include "KernelTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace para;

KernelTiles::Values KernelTiles::multiply(const TileScore &score) {
  if (body.onTensorCores)
    return multiplyOnTensorCores(score);
  const TileOperand &outer = body.operands[score.outer], &inner = body.operands[score.inner];
  auto type = VectorType::get({body.vector}, body.sumType);
  Values outerAt, innerAt;
  for (int64_t r = 0; r < body.outerOfThread; ++r)
    outerAt.push_back(product(rowOf(r), outer.stride));
  for (int64_t c = 0; c < body.innerOfThread; ++c)
    innerAt.push_back(product(columnOf(c), inner.stride));
  auto load = [&](const TileOperand &operand, ArrayRef<Value> places, Value depth) {
    Values vectors;
    for (Value place : places)
      vectors.push_back(LLVM::LoadOp::create(b, type, at(operand.offset, sum(place, depth)), 16));
    return vectors;
  };
  Values none(body.outerOfThread * body.innerOfThread, zero());
  Values sums = loop(index(0), index(body.paddedDepth(score.depth)), body.vector, none, [&](Value depth, Values state) {
    Values x = load(outer, outerAt, depth), y = load(inner, innerAt, depth);
    for (int64_t k = 0; k < body.vector; ++k) {
      auto pick = [&](Value v) { return vector::ExtractOp::create(b, v, ArrayRef<int64_t>{k}).getResult(); };
      Values xs = llvm::map_to_vector(x, pick), ys = llvm::map_to_vector(y, pick);
      for (int64_t r = 0; r < body.outerOfThread; ++r)
        for (int64_t c = 0; c < body.innerOfThread; ++c) {
          Value &one = state[r * body.innerOfThread + c];
          one = scalar::add(b, one, scalar::mul(b, xs[r], ys[c]));
        }
    }
    return state;
  });
  Type scalar = getElementTypeOrSelf(score.op->getResult(0).getType());
  return llvm::map_to_vector(sums, [&](Value v) { return convert(v, scalar); });
}

/// Those of a row are written and read by threads of one warp.
void KernelTiles::shareScores(ArrayRef<Value> elements) {
  for (int64_t r = 0; r < body.outerOfThread; ++r)
    for (int64_t c = 0; c < body.innerOfThread; ++c) {
      Value place = sum(product(rowOf(r), body.scoreStride()), columnOf(c));
      LLVM::StoreOp::create(b, convert(elements[r * body.innerOfThread + c], body.sumType), at(body.sumOffset, place), elementBytes(body.sumType));
    }
  device.wait(arith::ConstantOp::create(b, b.getI32IntegerAttr(-1)));
}

KernelTiles::Values KernelTiles::addProduct(const TileSum &sumOf, ArrayRef<Value> elements, ValueRange before) {
  if (body.onTensorCores)
    return addProductOnTensorCores(sumOf, elements, before);
  shareScores(elements);
  const TileOperand &operand = body.operands[sumOf.operand];
  auto type = VectorType::get({body.vector}, body.sumType);
  int64_t chunks = body.sumsOf(sumOf.depth) / body.vector, padded = body.paddedDepth(sumOf.depth);
  Values columns, rows;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    Value first = depthOf(chunk * body.vector);
    if ((chunk + 1) * body.sharing() * body.vector > padded) // What is beyond the end is not stored.
      first = arith::MinUIOp::create(b, first, index(padded - body.vector));
    columns.push_back(first);
  }
  for (int64_t r = 0; r < body.outerOfThread; ++r)
    rows.push_back(product(rowOf(r), body.scoreStride()));
  Values sums = loop(index(0), index(body.innerTile()), body.vector, before, [&](Value first, Values state) {
    Values scores;
    for (Value place : rows)
      scores.push_back(LLVM::LoadOp::create(b, type, at(body.sumOffset, sum(place, first)), 16));
    for (int64_t k = 0; k < body.vector; ++k) {
      Value place = product(sum(first, index(k)), operand.stride);
      for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        Value y = LLVM::LoadOp::create(b, type, at(operand.offset, sum(place, columns[chunk])), 16);
        for (int64_t r = 0; r < body.outerOfThread; ++r) {
          Value x = vector::ExtractOp::create(b, scores[r], ArrayRef<int64_t>{k});
          for (int64_t i = 0; i < body.vector; ++i) {
            Value &one = state[(r * chunks + chunk) * body.vector + i];
            one = scalar::add(b, one, scalar::mul(b, x, vector::ExtractOp::create(b, y, ArrayRef<int64_t>{i})));
          }
        }
      }
    }
    return state;
  });
  device.wait(arith::ConstantOp::create(b, b.getI32IntegerAttr(-1)));
  return sums;
}

