#include "para/Plan/Constraint.h"

#include "para/Plan/Plan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace mlir;
using namespace para;

static llvm::Error fail(const llvm::Twine &message) { return llvm::createStringError(llvm::inconvertibleErrorCode(), message); }

llvm::Expected<Constraint> para::parseConstraint(llvm::StringRef text) {
  llvm::StringRef list = text.trim();
  if (!list.consume_front("[") || !list.consume_back("]"))
    return fail("'" + text + "' is no list of dimensions such as [data,_,tensor]");
  Constraint constraint;
  std::set<std::string> used;
  SmallVector<llvm::StringRef> dims;
  if (!list.trim().empty())
    list.split(dims, ',');
  for (llvm::StringRef dim : dims) {
    dim = dim.trim();
    if (dim == "?") {
      constraint.dims.push_back(std::nullopt);
      continue;
    }
    Constraint::Cut cut;
    SmallVector<llvm::StringRef> names, factors;
    dim.split(factors, '*');
    for (llvm::StringRef &factor : factors)
      factor = factor.trim();
    auto take = [&](llvm::StringRef factor, int64_t &count) { return factor.getAsInteger(10, count) || count < 1; };
    if (factors.size() > 1 && llvm::isDigit((factors.front() + " ").str()[0])) {
      if (take(factors.front(), cut.blocks))
        return fail("'" + factors.front() + "' in '" + text + "' is no number of blocks");
      factors.erase(factors.begin());
    }
    if (factors.size() > 1 && take(factors.pop_back_val(), cut.unit))
      return fail("'" + dim + "' in '" + text + "' does not end in a unit, as tensor*64 does");
    if (factors.size() > 1)
      return fail("'" + dim + "' in '" + text + "' is none of BLOCKS*AXES*UNIT, as 3*tensor*64 is");
    if (dim != "_")
      factors.front().split(names, '+');
    for (llvm::StringRef name : names) {
      if (name == "pipeline" || !findPlanAxis(name))
        return fail("'" + name + "' in '" + text + "' is none of data, expert, context, tensor, _ (whole) and ? (free)");
      if (!used.insert(name.str()).second)
        return fail("'" + text + "' cuts two dimensions over " + name);
      cut.axes.push_back(name.str());
    }
    constraint.dims.push_back(std::move(cut));
  }
  return constraint;
}

llvm::Error Constraint::check(RankedTensorType type) const {
  std::string shape;
  llvm::raw_string_ostream(shape) << type;
  if (type.getRank() != int64_t(dims.size()))
    return fail("the value has " + llvm::Twine(type.getRank()) + " dimensions: " + shape);
  for (auto [dim, size] : llvm::zip_equal(dims, type.getShape()))
    if (dim && (dim->blocks > size || dim->unit > size / dim->blocks || size % (dim->blocks * dim->unit)) && size > 0)
      return fail("a dimension of " + llvm::Twine(size) + " is not made of " + llvm::Twine(dim->blocks) + " blocks in units of " + llvm::Twine(dim->unit) + ": " + shape);
  return llvm::Error::success();
}

std::string para::toText(const Sharding &sharding) {
  std::string text = "[";
  for (auto [index, dim] : llvm::enumerate(sharding.dims)) {
    std::string axes;
    for (Axis axis : dim.axes)
      if (axis.getValue() != kMicrobatch)
        axes += (axes.empty() ? "" : "+") + axis.getValue().str();
    text += index ? "," : "";
    if (!axes.empty() && dim.blocks > 1)
      text += std::to_string(dim.blocks) + "*";
    text += axes.empty() ? "_" : axes;
    if (!axes.empty() && dim.unit > 1)
      text += "*" + std::to_string(dim.unit);
  }
  return text + "]";
}

Sharding Constraint::apply(Sharding sharding, MLIRContext *ctx) const {
  for (auto [dim, wanted] : llvm::zip_equal(sharding.dims, dims)) {
    if (!wanted)
      continue;
    Axes axes;
    for (Axis axis : dim.axes) // a microbatch is a part of the batch in any case
      if (axis.getValue() == kMicrobatch)
        axes.push_back(axis);
    for (const std::string &name : wanted->axes)
      axes.push_back(StringAttr::get(ctx, name));
    dim = DimSharding{axes, wanted->unit, wanted->blocks};
  }
  for (auto [index, wanted] : llvm::enumerate(dims))
    if (wanted)
      for (const std::string &name : wanted->axes)
        for (auto [other, dim] : llvm::enumerate(sharding.dims))
          if (other != index)
            llvm::erase(dim.axes, StringAttr::get(ctx, name));
  Axes partial;
  for (Axis axis : sharding.partial)
    if (axis.getValue() == kMicrobatch)
      partial.push_back(axis);
  sharding.partial = partial;
  return sharding;
}
