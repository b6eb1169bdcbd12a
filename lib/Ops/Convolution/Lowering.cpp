//===- Lowering.cpp - Elements and calls of convolutions ------------------===//
#include "Convolution/Convolution.h"

using namespace mlir;
using namespace para;

using Shape = ArrayRef<int64_t>;

static Shape shapeOf(Value x) { return cast<RankedTensorType>(x.getType()).getShape(); }

/// out * stride + window * dilation - pad, and whether all are inside of the input.
static Value toInput(ElementEmitter &emitter, ArrayRef<Coordinate> out, ArrayRef<Coordinate> window, Shape input, Shape strides,
                     Shape dilations, Shape padLow, SmallVectorImpl<Coordinate> &at) {
  Value valid;
  for (unsigned i = 0; i < out.size(); ++i) {
    Coordinate x = coordinates::sum(emitter, coordinates::scaled(emitter, out[i], strides[i], -padLow[i]),
                                    coordinates::scaled(emitter, window[i], dilations[i]));
    Value inside = coordinates::inside(emitter, x, input[i]);
    valid = valid ? arith::AndIOp::create(emitter.b, valid, inside) : inside;
    at.push_back(x);
  }
  return valid;
}

SmallVector<int64_t> ConvolutionOp::getReductionExtents() { return SmallVector<int64_t>(shapeOf(getWeight()).drop_front()); }

Value ConvolutionOp::emitElement(ElementEmitter &emitter, unsigned, ArrayRef<Coordinate> index) {
  Shape input = shapeOf(getInput()), weight = shapeOf(getWeight());
  unsigned rank = input.size();
  ArrayRef<Coordinate> loops = index.drop_front(rank);
  Coordinate group = coordinates::quotient(emitter, index[1], weight[0] / static_cast<int64_t>(getGroups()));
  SmallVector<Coordinate> x{index[0], coordinates::sum(emitter, coordinates::scaled(emitter, group, weight[1]), loops[0])};
  SmallVector<Coordinate> w{index[1]};
  llvm::append_range(w, loops);
  Value valid = toInput(emitter, index.slice(2, rank - 2), loops.drop_front(), input.drop_front(2), getStrides(), getDilations(), getPadLow(), x);
  return emitter.guarded(valid, [&] { return scalar::mul(emitter.b, emitter.operand(0, x), emitter.operand(1, w)); },
                         emitter.constant(cast<RankedTensorType>(getType()).getElementType(), 0.0));
}

SmallVector<int64_t> ConvolutionInputGradOp::getReductionExtents() {
  Shape weight = shapeOf(getWeight());
  SmallVector<int64_t> extents{weight[0] / static_cast<int64_t>(getGroups())};
  llvm::append_range(extents, weight.drop_front(2));
  return extents;
}

Value ConvolutionInputGradOp::emitElement(ElementEmitter &emitter, unsigned, ArrayRef<Coordinate> index) {
  ImplicitLocOpBuilder &b = emitter.b;
  Shape out = shapeOf(getCotangent()), weight = shapeOf(getWeight());
  unsigned rank = out.size();
  ArrayRef<Coordinate> loops = index.drop_front(rank);
  Coordinate group = coordinates::quotient(emitter, index[1], weight[1]);
  Coordinate k = coordinates::sum(emitter, coordinates::scaled(emitter, group, weight[0] / static_cast<int64_t>(getGroups())), loops[0]);
  SmallVector<Coordinate> g{index[0], k}, w{k, coordinates::rest(emitter, index[1], weight[1])};
  llvm::append_range(w, loops.drop_front());
  Value valid;
  for (unsigned i = 0; i + 2 < rank; ++i) {
    Coordinate x = coordinates::sum(emitter, coordinates::scaled(emitter, index[2 + i], 1, getPadLow()[i]),
                                    coordinates::scaled(emitter, loops[1 + i], -getDilations()[i]));
    int64_t stride = getStrides()[i];
    Value inside = coordinates::inside(emitter, x, (out[2 + i] - 1) * stride + 1);
    if (stride > 1) {
      Value rest = emitter.position(coordinates::rest(emitter, x, stride));
      Value whole = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rest, emitter.constantInteger(b.getI64Type(), 0));
      inside = arith::AndIOp::create(b, inside, whole);
      x = coordinates::quotient(emitter, x, stride);
    }
    valid = valid ? arith::AndIOp::create(b, valid, inside) : inside;
    g.push_back(x);
  }
  return emitter.guarded(valid, [&] { return scalar::mul(b, emitter.operand(0, g), emitter.operand(1, w)); },
                         emitter.constant(cast<RankedTensorType>(getType()).getElementType(), 0.0));
}

SmallVector<int64_t> ConvolutionWeightGradOp::getReductionExtents() {
  Shape out = shapeOf(getCotangent());
  SmallVector<int64_t> extents{out[0]};
  llvm::append_range(extents, out.drop_front(2));
  return extents;
}

Value ConvolutionWeightGradOp::emitElement(ElementEmitter &emitter, unsigned, ArrayRef<Coordinate> index) {
  Shape input = shapeOf(getInput()), weight = shapeOf(getResult());
  unsigned rank = input.size();
  ArrayRef<Coordinate> loops = index.drop_front(rank);
  Coordinate group = coordinates::quotient(emitter, index[0], weight[0] / static_cast<int64_t>(getGroups()));
  SmallVector<Coordinate> g{loops[0], index[0]};
  llvm::append_range(g, loops.drop_front());
  SmallVector<Coordinate> x{loops[0], coordinates::sum(emitter, coordinates::scaled(emitter, group, weight[1]), index[1])};
  Value valid = toInput(emitter, loops.drop_front(), index.slice(2, rank - 2), input.drop_front(2), getStrides(), getDilations(), getPadLow(), x);
  return emitter.guarded(valid, [&] { return scalar::mul(emitter.b, emitter.operand(0, g), emitter.operand(1, x)); },
                         emitter.constant(cast<RankedTensorType>(getType()).getElementType(), 0.0));
}

template <typename Op>
static std::optional<LibraryCall> makeCall(Op op, int64_t kind) {
  auto type = cast<RankedTensorType>(op.getType());
  Type element = type.getElementType();
  if (!(element.isF32() || element.isBF16() || element.isF16()) || type.getRank() < 3 || type.getRank() > 5)
    return std::nullopt;
  LibraryCall call{LibraryCall::Convolution};
  call.convolution = kind;
  call.groups = op.getGroups();
  call.strides.assign(op.getStrides().begin(), op.getStrides().end());
  call.dilations.assign(op.getDilations().begin(), op.getDilations().end());
  call.padLow.assign(op.getPadLow().begin(), op.getPadLow().end());
  call.padHigh.assign(op.getPadHigh().begin(), op.getPadHigh().end());
  return call;
}

std::optional<LibraryCall> ConvolutionOp::getLibraryCall() { return makeCall(*this, 0); }
std::optional<LibraryCall> ConvolutionInputGradOp::getLibraryCall() { return makeCall(*this, 1); }
std::optional<LibraryCall> ConvolutionWeightGradOp::getLibraryCall() { return makeCall(*this, 2); }
