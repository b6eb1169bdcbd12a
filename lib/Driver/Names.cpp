#include "Names.h"
#include "para/IR/Program.h"
#include "para/Plan/Constraint.h"
#include "para/Plan/NamedValues.h"
#include "para/Support/JsonFile.h"
#include "para/Support/Spec.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace para;

namespace {
/// Why the program has nothing of a name that the file has; empty where the file has no such name either.
std::string explainAbsent(const ModelOutline &outline, StringRef name) {
  auto isConstant = [&](StringRef tensor) {
    auto it = outline.tensors.find(tensor);
    return it != outline.tensors.end() && it->second.kind == ModelTensor::Constant;
  };
  if (llvm::is_contained(outline.foldedParameters, name))
    return "the exporter tied or folded the parameter, and the file has it under no name of its own";
  for (const ModelNode &node : outline.nodes) {
    if (node.name != name && !llvm::is_contained(node.outputs, name))
      continue;
    if (!node.isLive)
      return "no output of the model needs the node";
    return llvm::all_of(node.outputs, isConstant) ? "the node makes a constant, which is a part of what uses it" : "the node has been simplified away";
  }
  return isConstant(name) ? "it is a constant, which is a part of what uses it" : "";
}

/// The input that --loss adds to the model; empty if there is none.
std::string findLossInput(const DriverOptions &options) {
  auto spec = Spec::parse(options.loss);
  if (spec)
    return spec->getText(spec->name == "cross-entropy" ? "labels" : "target");
  llvm::consumeError(spec.takeError()); // the name of an output
  return "";
}
} // namespace

LogicalResult para::checkParameterNames(func::FuncOp main, const ModelOutline &outline, const DriverOptions &options) {
  llvm::SmallVector<StringRef> parameters;
  for (unsigned index = 0; index < main.getNumArguments(); ++index)
    if (getArgKind(main, index) == "parameter")
      parameters.push_back(getArgName(main, index));
  llvm::SmallVector<StringRef> others(outline.foldedParameters.begin(), outline.foldedParameters.end());
  for (const auto &entry : outline.tensors)
    others.push_back(entry.first());
  llvm::sort(others);
  auto complain = [&](InFlightDiagnostic error, StringRef pattern, const llvm::GlobPattern &glob) {
    error << "no parameter matches '" << pattern << "'";
    const auto *other = llvm::find_if(others, [&](StringRef name) { return glob.match(name) && !explainAbsent(outline, name).empty(); });
    if (other != others.end())
      error << ": of '" << *other << "', " << explainAbsent(outline, *other);
    else if (StringRef meant = findNearest(pattern, parameters); !meant.empty())
      error << ", did you mean '" << meant << "'?";
    error << "; there are: " << llvm::join(parameters, " ");
  };
  // Globs may be for models of several kinds: of those of a flag one has to match, and of the others a note tells. A plain name has to be there.
  auto check = [&](StringRef flag, StringRef text, bool needsMatch) {
    Patterns patterns = llvm::cantFail(Patterns::parse(text)); // read with the flags
    bool matchesAny = !needsMatch || llvm::any_of(parameters, [&](StringRef name) { return patterns.match(name); }), failed = false;
    for (const std::string &pattern : patterns.getTexts()) {
      auto glob = llvm::cantFail(llvm::GlobPattern::create(pattern));
      if (llvm::any_of(parameters, [&](StringRef name) { return glob.match(name); }))
        continue;
      if (matchesAny && StringRef(pattern).find_first_of("*?[{\\") != StringRef::npos) {
        main.emitRemark() << flag << ": no parameter matches '" << pattern << "'";
        continue;
      }
      complain(main.emitError(), pattern, glob);
      failed = true;
    }
    return failure(failed);
  };
  bool failed = false;
  for (const auto &[flag, texts] : {std::pair(StringRef("--trainable"), &options.trainable), std::pair(StringRef("--freeze"), &options.freeze)})
    if (!texts->empty())
      failed |= mlir::failed(check(flag, llvm::join(*texts, "|"), /*needsMatch=*/true));
  auto optimizer = llvm::cantFail(Spec::parse(options.optimizer)); // read with the flags, too
  if (options.train)
    failed |= mlir::failed(check("--optimizer: no_decay", optimizer.getText("no_decay"), /*needsMatch=*/false));
  return failure(failed);
}

LogicalResult para::checkStages(func::FuncOp main, const ModelOutline &outline, const std::map<std::string, int64_t> &stages, StringRef source) {
  llvm::StringSet<> nodes;
  for (Operation &op : main.getBody().front().without_terminator())
    nodes.insert(getNodeName(op.getLoc()));
  bool failed = false;
  for (const auto &[node, stage] : stages) {
    if (nodes.contains(node))
      continue;
    std::string why = explainAbsent(outline, node);
    main.emitError() << source << " puts '" << node << "' on stage " << stage << ", but the model has no such node"
                     << (why.empty() ? ": the plan is of another model" : " in its program: " + why);
    failed = true;
  }
  return failure(failed);
}

LogicalResult para::checkShards(func::FuncOp main, const ModelOutline &outline, const DriverOptions &options, const std::map<std::string, std::string> &shards,
                                StringRef source) {
  NamedValues values(main);
  std::string added = findLossInput(options);
  llvm::DenseMap<Value, std::pair<std::string, Constraint>> asked; // under which of its names
  bool failed = false;
  for (const auto &[name, text] : shards) {
    Value value = values.find(name);
    bool isOwn = bool(value);
    bool mayBeState = options.train || source != "--shard"; // plan files have states' cuts, and may be of training
    if (Value owner = values.find(StringRef(name).rsplit('/').first); !value && mayBeState && isa_and_nonnull<BlockArgument>(owner))
      value = owner; // whose state it will be, of the same shape
    if (!value && name == added)
      continue;
    if (!value) {
      InFlightDiagnostic error = main.emitError() << source << " " << name << ": the model has no parameter, input or node of that name";
      if (std::string why = explainAbsent(outline, name); !why.empty())
        error << " in its program: " << why;
      else if (std::string meant = values.findNearest(name); !meant.empty())
        error << "; did you mean '" << meant << "'?";
      failed = true;
      continue;
    }
    Constraint constraint = llvm::cantFail(parseConstraint(text)); // read with the flags, or with the file
    if (llvm::Error error = constraint.check(cast<RankedTensorType>(value.getType()))) {
      main.emitError() << source << " " << name << "=" << text << ": " << llvm::toString(std::move(error));
      failed = true;
    }
    if (!isOwn)
      continue;
    auto [it, isNew] = asked.try_emplace(value, name, constraint);
    if (!isNew && it->second.second != constraint) {
      main.emitError() << source << " '" << name << "=" << text << "' is of the same value as '" << it->second.first
                       << "', of which another cut is asked for: leave one of them out";
      failed = true;
    }
  }
  return failure(failed);
}
