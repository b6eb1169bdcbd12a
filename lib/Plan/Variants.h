//===- Variants.h - The folded program, cut in the ways that plans ask for -*- C++ -*-===//
//
// Plans that cut a layer alike share one partitioning: `tensor`, `expert`, `context`, rows of a microbatch, sequence parallelism and what is
// asked of values. How many ranks share `data` and `pipeline` changes nothing of it.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LIB_PLAN_VARIANTS_H
#define PARA_LIB_PLAN_VARIANTS_H

#include "para/Plan/Search.h"

#include <set>

namespace para {

struct Variant {
  std::vector<SegmentWork> works;      ///< by segment
  std::vector<SegmentWork> regathered; ///< where what is gathered is not kept, if that is another choice
  std::string fault;                   ///< why it cannot be cut so
};

class Variants {
public:
  /// `segments` and `options` outlive it.
  Variants(mlir::ModuleOp module, llvm::ArrayRef<Segment> segments, const SearchOptions &options);

  /// Partitions the folded program, once.
  const Variant &get(const Plan &plan);
  /// Whether the plan's is there; `anyRows`: or one of other rows.
  bool isKnown(const Plan &plan, bool anyRows) const;

private:
  struct Key {
    int64_t tensor, expert, context, rows;
    bool sequence;
    std::map<std::string, std::string> shards;
    bool operator<(const Key &other) const {
      auto tied = [](const Key &key) { return std::tie(key.tensor, key.expert, key.context, key.sequence, key.shards, key.rows); };
      return tied(*this) < tied(other);
    }
  };
  Key keyOf(const Plan &plan) const;

  mlir::ModuleOp module;
  llvm::ArrayRef<Segment> segments;
  const SearchOptions &options;
  std::set<std::string> present; ///< nodes and values of the folded program
  std::map<Key, Variant> variants;
};

} // namespace para

#endif
