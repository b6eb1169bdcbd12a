#include "para/Plan/LayerNames.h"
#include "para/IR/Program.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace para;

namespace {
constexpr const char *separators = "./";

bool isNumber(StringRef text) { return !text.empty() && llvm::all_of(text, llvm::isDigit); }

/// The path down to its first number: "model.layers.3" of "model.layers.3.mlp.up_proj"; all of a path without numbers.
StringRef getBlock(StringRef path) {
  for (size_t from = 0; from < path.size();) {
    size_t end = std::min(path.find_first_of(separators, from), path.size());
    if (isNumber(path.slice(from, end)))
      return path.take_front(end);
    from = end + 1;
  }
  return path;
}

/// One name for what uses these, each a module's path: the block that most of them are in, or from the first to the last.
std::string join(ArrayRef<StringRef> paths) {
  llvm::MapVector<StringRef, size_t> blocks;
  for (StringRef path : paths)
    ++blocks[getBlock(path)];
  if (blocks.empty())
    return "";
  auto most = llvm::max_element(blocks, [](const auto &a, const auto &b) { return a.second < b.second; });
  if (most->second * 10 >= paths.size() * 6)
    return most->first.ltrim('/').str();
  return blocks.front().first.ltrim('/').str() + " … " + blocks.back().first.ltrim('/').str();
}
} // namespace

NodeParameters para::getNodeParameters(func::FuncOp main) {
  NodeParameters parameters;
  for (Operation &op : main.getBody().front().without_terminator())
    for (Value operand : op.getOperands())
      if (auto argument = dyn_cast<BlockArgument>(operand); argument && getArgKind(main, argument.getArgNumber()) == "parameter")
        parameters[getNodeName(op.getLoc()).str()].push_back(getArgName(main, argument.getArgNumber()).str());
  return parameters;
}

std::vector<LayerName> para::nameLayers(ArrayRef<Segment> segments, const NodeParameters &parameters) {
  std::vector<LayerName> names;
  for (const Segment &segment : segments)
    for (int64_t part = 0; part < segment.repeat; ++part) {
      const std::vector<std::string> &nodes = part < int64_t(segment.members.size()) ? segment.members[part] : segment.nodes;
      SmallVector<StringRef> modules, all;
      for (const std::string &node : nodes) {
        if (!node.empty())
          all.push_back(node);
        if (auto it = parameters.find(node); it != parameters.end())
          for (StringRef parameter : it->second)
            if (size_t end = parameter.find_last_of(separators); end != StringRef::npos && end > 0)
              modules.push_back(parameter.take_front(end));
      }
      LayerName name{join(modules.empty() ? all : modules), all.empty() ? "" : all.front().str(), all.empty() ? "" : all.back().str()};
      if (name.name.empty())
        name.name = "layer " + std::to_string(names.size());
      names.push_back(std::move(name));
    }
  return names;
}

std::string para::nameRow(const std::string &first, const std::string &last) { return first == last ? first : first + " to " + last; }
