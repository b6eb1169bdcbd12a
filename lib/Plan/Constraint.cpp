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
    std::vector<std::string> axes;
    SmallVector<llvm::StringRef> names;
    if (dim != "_")
      dim.split(names, '+');
    for (llvm::StringRef name : names) {
      if (name == "pipeline" || !findPlanAxis(name))
        return fail("'" + name + "' in '" + text + "' is none of data, expert, context, tensor, _ (whole) and ? (free)");
      if (!used.insert(name.str()).second)
        return fail("'" + text + "' cuts two dimensions over " + name);
      axes.push_back(name.str());
    }
    constraint.dims.push_back(std::move(axes));
  }
  return constraint;
}

Sharding Constraint::apply(Sharding sharding, MLIRContext *ctx) const {
  for (auto [dim, wanted] : llvm::zip_equal(sharding.dims, dims)) {
    if (!wanted)
      continue;
    Axes axes;
    for (Axis axis : dim.axes) // a microbatch is a part of the batch in any case
      if (axis.getValue() == kMicrobatch)
        axes.push_back(axis);
    for (const std::string &name : *wanted)
      axes.push_back(StringAttr::get(ctx, name));
    dim = DimSharding{axes, 1, 1};
  }
  for (auto [index, wanted] : llvm::enumerate(dims))
    if (wanted)
      for (const std::string &name : *wanted)
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
