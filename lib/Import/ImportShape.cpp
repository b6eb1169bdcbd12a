//===- ImportShape.cpp - Formulas that move elements, folding -------------===//

#include "para/Import/ImportBuilder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace para {

using V = ImportValue;

V ImportBuilder::ints(Dims values, bool scalar) {
  std::vector<Scalar> data;
  for (int64_t value : values)
    data.push_back(Scalar::ofInt(value));
  SmallVector<int64_t> shape;
  if (!scalar)
    shape.push_back(values.size());
  return known(RankedTensorType::get(shape, t.builder.getI64Type()), std::move(data));
}

V ImportBuilder::splat(Type element, Dims shape, double value) {
  if (!checkShape(shape))
    return {};
  Scalar scalar = isa<FloatType>(element) ? Scalar::ofFloat(value) : Scalar::ofInt(static_cast<int64_t>(value));
  return KnownTensor::splat(RankedTensorType::get(shape, element), roundTo(element, scalar));
}

V ImportBuilder::iota(Type element, Dims shape, int64_t dim) {
  if (!checkShape(shape))
    return {};
  int64_t size = shape[dim];
  bool isFloat = isa<FloatType>(element);
  Known line = KnownTensor::lazy(RankedTensorType::get({size}, element), {}, [=](std::vector<Scalar> &out) {
    for (int64_t i = 0; i < size; ++i)
      out.push_back(isFloat ? Scalar::ofFloat(static_cast<double>(i)) : Scalar::ofInt(i));
  });
  line->emit = [this, size] { return t.iota(RankedTensorType::get({size}, t.builder.getI64Type()), 0); };
  SmallVector<int64_t> sizes(shape.size(), 1);
  sizes[dim] = size;
  return broadcastTo(reshape(line, sizes), shape);
}

V ImportBuilder::transpose(V x, Dims permutation) {
  if (!check(x))
    return {};
  SmallVector<bool> seen(x.rank(), false);
  bool valid = static_cast<int64_t>(permutation.size()) == x.rank();
  for (int64_t dim : permutation)
    valid = valid && dim >= 0 && dim < x.rank() && !std::exchange(seen[dim], true);
  if (!valid)
    return error() << "not a permutation of the dimensions of " << x.type(), V();
  if (llvm::is_sorted(permutation))
    return x;
  if (!x.known)
    return t.transpose(x.value, permutation);
  SmallVector<int64_t> shape, strides, kept(permutation);
  for (int64_t dim : permutation) {
    shape.push_back(x.dim(dim));
    strides.push_back(x.known->strides[dim]);
  }
  Known result = x.known->view(x.type().clone(shape), strides, x.known->offset);
  if (x.known->emit)
    result->emit = [this, x, kept] { return t.transpose(materialize(x), kept); };
  return result;
}

V ImportBuilder::broadcastTo(V x, Dims shape) {
  if (!check(x) || !checkShape(shape))
    return {};
  if (x.shape() == shape)
    return x;
  int64_t added = static_cast<int64_t>(shape.size()) - x.rank();
  bool valid = added >= 0;
  for (int64_t i = 0; valid && i < x.rank(); ++i)
    valid = x.dim(i) == 1 || x.dim(i) == shape[i + added];
  if (!valid) {
    error() << printShape(x.shape()) << " does not broadcast to " << printShape(shape);
    return {};
  }
  if (!x.known)
    return t.broadcastTo(x.value, shape);
  SmallVector<int64_t> strides(added, 0);
  strides.append(x.known->strides.begin(), x.known->strides.end());
  Known result = x.known->view(x.type().clone(shape), strides, x.known->offset);
  result->broadcastOf = x.known;
  SmallVector<int64_t> kept(shape);
  if (x.known->emit)
    result->emit = [this, x, kept] { return t.broadcastTo(materialize(x), kept); };
  return result;
}

Known ImportBuilder::reshapeKnown(Known x, RankedTensorType type) {
  if (std::optional<SmallVector<int64_t>> strides = reshapeStrides(x->shape(), x->strides, type.getShape()))
    return x->view(type, *strides, x->offset);
  return KnownTensor::lazy(type, x, [x](std::vector<Scalar> &out) {
    const std::vector<Scalar> &data = *x->data();
    int64_t at[] = {x->offset};
    forEachOffset(x->shape(), {x->strides}, at, [&] { out.push_back(data[at[0]]); });
  });
}

V ImportBuilder::reshape(V x, Dims shape) {
  if (!check(x) || !checkShape(shape))
    return {};
  if (countElements(x.shape()) != countElements(shape)) {
    error() << printShape(x.shape()) << " cannot take the shape " << printShape(shape);
    return {};
  }
  if (x.shape() == shape)
    return x;
  if (!x.known) {
    Value from = TensorBuilder::reshapedFrom(x.value);
    return from && TensorBuilder::shape(from) == shape ? V(from) : V(t.reshape(x.value, shape));
  }
  Known result = reshapeKnown(x.known, x.type().clone(shape));
  SmallVector<int64_t> kept(shape);
  if (x.known->emit)
    result->emit = [this, x, kept] { return t.reshape(materialize(x), kept); };
  return result;
}

V ImportBuilder::beforeMerge(V x) {
  Value from = x && !x.known && x.rank() == 2 ? TensorBuilder::reshapedFrom(x.value) : Value();
  if (!from)
    return {};
  ArrayRef<int64_t> whole = TensorBuilder::shape(from);
  int64_t rows = 1;
  for (size_t kept = 0; kept < whole.size(); ++kept) {
    if (rows == x.dim(0) && kept >= 2) { // what is behind becomes the columns
      SmallVector<int64_t> shape(whole.take_front(kept));
      shape.push_back(x.dim(1));
      return V(t.reshape(from, shape));
    }
    rows *= whole[kept];
  }
  return {};
}

V ImportBuilder::unsqueeze(V x, int64_t dim) {
  if (!check(x))
    return {};
  SmallVector<int64_t> shape(x.shape());
  shape.insert(shape.begin() + dim, 1);
  return reshape(x, shape);
}

V ImportBuilder::squeeze(V x, int64_t dim) {
  if (!check(x))
    return {};
  SmallVector<int64_t> shape(x.shape());
  shape.erase(shape.begin() + dim);
  return reshape(x, shape);
}

V ImportBuilder::slice(V x, Dims offsets, Dims sizes, Dims strides) {
  if (!check(x))
    return {};
  SmallVector<int64_t> steps(strides);
  steps.resize(x.rank(), 1);
  bool whole = true, valid = true;
  for (int64_t i = 0; i < x.rank(); ++i) {
    whole &= offsets[i] == 0 && sizes[i] == x.dim(i) && steps[i] == 1;
    int64_t last = 0;
    valid &= sizes[i] >= 0 && !llvm::MulOverflow(std::max<int64_t>(sizes[i] - 1, 0), steps[i], last) &&
             !llvm::AddOverflow(last, offsets[i], last) &&
             (sizes[i] == 0 || (offsets[i] >= 0 && offsets[i] < x.dim(i) && last >= 0 && last < x.dim(i)));
  }
  if (!valid)
    return error() << "the slice leaves the tensor " << x.type(), V();
  if (whole)
    return x;
  for (int64_t i = 0; i < x.rank(); ++i)
    if (sizes[i] <= 1)
      steps[i] = 1;
  if (!x.known)
    return t.slice(x.value, offsets, sizes, steps);
  SmallVector<int64_t> viewStrides;
  int64_t offset = x.known->offset;
  for (int64_t i = 0; i < x.rank(); ++i) {
    viewStrides.push_back(x.known->strides[i] * steps[i]);
    offset += sizes[i] == 0 ? 0 : x.known->strides[i] * offsets[i];
  }
  Known result = x.known->view(x.type().clone(sizes), viewStrides, offset);
  SmallVector<int64_t> o(offsets), s(sizes);
  if (x.known->emit)
    result->emit = [this, x, o, s, steps] { return t.slice(materialize(x), o, s, steps); };
  return result;
}

V ImportBuilder::sliceDim(V x, int64_t dim, int64_t offset, int64_t size, int64_t stride) {
  if (!check(x))
    return {};
  SmallVector<int64_t> offsets(x.rank(), 0), sizes(x.shape()), strides(x.rank(), 1);
  offsets[dim] = offset;
  sizes[dim] = size;
  strides[dim] = stride;
  return slice(x, offsets, sizes, strides);
}

/// Known values are worked on without the dimensions along which they repeat, other than those in `keep`.
V ImportBuilder::shrink(V x, llvm::function_ref<bool(int64_t)> keep) {
  if (!x.known)
    return x;
  SmallVector<int64_t> sizes(x.shape());
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (size > 1 && x.known->strides[dim] == 0 && !keep(dim))
      size = 1;
  if (ArrayRef<int64_t>(sizes) == x.shape())
    return x;
  Known result = x.known->view(x.type().clone(sizes), x.known->strides, x.known->offset);
  if (x.known->emit)
    result->emit = [this, x, sizes] { return t.slice(materialize(x), SmallVector<int64_t>(sizes.size(), 0), sizes); };
  return result;
}

V ImportBuilder::pad(V x, Dims low, Dims high, double value) {
  if (!check(x))
    return {};
  SmallVector<int64_t> shape;
  bool nothing = true;
  for (int64_t i = 0; i < x.rank(); ++i) {
    int64_t size;
    if (llvm::AddOverflow(x.dim(i), low[i], size) || llvm::AddOverflow(size, high[i], size))
      size = -1;
    shape.push_back(size);
    nothing &= low[i] == 0 && high[i] == 0;
  }
  if (!checkShape(shape) || nothing)
    return nothing ? x : V();
  if (!x.known)
    return t.pad(x.value, low, high, value);
  V small = shrink(x, [&](int64_t dim) { return low[dim] != 0 || high[dim] != 0; });
  if (small.shape() != x.shape())
    return broadcastTo(pad(small, low, high, value), shape);
  SmallVector<int64_t> before(low), after(high);
  auto type = x.type().clone(shape);
  Scalar fill = roundTo(type.getElementType(), x.isFloat() ? Scalar::ofFloat(value) : Scalar::ofInt(int64_t(value)));
  Known k = x.known;
  Known result = KnownTensor::lazy(type, k, [=](std::vector<Scalar> &out) {
    const std::vector<Scalar> &data = *k->data();
    SmallVector<SmallVector<int64_t>> units;
    for (int64_t i = 0; i < k->rank(); ++i) {
      units.emplace_back(k->rank(), 0);
      units.back()[i] = 1;
    }
    SmallVector<int64_t> index(k->rank(), 0);
    forEachOffset(type.getShape(), units, index, [&] {
      int64_t at = k->offset;
      bool inside = true;
      for (int64_t i = 0; i < k->rank(); ++i) {
        int64_t from = index[i] - before[i];
        inside &= from >= 0 && from < k->shape()[i];
        at += from * k->strides[i];
      }
      out.push_back(inside ? data[at] : fill);
    });
  });
  result->emit = [=] { return t.pad(materialize(x), before, after, value); };
  return result;
}

V ImportBuilder::concat(Values values, int64_t dim) {
  SmallVector<V> parts;
  for (const V &value : values) {
    if (!check(value))
      return {};
    // Empty tensors are where caches begin.
    if (countElements(value.shape()) > 0)
      parts.push_back(value);
  }
  if (parts.empty())
    return values.empty() ? (error() << "needs an operand", V()) : values.front();
  if (parts.size() == 1)
    return parts.front();
  SmallVector<int64_t> shape(parts[0].shape());
  if (dim < 0 || dim >= parts[0].rank())
    return error() << "has no dimension " << dim << " to concatenate along", V();
  shape[dim] = 0;
  bool allKnown = true;
  for (const V &part : parts) {
    SmallVector<int64_t> rest(part.shape());
    if (part.rank() == parts[0].rank()) {
      shape[dim] += rest[dim];
      rest[dim] = shape[dim];
    }
    if (ArrayRef<int64_t>(rest) != ArrayRef<int64_t>(shape) || part.element() != parts[0].element())
      return error() << "cannot concatenate " << parts[0].type() << " and " << part.type() << " along dimension " << dim, V();
    allKnown &= part.known != nullptr;
  }
  if (!checkShape(shape))
    return {};
  auto emit = [this, parts, dim] {
    SmallVector<Value> operands;
    for (const V &part : parts)
      operands.push_back(materialize(part));
    return t.concat(operands, dim);
  };
  if (!allKnown)
    return emit();
  // Repeated alike by all parts.
  auto differs = [&](int64_t d) {
    return d == dim || llvm::any_of(parts, [&](const V &part) { return part.known->strides[d] != 0; });
  };
  SmallVector<V> small;
  for (const V &part : parts)
    small.push_back(shrink(part, differs));
  if (small[0].shape() != parts[0].shape())
    return broadcastTo(concat(small, dim), shape);
  std::vector<Known> sources;
  for (const V &part : parts)
    sources.push_back(part.known);
  Known result = KnownTensor::lazy(parts[0].type().clone(shape), sources, [sources, shape, dim](std::vector<Scalar> &out) {
    int64_t outer = countElements(ArrayRef(shape).take_front(dim));
    std::vector<std::vector<Scalar>> all;
    for (const Known &source : sources)
      all.push_back(*source->read());
    for (int64_t i = 0; i < outer; ++i)
      for (std::vector<Scalar> &part : all) {
        int64_t run = part.size() / outer;
        out.insert(out.end(), part.begin() + i * run, part.begin() + (i + 1) * run);
      }
  });
  result->emit = emit;
  if (dim + 1 == static_cast<int64_t>(shape.size()))
    result->parts = sources;
  return result;
}

V ImportBuilder::reduce(ReductionKind kind, V x, Dims dims, bool keepDims) {
  if (!check(x))
    return {};
  SmallVector<int64_t> kept(x.shape()), sorted(dims);
  llvm::sort(sorted);
  for (int64_t dim : sorted)
    kept[dim] = 1;
  SmallVector<int64_t> shape;
  for (auto [i, size] : llvm::enumerate(kept))
    if (keepDims || !llvm::is_contained(sorted, static_cast<int64_t>(i)))
      shape.push_back(size);
  if (sorted.empty())
    return x;
  if (x.isBool() && kind == ReductionKind::Sum)
    return error() << "cannot sum bools", V();
  if (!x.known)
    return t.reduce(kind, x.value, sorted, keepDims);
  V small = shrink(x, [&](int64_t dim) { return llvm::is_contained(sorted, dim); });
  if (small.shape() != x.shape())
    return broadcastTo(reduce(kind, small, dims, keepDims), shape);
  Known k = x.known;
  Known result = KnownTensor::lazy(x.type().clone(kept), k, [=](std::vector<Scalar> &out) {
    bool isFloat = k->isFloat();
    double infinity = std::numeric_limits<double>::infinity();
    double f = kind == ReductionKind::Sum ? 0.0 : kind == ReductionKind::Max ? -infinity : infinity;
    int64_t i = kind == ReductionKind::Sum ? 0 : kind == ReductionKind::Max ? INT64_MIN : INT64_MAX;
    out.assign(countElements(kept), isFloat ? Scalar::ofFloat(f) : Scalar::ofInt(i));
    const std::vector<Scalar> &data = *k->data();
    SmallVector<int64_t> to = rowMajor(kept);
    int64_t at[] = {k->offset, 0};
    forEachOffset(k->shape(), {k->strides, to}, at, [&] {
      Scalar &r = out[at[1]], v = data[at[0]];
      if (kind == ReductionKind::Sum)
        isFloat ? void(r.f += v.f) : void(r.i = int64_t(uint64_t(r.i) + uint64_t(v.i)));
      else if (isFloat)
        r.f = std::isnan(v.f) || (kind == ReductionKind::Max ? v.f > r.f : v.f < r.f) ? v.f : r.f;
      else
        r.i = kind == ReductionKind::Max ? std::max(r.i, v.i) : std::min(r.i, v.i);
    });
    for (Scalar &r : out)
      r = roundTo(k->element(), r);
  });
  // Repeated elements would make a walk over the whole shape; leave that to the program.
  if (countElements(x.shape()) > KnownTensor::kLimit)
    result->storage->large = true;
  result->emit = [this, x, kind, sorted] { return t.reduce(kind, materialize(x), sorted, true); };
  return reshape(result, shape);
}

V ImportBuilder::mean(V x, Dims dims, bool keepDims) {
  if (!check(x))
    return {};
  if (!x.isFloat())
    return error() << "needs a floating point operand, not " << x.type(), V();
  if (!x.known)
    return dims.empty() ? x : V(t.reduceMean(x.value, dims, keepDims));
  double count = 1;
  for (int64_t dim : dims)
    count *= x.dim(dim);
  V total = sum(x, dims, keepDims);
  return div(total, scalar(total, count));
}

} // namespace para
