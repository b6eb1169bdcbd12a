//===- IndexMath.cpp - Affine coordinates with known ranges ---------------===//
#include "IndexMath.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <functional>
#include <numeric>

using namespace mlir;
using namespace para;

static int64_t floorDiv(int64_t x, int64_t c) { return x >= 0 ? x / c : -((-x + c - 1) / c); }

void LinearForm::add(AffineExpr atom, int64_t factor) {
  if (factor == 0)
    return;
  auto it = llvm::find_if(terms, [&](auto &term) { return term.first == atom; });
  if (it == terms.end()) {
    terms.emplace_back(atom, factor);
    return;
  }
  it->second += factor;
  if (it->second == 0)
    terms.erase(it);
}

void LinearForm::add(const LinearForm &other, int64_t factor) {
  for (auto [atom, f] : other.terms)
    add(atom, f * factor);
  constant += other.constant * factor;
}

AffineExpr LinearForm::toExpr(MLIRContext *ctx) const {
  AffineExpr e = getAffineConstantExpr(constant, ctx);
  for (auto [atom, factor] : terms)
    e = e + atom * factor;
  return e;
}

std::optional<int64_t> LinearForm::factorOf(unsigned dim) const {
  int64_t factor = 0;
  for (auto [atom, f] : terms) {
    if (auto d = dyn_cast<AffineDimExpr>(atom)) {
      if (d.getPosition() == dim)
        factor = f;
    } else if (atom.isFunctionOfDim(dim)) {
      return std::nullopt;
    }
  }
  return factor;
}

bool LinearForm::isLinear() const {
  return llvm::all_of(terms, [](auto &term) { return isa<AffineDimExpr>(term.first); });
}

bool LinearForm::operator==(const LinearForm &other) const {
  LinearForm difference = *this;
  difference.add(other, -1);
  return difference.terms.empty() && difference.constant == 0;
}

namespace {
struct Range {
  int64_t low, high;
};
} // namespace

static Range rangeOf(AffineExpr atom, ArrayRef<int64_t> extents);

static Range rangeOf(const LinearForm &form, ArrayRef<int64_t> extents) {
  Range r{form.constant, form.constant};
  for (auto [atom, factor] : form.terms) {
    Range a = rangeOf(atom, extents);
    r.low += std::min(a.low * factor, a.high * factor);
    r.high += std::max(a.low * factor, a.high * factor);
  }
  return r;
}

static Range rangeOf(AffineExpr atom, ArrayRef<int64_t> extents) {
  if (auto d = dyn_cast<AffineDimExpr>(atom))
    return {0, extents[d.getPosition()] - 1};
  if (auto c = dyn_cast<AffineConstantExpr>(atom))
    return {c.getValue(), c.getValue()};
  auto binary = cast<AffineBinaryOpExpr>(atom);
  if (atom.getKind() == AffineExprKind::Mod)
    return {0, cast<AffineConstantExpr>(binary.getRHS()).getValue() - 1};
  if (atom.getKind() == AffineExprKind::FloorDiv) {
    int64_t c = cast<AffineConstantExpr>(binary.getRHS()).getValue();
    Range r = rangeOf(linearForm(binary.getLHS(), extents), extents);
    return {floorDiv(r.low, c), floorDiv(r.high, c)};
  }
  return rangeOf(linearForm(atom, extents), extents);
}

std::pair<int64_t, int64_t> para::boundsOf(const LinearForm &form, ArrayRef<int64_t> extents) {
  Range r = rangeOf(form, extents);
  return {r.low, r.high};
}

/// Splits `form` into g * high + low with 0 <= low < g for the largest g dividing c for which that holds.
static bool split(const LinearForm &form, int64_t c, ArrayRef<int64_t> extents, int64_t &g, LinearForm &high, LinearForm &low) {
  SmallVector<int64_t> candidates;
  for (auto [atom, factor] : form.terms)
    if (int64_t common = std::gcd(factor, c); common > 1)
      candidates.push_back(common);
  llvm::sort(candidates, std::greater<>());
  candidates.erase(llvm::unique(candidates), candidates.end());
  for (int64_t candidate : candidates) {
    high = low = LinearForm();
    for (auto [atom, factor] : form.terms) {
      if (factor % candidate == 0)
        high.add(atom, factor / candidate);
      else
        low.add(atom, factor);
    }
    high.constant = floorDiv(form.constant, candidate);
    low.constant = form.constant - high.constant * candidate;
    Range r = rangeOf(low, extents);
    if (r.low >= 0 && r.high < candidate) {
      g = candidate;
      return true;
    }
  }
  return false;
}

static LinearForm divide(const LinearForm &form, int64_t c, ArrayRef<int64_t> extents) {
  if (c == 1)
    return form;
  LinearForm quotient, rest;
  for (auto [atom, factor] : form.terms) {
    if (factor % c == 0)
      quotient.add(atom, factor / c);
    else
      rest.add(atom, factor);
  }
  quotient.constant = floorDiv(form.constant, c);
  rest.constant = form.constant - quotient.constant * c;
  Range r = rangeOf(rest, extents);
  if (r.low >= 0 && r.high < c)
    return quotient;
  int64_t g;
  LinearForm high, low;
  if (split(rest, c, extents, g, high, low)) {
    quotient.add(divide(high, c / g, extents));
    return quotient;
  }
  AffineExpr first = rest.terms.front().first;
  if (rest.terms.size() == 1 && rest.terms.front().second == 1 && first.getKind() == AffineExprKind::FloorDiv) {
    // (x floordiv b + k) floordiv c = (x + k * b) floordiv (b * c).
    auto inner = cast<AffineBinaryOpExpr>(first);
    int64_t b = cast<AffineConstantExpr>(inner.getRHS()).getValue();
    LinearForm dividend = linearForm(inner.getLHS(), extents);
    dividend.constant += rest.constant * b;
    quotient.add(divide(dividend, b * c, extents));
    return quotient;
  }
  quotient.add(rest.toExpr(first.getContext()).floorDiv(c), 1);
  return quotient;
}

static LinearForm modulo(const LinearForm &form, int64_t c, ArrayRef<int64_t> extents) {
  if (c == 1)
    return {};
  LinearForm rest;
  for (auto [atom, factor] : form.terms)
    if (factor % c != 0)
      rest.add(atom, factor);
  rest.constant = form.constant - floorDiv(form.constant, c) * c;
  Range r = rangeOf(rest, extents);
  if (r.low >= 0 && r.high < c)
    return rest;
  int64_t g;
  LinearForm high, low, result;
  if (split(rest, c, extents, g, high, low)) {
    result.add(modulo(high, c / g, extents), g);
    result.add(low);
    return result;
  }
  MLIRContext *ctx = rest.terms.front().first.getContext();
  result.add(rest.toExpr(ctx) % c, 1);
  return result;
}

LinearForm para::linearForm(AffineExpr e, ArrayRef<int64_t> extents) {
  LinearForm form;
  if (auto constant = dyn_cast<AffineConstantExpr>(e)) {
    form.constant = constant.getValue();
    return form;
  }
  if (auto d = dyn_cast<AffineDimExpr>(e)) {
    if (extents[d.getPosition()] != 1)
      form.add(e, 1);
    return form;
  }
  auto binary = cast<AffineBinaryOpExpr>(e);
  form = linearForm(binary.getLHS(), extents);
  if (e.getKind() == AffineExprKind::Add) {
    form.add(linearForm(binary.getRHS(), extents));
    return form;
  }
  auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
  assert(constant && "coordinates are affine: factors and divisors are constants");
  int64_t c = constant.getValue();
  if (e.getKind() == AffineExprKind::Mul) {
    LinearForm scaled;
    scaled.add(form, c);
    return scaled;
  }
  return e.getKind() == AffineExprKind::Mod ? modulo(form, c, extents) : divide(form, c, extents);
}

LinearForm para::expandRests(const LinearForm &form, ArrayRef<int64_t> extents) {
  LinearForm result;
  result.constant = form.constant;
  for (auto [atom, factor] : form.terms) {
    auto binary = dyn_cast<AffineBinaryOpExpr>(atom);
    if (!binary || atom.getKind() != AffineExprKind::Mod) {
      result.add(atom, factor);
      continue;
    }
    int64_t c = cast<AffineConstantExpr>(binary.getRHS()).getValue();
    LinearForm inner = linearForm(binary.getLHS(), extents);
    result.add(expandRests(inner, extents), factor);
    result.add(expandRests(divide(inner, c, extents), extents), -factor * c);
  }
  return result;
}

LinearForm para::simplest(const LinearForm &form, ArrayRef<int64_t> extents) {
  if (form.isLinear())
    return form;
  LinearForm expanded = expandRests(form, extents);
  auto divisions = [](const LinearForm &f) { return llvm::count_if(f.terms, [](auto &t) { return !isa<AffineDimExpr>(t.first); }); };
  return divisions(expanded) < divisions(form) ? expanded : form;
}

int64_t LanePattern::low() const { return *llvm::min_element(steps); }
int64_t LanePattern::span() const { return *llvm::max_element(steps) - low() + 1; }
bool LanePattern::isContiguous() const {
  return llvm::all_of(llvm::enumerate(steps), [](auto step) { return step.value() == static_cast<int64_t>(step.index()); });
}
bool LanePattern::isUniform() const { return llvm::all_of(steps, [](int64_t step) { return step == 0; }); }

std::optional<LanePattern> para::lanePattern(const LinearForm &form, unsigned lane, int64_t lanes, ArrayRef<int64_t> extents) {
  LanePattern pattern;
  pattern.first.constant = form.constant;
  pattern.steps.assign(lanes, 0);
  for (auto [atom, factor] : form.terms) {
    if (!atom.isFunctionOfDim(lane) || isa<AffineDimExpr>(atom)) {
      pattern.first.add(atom, factor);
      for (int64_t i = 0; i < lanes && atom.isFunctionOfDim(lane); ++i)
        pattern.steps[i] += i * factor;
      continue;
    }
    auto binary = cast<AffineBinaryOpExpr>(atom);
    int64_t c = cast<AffineConstantExpr>(binary.getRHS()).getValue();
    LinearForm inner = linearForm(binary.getLHS(), extents);
    int64_t f = inner.factorOf(lane).value_or(0), k = inner.constant;
    bool isRest = atom.getKind() == AffineExprKind::Mod;
    if (f <= 0)
      return std::nullopt;
    // A quotient or rest of f * lane + others + k by c. Where a vector does not reach from one multiple of c beyond another, its lanes
    // have one quotient.
    int64_t width = f * lanes;
    AffineExpr loop = getAffineDimExpr(lane, binary.getContext());
    bool isWithin = c % width == 0 && k - floorDiv(k, width) * width < f && llvm::all_of(inner.terms, [&](auto &term) {
                      return term.first == loop || (term.second % width == 0 && !term.first.isFunctionOfDim(lane));
                    });
    if (isWithin) {
      pattern.first.add(atom, factor);
      for (int64_t i = 0; i < lanes && isRest; ++i)
        pattern.steps[i] += i * f * factor;
      continue;
    }
    // Where c divides what a whole vector adds, all vectors have the same steps.
    if (inner.terms.size() != 1 || width % c != 0)
      return std::nullopt;
    auto at = [&](int64_t i) { return isRest ? f * i + k - c * floorDiv(f * i + k, c) : floorDiv(f * i + k, c); };
    for (int64_t i = 0; i < lanes; ++i)
      pattern.steps[i] += (at(i) - at(0)) * factor;
    pattern.first.constant += at(0) * factor;
    if (!isRest) // Without k, which may make the dividend negative.
      pattern.first.add((loop * f).floorDiv(c), factor);
  }
  return pattern;
}

bool para::sameFunction(AffineExpr x, AffineExpr y, ArrayRef<int64_t> extents) {
  LinearForm a = expandRests(linearForm(x, extents), extents), b = expandRests(linearForm(y, extents), extents);
  return a == b;
}

AffineExpr para::linearize(ArrayRef<AffineExpr> index, ArrayRef<int64_t> shape, MLIRContext *ctx) {
  AffineExpr linear = getAffineConstantExpr(0, ctx);
  for (auto [e, size] : llvm::zip_equal(index, shape))
    linear = linear * size + e;
  return linear;
}

SmallVector<AffineExpr> para::delinearize(AffineExpr linear, ArrayRef<int64_t> shape, MLIRContext *ctx) {
  SmallVector<AffineExpr> index(shape.size(), getAffineConstantExpr(0, ctx));
  int64_t below = 1;
  for (size_t d = shape.size(); d-- > 0; below *= shape[d])
    if (shape[d] != 1)
      index[d] = d ? linear.floorDiv(below) % shape[d] : linear.floorDiv(below);
  return index;
}

SmallVector<int64_t> para::stridesOf(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * shape[d];
  return strides;
}

int64_t para::productOf(ArrayRef<int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

std::optional<unsigned> para::prefixOf(ArrayRef<int64_t> shape, int64_t rows) {
  int64_t product = 1;
  for (unsigned p = 0;; ++p) {
    if (product == rows) {
      while (p < shape.size() && shape[p] == 1) // dimensions of size 1 belong to the rows
        ++p;
      return p;
    }
    if (p == shape.size() || (rows > 0 && product > rows))
      return std::nullopt;
    product *= shape[p];
  }
}

SmallVector<int64_t> para::commonRefinement(ArrayRef<SmallVector<int64_t>> shapes, int64_t product) {
  if (product == 0)
    return {0};
  SmallVector<int64_t> bounds{1, product};
  for (ArrayRef<int64_t> shape : shapes) {
    int64_t below = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      below *= shape[d];
      bool nests = llvm::all_of(bounds, [&](int64_t b) { return b % below == 0 || below % b == 0; });
      if (nests && !llvm::is_contained(bounds, below))
        bounds.push_back(below);
    }
  }
  llvm::sort(bounds);
  SmallVector<int64_t> extents;
  for (size_t i = bounds.size(); i-- > 1;)
    if (bounds[i] != bounds[i - 1])
      extents.push_back(bounds[i] / bounds[i - 1]);
  return extents;
}
