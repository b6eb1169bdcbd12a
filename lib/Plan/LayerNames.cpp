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

/// The blocks with which these paths begin and end; one block, if most of them are in it.
std::pair<std::string, std::string> findBlocks(ArrayRef<StringRef> paths) {
  llvm::MapVector<StringRef, size_t> blocks;
  for (StringRef path : paths)
    ++blocks[getBlock(path).ltrim('/')];
  if (blocks.empty())
    return {};
  auto most = llvm::max_element(blocks, [](const auto &a, const auto &b) { return a.second < b.second; });
  if (most->second * 10 >= paths.size() * 6)
    return {most->first.str(), most->first.str()};
  return {blocks.front().first.str(), blocks.back().first.str()};
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
      auto [begin, end] = findBlocks(modules.empty() ? all : modules);
      if (begin.empty())
        begin = end = "layer " + std::to_string(names.size());
      names.push_back({begin, end, all.empty() ? "" : all.front().str(), all.empty() ? "" : all.back().str()});
    }
  return names;
}

std::string para::nameRow(const LayerName &first, const LayerName &last) {
  StringRef begin = first.begin, end = last.end;
  if (begin == end)
    return first.begin;
  // What both paths begin with is said once; the part before the end's number stays with it.
  size_t same = std::mismatch(begin.begin(), begin.begin() + std::min(begin.size(), end.size()), end.begin()).first - begin.begin();
  size_t cut = end.take_front(same).find_last_of(separators);
  if (cut != StringRef::npos && isNumber(end.drop_front(cut + 1)))
    cut = end.take_front(cut).find_last_of(separators);
  return (begin + " … " + (cut == StringRef::npos ? end : end.drop_front(cut + 1))).str();
}
