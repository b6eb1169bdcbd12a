//===- Flat.h - A model laid out for speed --------------------------------===//
//
// The variables that a model has left, numbered from 0, with all labels, tables and usages in a few arrays.
//
// Labels are padded to a multiple of four, with labels that are never taken, so that loops over them need no remainder.
//
// Example: Flat flat(model); flat.getModelLabels(labels) leads back.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LIB_SOLVE_FLAT_H
#define PARA_LIB_SOLVE_FLAT_H

#include "Model.h"

namespace para {

struct Flat {
  struct Item {
    int32_t begin, end; ///< times
    size_t usage;       ///< where its usage by label begins in `usages`
  };
  struct Link {
    int32_t other, edge;
    size_t rows;    ///< where the costs by this variable's label, then the other's, begin in `cells`
    size_t columns; ///< the same transposed
  };
  struct Edge {
    int32_t a, b;
    int32_t name; ///< the model's edge
  };

  explicit Flat(const Model &model);

  int32_t size() const { return int32_t(names.size()); }
  int32_t getSize(int32_t v) const { return sizes[v]; }
  /// The size with padding.
  int32_t getStride(int32_t v) const { return int32_t(firstLabel[v + 1] - firstLabel[v]); }
  int32_t getTimes() const { return int32_t(base.size()); }
  llvm::ArrayRef<double> getCosts(int32_t v) const { return {&costs[firstLabel[v]], size_t(getSize(v))}; }
  llvm::ArrayRef<Item> getItems(int32_t v) const { return {items.data() + firstItem[v], size_t(firstItem[v + 1] - firstItem[v])}; }
  llvm::ArrayRef<Link> getLinks(int32_t v) const { return {links.data() + firstLink[v], size_t(firstLink[v + 1] - firstLink[v])}; }

  double getCost(const Labels &labels) const;
  std::vector<double> getUsage(const Labels &labels) const;
  Labels getModelLabels(const Labels &labels) const;

  std::vector<int32_t> names; ///< the model's variables
  std::vector<int32_t> sizes;
  std::vector<size_t> firstLabel;
  std::vector<double> costs;
  std::vector<int32_t> firstItem, firstLink;
  std::vector<Item> items;
  std::vector<Link> links;
  std::vector<Edge> edges;
  std::vector<double> usages, cells;
  std::vector<double> base; ///< by time, what is used whatever is chosen
  double baseCost = 0, limit = 0;
  size_t modelSize = 0;

private:
  void layItems(const Model &model);
  void layEdges(const Model &model);
};

} // namespace para

#endif
