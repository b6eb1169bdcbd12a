#include "para/Import/KnownTensor.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace para {

int64_t countElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  bool zero = false;
  for (int64_t size : shape) {
    zero |= size == 0;
    if (size > 0 && llvm::MulOverflow(count, size, count))
      count = INT64_MAX;
  }
  return zero ? 0 : count;
}

std::string printShape(ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (int64_t size : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

SmallVector<int64_t> rowMajor(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (int64_t i = shape.size(); i-- > 0;) {
    strides[i] = shape[i] == 1 ? 0 : stride;
    stride *= shape[i];
  }
  return strides;
}

Scalar roundTo(Type element, Scalar value) {
  if (auto type = dyn_cast<FloatType>(element)) {
    if (type.isF64())
      return value;
    if (type.isF32())
      return Scalar::ofFloat(static_cast<float>(value.f));
    APFloat rounded(value.f);
    bool lost;
    rounded.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
    rounded.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
    return Scalar::ofFloat(rounded.convertToDouble());
  }
  unsigned width = cast<IntegerType>(element).getWidth();
  if (width == 1)
    return Scalar::ofInt(value.i & 1);
  return width >= 64 ? value : Scalar::ofInt(llvm::SignExtend64(value.i, width));
}

Scalar convert(Type from, Type to, Scalar value) {
  bool isBool = to.isInteger(1);
  if (isa<FloatType>(from)) {
    if (isBool)
      return Scalar::ofInt(value.f != 0.0);
    if (isa<FloatType>(to))
      return roundTo(to, value);
    double x = std::isnan(value.f) ? 0.0 : std::trunc(value.f);
    int64_t i = x >= 9223372036854775807.0 ? INT64_MAX : x <= -9223372036854775808.0 ? INT64_MIN : static_cast<int64_t>(x);
    return roundTo(to, Scalar::ofInt(i));
  }
  if (isBool)
    return Scalar::ofInt(value.i != 0);
  return roundTo(to, isa<FloatType>(to) ? Scalar::ofFloat(static_cast<double>(value.i)) : value);
}

void forEachOffset(ArrayRef<int64_t> shape, ArrayRef<SmallVector<int64_t>> strides, MutableArrayRef<int64_t> offsets,
                   llvm::function_ref<void()> visit) {
  if (llvm::is_contained(shape, 0))
    return;
  SmallVector<int64_t> index(shape.size(), 0);
  while (true) {
    visit();
    int64_t dim = shape.size();
    while (dim-- > 0) {
      ++index[dim];
      for (auto [offset, stride] : llvm::zip_equal(offsets, strides))
        offset += stride[dim];
      if (index[dim] < shape[dim])
        break;
      for (auto [offset, stride] : llvm::zip_equal(offsets, strides))
        offset -= stride[dim] * shape[dim];
      index[dim] = 0;
    }
    if (dim < 0)
      return;
  }
}

int64_t KnownTensor::getCompactCount() const {
  int64_t count = 1;
  for (auto [size, stride] : llvm::zip_equal(shape(), strides))
    if (stride != 0 && llvm::MulOverflow(count, size, count))
      return INT64_MAX;
  return count;
}

static thread_local KnownBudget *budget = nullptr;
KnownBudget::KnownBudget() : outer(std::exchange(budget, this)) {}
KnownBudget::~KnownBudget() { budget = outer; }
void KnownBudget::spend(int64_t elements) {
  if (budget)
    budget->left -= elements;
}

const std::vector<Scalar> *KnownTensor::data() {
  if (storage->large)
    return nullptr;
  if (storage->compute) {
    KnownBudget::spend(storage->count);
    storage->data.reserve(storage->count);
    storage->compute(storage->data);
    storage->compute = nullptr;
    storage->depth = 0;
    assert(static_cast<int64_t>(storage->data.size()) == storage->count && "a computation fills its storage");
  }
  return &storage->data;
}

std::optional<std::vector<Scalar>> KnownTensor::read() {
  int64_t count = countElements(shape());
  const std::vector<Scalar> *from = count <= kLimit ? data() : nullptr;
  if (!from)
    return std::nullopt;
  std::vector<Scalar> result;
  result.reserve(count);
  int64_t at[] = {offset};
  forEachOffset(shape(), {strides}, at, [&] { result.push_back((*from)[at[0]]); });
  return result;
}

std::optional<std::vector<int64_t>> KnownTensor::readInts() {
  std::optional<std::vector<Scalar>> values = isFloat() ? std::nullopt : read();
  if (!values)
    return std::nullopt;
  std::vector<int64_t> result;
  for (Scalar value : *values)
    result.push_back(value.i);
  return result;
}

Known KnownTensor::view(RankedTensorType newType, ArrayRef<int64_t> newStrides, int64_t newOffset) const {
  auto result = std::make_shared<KnownTensor>();
  result->type = newType;
  result->strides.assign(newStrides.begin(), newStrides.end());
  for (auto [size, stride] : llvm::zip_equal(newType.getShape(), result->strides))
    if (size == 1)
      stride = 0;
  result->offset = newOffset;
  result->storage = storage;
  return result;
}

Known KnownTensor::compact() const {
  SmallVector<int64_t> sizes(shape());
  for (auto [size, stride] : llvm::zip_equal(sizes, strides))
    if (stride == 0 && size > 0)
      size = 1;
  return view(type.clone(sizes), strides, offset);
}

Known KnownTensor::create(RankedTensorType type, std::vector<Scalar> data) {
  assert(static_cast<int64_t>(data.size()) == countElements(type.getShape()) && "one element a place");
  bool same = data.size() > 1 && llvm::all_of(data, [&](Scalar x) { return x.i == data[0].i; });
  if (same)
    return splat(type, data[0]);
  auto result = std::make_shared<KnownTensor>();
  result->type = type;
  result->strides = rowMajor(type.getShape());
  result->storage = std::make_shared<KnownStorage>();
  result->storage->count = data.size();
  result->storage->data = std::move(data);
  return result;
}

Known KnownTensor::splat(RankedTensorType type, Scalar value) {
  auto result = std::make_shared<KnownTensor>();
  result->type = type;
  result->strides.assign(type.getRank(), 0);
  result->storage = std::make_shared<KnownStorage>();
  result->storage->count = 1;
  result->storage->data = {value};
  return result;
}

Known KnownTensor::lazy(RankedTensorType type, ArrayRef<Known> operands, std::function<void(std::vector<Scalar> &)> compute) {
  auto result = std::make_shared<KnownTensor>();
  result->type = type;
  result->strides = rowMajor(type.getShape());
  auto storage = result->storage = std::make_shared<KnownStorage>();
  storage->count = countElements(type.getShape());
  storage->large = storage->count > kLimit;
  storage->compute = std::move(compute);
  for (const Known &operand : operands) {
    storage->large |= operand->storage->large;
    storage->depth = std::max(storage->depth, operand->storage->depth + 1);
  }
  // What is small is computed at once, and chains stay short.
  constexpr int64_t small = 1024, longest = 64;
  if (!storage->large && (storage->count <= small || storage->depth > longest))
    result->data();
  return result;
}

std::optional<AffineIndex> matchAffine(KnownTensor &x) {
  const std::vector<Scalar> *data = x.data();
  if (!data || countElements(x.shape()) == 0)
    return std::nullopt;
  // Floats count as well if they are whole and small enough to be exact.
  bool isFloat = x.isFloat(), holds = true;
  auto at = [&](int64_t offset) {
    Scalar value = (*data)[offset];
    if (!isFloat)
      return value.i;
    holds &= std::fabs(value.f) <= 2048 * 1024 && value.f == std::trunc(value.f);
    return holds ? static_cast<int64_t>(value.f) : 0;
  };
  AffineIndex result;
  result.base = at(x.offset);
  result.steps.assign(x.rank(), 0);
  for (int64_t dim = 0; dim < x.rank(); ++dim) {
    if (x.strides[dim] == 0)
      continue;
    int64_t step;
    if (llvm::SubOverflow(at(x.offset + x.strides[dim]), result.base, step))
      return std::nullopt;
    if (step == 0)
      continue;
    if (result.dim >= 0)
      return std::nullopt;
    result.dim = dim;
    result.steps[dim] = step;
  }
  // Compare all elements with the formula.
  Known compact = x.compact();
  SmallVector<int64_t> counting(x.rank(), 0);
  if (result.dim >= 0)
    counting[result.dim] = 1;
  int64_t places[] = {x.offset, 0};
  forEachOffset(compact->shape(), {compact->strides, counting}, places, [&] {
    int64_t step = result.dim < 0 ? 0 : result.steps[result.dim], product, expected;
    holds = holds && !llvm::MulOverflow(places[1], step, product) && !llvm::AddOverflow(product, result.base, expected) &&
            at(places[0]) == expected;
  });
  return holds ? std::optional(result) : std::nullopt;
}

std::optional<SmallVector<int64_t>> reshapeStrides(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides, ArrayRef<int64_t> newShape) {
  SmallVector<int64_t> oldSizes, oldStrides, result(newShape.size(), 0);
  for (auto [size, stride] : llvm::zip_equal(shape, strides))
    if (size != 1) {
      oldSizes.push_back(size);
      oldStrides.push_back(stride);
    }
  if (llvm::is_contained(shape, 0))
    return result;
  // Walk groups of dimensions with equal products.
  size_t oi = 0, ni = 0;
  while (ni < newShape.size()) {
    if (newShape[ni] == 1) {
      ++ni;
      continue;
    }
    if (oi >= oldSizes.size())
      return std::nullopt;
    size_t oj = oi + 1, nj = ni + 1;
    int64_t op = oldSizes[oi], np = newShape[ni];
    while (op != np) {
      if (np < op) {
        if (nj >= newShape.size())
          return std::nullopt;
        np *= newShape[nj++];
      } else {
        if (oj >= oldSizes.size())
          return std::nullopt;
        op *= oldSizes[oj++];
      }
    }
    for (size_t k = oi; k + 1 < oj; ++k)
      if (oldStrides[k] != oldStrides[k + 1] * oldSizes[k + 1])
        return std::nullopt;
    int64_t stride = oldStrides[oj - 1];
    for (size_t k = nj; k-- > ni;) {
      result[k] = stride;
      stride *= newShape[k];
    }
    oi = oj;
    ni = nj;
  }
  return result;
}

} // namespace para
