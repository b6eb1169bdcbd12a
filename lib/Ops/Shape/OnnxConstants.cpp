//===- OnnxConstants.cpp - ONNX constants, shapes and sequences -----------===//

#include "para/Import/OnnxOp.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;
using namespace para;

using V = ImportValue;
using B = ImportBuilder;

static void importConstant(OnnxOp &op) {
  B &b = op.b;
  if (op.hasAttribute("value"))
    return op.result(op.getTensor("value"));
  Type f32 = op.elementType(1), i64 = b.t.builder.getI64Type();
  if (op.hasAttribute("value_int"))
    return op.result(b.ints({op.getInt("value_int", 0)}, true));
  if (op.hasAttribute("value_float"))
    return op.result(b.splat(f32, {}, op.getFloat("value_float", 0)));
  if (std::optional<SmallVector<int64_t>> values = op.getInts("value_ints"))
    return op.result(values->empty() ? b.known(RankedTensorType::get({0}, i64), {}) : b.ints(*values));
  if (std::optional<SmallVector<double>> values = op.getFloats("value_floats")) {
    std::vector<Scalar> data;
    for (double value : *values)
      data.push_back(roundTo(f32, Scalar::ofFloat(value)));
    return op.result(b.known(RankedTensorType::get({static_cast<int64_t>(data.size())}, f32), std::move(data)));
  }
  if (!b.hasFailed())
    op.error() << "Constant has no value of a supported kind";
}

static void importConstantOfShape(OnnxOp &op) {
  std::optional<SmallVector<int64_t>> shape = op.ints(0);
  V value = op.hasAttribute("value") ? op.getTensor("value") : op.b.splat(op.elementType(1), {}, 0);
  if (!shape || !value)
    return;
  if (countElements(value.shape()) != 1)
    return void(op.error() << "the value of ConstantOfShape is not one element");
  op.result(op.b.broadcastTo(op.b.reshape(value, {}), *shape));
}

static void importRange(OnnxOp &op) {
  B &b = op.b;
  V start = op.input(0), step = op.input(2);
  std::optional<double> from = op.number(0, 0), to = op.number(1, 0), by = op.number(2, 1);
  if (!start || !step || !from || !to || !by)
    return;
  double count = std::ceil((*to - *from) / *by);
  if (*by == 0.0 || std::isnan(count) || count > 1e9)
    return void(op.error() << "Range from " << *from << " to " << *to << " by " << *by << " has no end");
  int64_t size = std::max<int64_t>(0, static_cast<int64_t>(count));
  V line = b.iota(start.element(), {size}, 0);
  if (*by != 1.0)
    line = b.mul(line, b.reshape(step, {}));
  op.result(*from == 0.0 ? line : b.add(line, b.reshape(start, {})));
}

static void importShape(OnnxOp &op) {
  V x = op.input(0);
  if (!x)
    return;
  int64_t rank = x.rank(), start = op.getInt("start", 0), end = op.getInt("end", rank);
  auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  start = clamp(start);
  end = std::max(start, clamp(end));
  op.result(op.b.ints(x.shape().slice(start, end - start)));
}

static void importSize(OnnxOp &op) {
  if (V x = op.input(0))
    op.result(op.b.ints({countElements(x.shape())}, true));
}

static void importEyeLike(OnnxOp &op) {
  B &b = op.b;
  V x = op.input(0);
  if (!x)
    return;
  if (x.rank() != 2)
    return void(op.error() << "EyeLike needs a matrix, not " << x.type());
  Type i64 = b.t.builder.getI64Type(), element = op.hasAttribute("dtype") ? op.elementType(op.getInt("dtype", 1)) : x.element();
  V row = b.iota(i64, {x.dim(0), 1}, 0), column = b.iota(i64, {1, x.dim(1)}, 1);
  if (element)
    op.result(b.cast(b.compare(Comparison::Equal, column, b.add(row, static_cast<double>(op.getInt("k", 0)))), element));
}

static void importSequenceConstruct(OnnxOp &op) {
  if (op.type() == "SequenceEmpty")
    return op.result(std::vector<V>());
  op.result(std::vector<V>(op.inputs().begin(), op.inputs().end()));
}

/// The sequence of operand 0 and a position in [0, end).
static std::optional<int64_t> findPlace(OnnxOp &op, size_t operand, int64_t end, double otherwise) {
  std::optional<double> place = op.number(operand, otherwise);
  if (!place)
    return std::nullopt;
  int64_t at = static_cast<int64_t>(*place);
  at += at < 0 ? end : 0;
  if (at >= 0 && at < end)
    return at;
  op.error() << "a sequence has no element " << at;
  return std::nullopt;
}

static void importSequenceElement(OnnxOp &op) {
  V x = op.input(0);
  if (!x)
    return;
  if (!x.sequence)
    return void(op.error() << op.type() << " needs a sequence");
  std::vector<V> elements = *x.sequence;
  int64_t size = elements.size();
  if (op.type() == "SequenceAt") {
    if (std::optional<int64_t> at = findPlace(op, 1, size, 0))
      op.result(elements[*at]);
  } else if (op.type() == "SequenceInsert") {
    std::optional<int64_t> at = findPlace(op, 2, size + 1, static_cast<double>(size));
    if (V added = op.input(1); added && at) {
      elements.insert(elements.begin() + *at, added);
      op.result(std::move(elements));
    }
  } else if (op.type() == "SequenceErase") {
    if (std::optional<int64_t> at = findPlace(op, 1, size, static_cast<double>(size - 1))) {
      elements.erase(elements.begin() + *at);
      op.result(std::move(elements));
    }
  } else if (op.type() == "SequenceLength") {
    op.result(op.b.ints({size}, true));
  } else { // ConcatFromSequence
    int64_t axis = op.getInt("axis", 0);
    bool isNew = op.getInt("new_axis", 0);
    if (elements.empty() || !elements[0] || !elements[0].isTensor())
      return void(op.error() << "ConcatFromSequence of no tensors");
    if (!op.b.normalizeAxis(axis, elements[0].rank() + isNew))
      return;
    for (V &element : elements)
      if (isNew)
        element = op.b.unsqueeze(element, axis);
    op.result(op.b.concat(elements, axis));
  }
}

void registerShapeConstantsOnnx(OnnxRegistry &r);
void registerShapeConstantsOnnx(OnnxRegistry &r) {
  r.add("Constant", 1, importConstant);
  r.add("ConstantOfShape", 9, importConstantOfShape);
  r.add("Range", 11, importRange);
  r.add("Shape", 1, importShape);
  r.add("Size", 1, importSize);
  r.add("EyeLike", 9, importEyeLike);
  r.add({"SequenceConstruct", "SequenceEmpty"}, 11, importSequenceConstruct);
  r.add({"SequenceAt", "SequenceInsert", "SequenceErase", "SequenceLength", "ConcatFromSequence"}, 11, importSequenceElement);
}
