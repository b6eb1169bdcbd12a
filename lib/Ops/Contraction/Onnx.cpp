//===- Onnx.cpp - ONNX matrix products and einsum -------------------------===//

#include "para/Import/OnnxOp.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace para;

using V = ImportValue;
using B = ImportBuilder;

static void importMatMul(OnnxOp &op) {
  V x = op.input(0), y = op.input(1);
  if (V rows = y && y.rank() == 2 ? op.b.beforeMerge(x) : V()) {
    V result = op.b.matmul(rows, y);
    return op.result(result ? op.b.reshape(result, {x.dim(0), y.dim(1)}) : result);
  }
  op.result(op.b.matmul(x, y));
}

static void importGemm(OnnxOp &op) {
  B &b = op.b;
  V x = op.input(0), y = op.input(1);
  int64_t xInner = op.getInt("transA", 0) ? 0 : 1, yInner = op.getInt("transB", 0) ? 1 : 0;
  double alpha = op.getFloat("alpha", 1.0), beta = op.getFloat("beta", 1.0);
  if (!x || !y)
    return;
  if (x.rank() != 2 || y.rank() != 2 || x.dim(xInner) != y.dim(yInner))
    return void(op.error() << "Gemm cannot multiply " << x.type() << " and " << y.type());
  V z = op.optional(2), rows = xInner == 1 && (!z || z.rank() < 2 || z.dim(0) == 1) ? b.beforeMerge(x) : V();
  SmallVector<int64_t> shape{x.dim(1 - xInner), y.dim(1 - yInner)};
  V result = rows ? b.dot(rows, y, {}, {}, {rows.rank() - 1}, {yInner}) : b.dot(x, y, {}, {}, {xInner}, {yInner});
  if (alpha != 1.0)
    result = b.mul(result, alpha);
  if (z && beta != 0.0 && result) {
    if (rows && z.rank() == 2)
      z = b.reshape(z, {z.dim(1)});
    V added = b.broadcastTo(z, result.shape());
    result = b.add(result, beta == 1.0 ? added : b.mul(added, beta));
  }
  op.result(result ? b.reshape(result, shape) : result);
}

namespace {
/// An operand of an einsum with a letter for each dimension.
struct Term {
  V value;
  std::string letters;
};
} // namespace

static Term permuteTerm(B &b, Term term, StringRef order) {
  SmallVector<int64_t> permutation;
  for (char letter : order)
    permutation.push_back(term.letters.find(letter));
  return {b.transpose(term.value, permutation), order.str()};
}

/// Sums away the letters that nobody else has.
static Term sumLonely(B &b, Term term, StringRef others) {
  SmallVector<int64_t> dims;
  std::string kept;
  for (auto [i, letter] : llvm::enumerate(term.letters))
    if (others.contains(letter))
      kept += letter;
    else
      dims.push_back(i);
  return dims.empty() ? term : Term{b.sum(term.value, dims, false), kept};
}

static Term multiply(B &b, Term x, Term y, StringRef others) {
  std::string shared, contracted, xFree, yFree;
  for (char letter : x.letters)
    (StringRef(y.letters).contains(letter) ? (others.contains(letter) ? shared : contracted) : xFree) += letter;
  for (char letter : y.letters)
    if (!StringRef(x.letters).contains(letter))
      yFree += letter;
  if (contracted.empty()) {
    // A product without a sum is elementwise over all letters.
    x = permuteTerm(b, x, shared + xFree);
    y = permuteTerm(b, y, shared + yFree);
    for (size_t i = 0; i < yFree.size(); ++i)
      x.value = b.unsqueeze(x.value, x.value ? x.value.rank() : 0);
    for (size_t i = 0; i < xFree.size(); ++i)
      y.value = b.unsqueeze(y.value, shared.size());
    return {b.mul(x.value, y.value), shared + xFree + yFree};
  }
  auto places = [](const Term &term, StringRef letters) {
    SmallVector<int64_t> result;
    for (char letter : letters)
      result.push_back(term.letters.find(letter));
    return result;
  };
  V value = b.dot(x.value, y.value, places(x, shared), places(y, shared), places(x, contracted), places(y, contracted));
  return {value, shared + xFree + yFree};
}

static void importEinsum(OnnxOp &op) {
  B &b = op.b;
  std::string equation = op.getString("equation", "");
  llvm::erase(equation, ' ');
  auto [left, right] = StringRef(equation).split("->");
  SmallVector<StringRef> sides;
  left.split(sides, ',');
  if (sides.size() != op.numInputs())
    return void(op.error() << "the equation '" << equation << "' of Einsum does not have " << op.numInputs() << " operands");

  // Dimensions under an ellipsis get digits, the last being '0'.
  SmallVector<Term> terms;
  size_t widest = 0;
  llvm::StringMap<int64_t> sizes;
  std::string counts;
  for (auto [i, side] : llvm::enumerate(sides)) {
    V x = op.input(i);
    if (!x)
      return;
    std::string letters = side.str();
    if (size_t at = letters.find("..."); at != std::string::npos) {
      int64_t hidden = x.rank() - static_cast<int64_t>(letters.size() - 3);
      if (hidden < 0 || hidden > 9)
        return void(op.error() << "the equation '" << equation << "' of Einsum does not fit " << x.type());
      std::string digits;
      for (int64_t d = hidden; d-- > 0;)
        digits += static_cast<char>('0' + d);
      letters.replace(at, 3, digits);
      widest = std::max(widest, digits.size());
    }
    bool valid = static_cast<int64_t>(letters.size()) == x.rank() && llvm::all_of(letters, llvm::isAlnum);
    for (auto [d, letter] : llvm::enumerate(letters)) {
      valid = valid && letters.find(letter, d + 1) == std::string::npos;
      if (!valid)
        return void(op.error() << "the equation '" << equation << "' of Einsum is not supported for " << x.type());
      int64_t &size = sizes.try_emplace(StringRef(&letters[d], 1), 1).first->second;
      if (size != 1 && x.dim(d) != 1 && size != x.dim(d))
        return void(op.error() << "dimension '" << std::string(1, letter) << "' of Einsum has sizes " << size << " and " << x.dim(d));
      size = std::max(size, x.dim(d));
    }
    if (!valid)
      return void(op.error() << "the equation '" << equation << "' of Einsum does not fit " << x.type());
    terms.push_back({x, letters});
    counts += letters;
  }
  // Size 1 broadcasts.
  for (Term &term : terms) {
    SmallVector<int64_t> shape;
    for (char &letter : term.letters)
      shape.push_back(sizes.lookup(StringRef(&letter, 1)));
    term.value = b.broadcastTo(term.value, shape);
  }
  std::string output = right.str(), hidden;
  for (size_t d = widest; d-- > 0;)
    hidden += static_cast<char>('0' + d);
  if (StringRef(equation).contains("->")) {
    if (size_t at = output.find("..."); at != std::string::npos)
      output.replace(at, 3, hidden);
  } else {
    // Implicit: letters that occur once, in alphabetical order.
    output = hidden;
    for (char letter = 'A'; letter <= 'z'; ++letter)
      if (llvm::count(counts, letter) == 1)
        output += letter;
  }
  for (auto [i, letter] : llvm::enumerate(output))
    if (counts.find(letter) == std::string::npos || output.find(letter, i + 1) != std::string::npos)
      return void(op.error() << "the result of the equation '" << equation << "' of Einsum has a wrong letter");

  auto others = [&](size_t from) {
    std::string result = output;
    for (const Term &term : ArrayRef(terms).drop_front(from))
      result += term.letters;
    return result;
  };
  Term product = sumLonely(b, terms[0], others(1));
  for (size_t i = 1; i < terms.size() && product.value; ++i) {
    Term next = sumLonely(b, terms[i], others(i + 1) + product.letters);
    if (next.value)
      product = multiply(b, product, next, others(i + 1));
  }
  if (product.value)
    op.result(permuteTerm(b, sumLonely(b, product, output), output).value);
}

void para::registerContractionOnnx(OnnxRegistry &r) {
  r.add("MatMul", 1, importMatMul);
  r.add("Gemm", 7, importGemm);
  r.add("Einsum", 12, importEinsum);
}
