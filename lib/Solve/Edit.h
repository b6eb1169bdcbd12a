//===- Edit.h - Changes to a model ------------------------------------------===//
//
// What presolve is made of: each keeps the solutions that it says, and the way back from labels to strategies.
//
// Example: Editor editor(model); editor.shrink(alive); editor.foldSingles();
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LIB_SOLVE_EDIT_H
#define PARA_LIB_SOLVE_EDIT_H

#include "Model.h"

#include "llvm/ADT/BitVector.h"

namespace para {

class Editor {
public:
  explicit Editor(Model &model) : model(model) { renew(); }
  /// Looks at the model anew, after another has changed it.
  void renew();

  /// Adds to the edge between two variables, which is made if it is not there.
  void addEdge(int32_t a, int32_t b, std::vector<double> cost);
  void removeEdge(int32_t e);
  /// Keeps, of each variable, the labels that are alive.
  void shrink(llvm::ArrayRef<llvm::BitVector> alive);
  /// The variable's labels become those that `map` names; edges are the caller's business.
  void relabel(int32_t v, llvm::ArrayRef<int32_t> map);
  /// A variable with one label is no choice: its costs go to its neighbours, its usage to the base.
  void foldSingles();
  /// Variables without usage and with at most two neighbours go: what they cost at best becomes a cost of the neighbours. Returns how many.
  size_t eliminate();
  /// Edges whose cost is a sum of one cost for each end go into those. Returns how many.
  size_t dropSeparable();
  /// Makes impossible the labels, and pairs of neighbours' labels, that are over the limit whatever the rest takes. Returns whether there
  /// were any.
  bool dropOverLimit();
  /// Drops labels than which another costs no more, whatever the neighbours take, and uses no more. Returns how many.
  size_t dropDominated();

protected:
  Model &model;
  std::vector<std::vector<int32_t>> members;   ///< nodes of each variable
  std::vector<std::vector<int32_t>> followers; ///< eliminations that look at each variable

private:
  void eliminate(int32_t v);
  void findDominated(int32_t v, llvm::BitVector &alive) const;
};

/// All of these, until there is nothing left to do.
void simplify(Model &model);

/// Keeps of the times those that can bind, and that no other time makes needless; usage is counted above each variable's least. Returns
/// whether there were others.
bool reduceTimes(Model &model);

} // namespace para

#endif
