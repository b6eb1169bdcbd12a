//===- Messages.h - Sequential reweighted message passing -------------------===//
//
// Lower bounds of a model's cost, and labels that nearly reach them: V. Kolmogorov, "Convergent tree-reweighted message passing for
// energy minimization" (TPAMI 2006). Usage enters as a cost of labels.
//
// Example: Messages messages(flat); messages.setPrices(prices); double bound = messages.pass();
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LIB_SOLVE_MESSAGES_H
#define PARA_LIB_SOLVE_MESSAGES_H

#include "Flat.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace para {

/// By label at firstLabel: cost, and usage at `prices` (by time, of a unit of usage).
void priceLabels(const Flat &flat, llvm::ArrayRef<double> prices, std::vector<double> &priced);

class Messages {
public:
  explicit Messages(const Flat &flat);

  void setPrices(llvm::ArrayRef<double> prices) { priceLabels(flat, prices, priced); }

  /// Adds to the costs of labels.
  void perturb(llvm::ArrayRef<double> more) {
    for (size_t i = 0; i < priced.size(); ++i)
      priced[i] += more[i];
  }

  /// One pass forth and back over all variables; returns a lower bound of the cost at the prices (without the base cost). In `beyond`,
  /// where given, is by label how much more than the bound of the pass before, with the same prices, a solution costs that takes the label.
  double pass(std::vector<double> *beyond = nullptr);
  /// Given what such a pass found, calls visit(edge, label of a, label of b, more) for each pair of labels of an edge: how much more than
  /// the bound a solution costs that takes both.
  void visitPairs(llvm::ArrayRef<double> beyond, llvm::function_ref<void(int32_t, int32_t, int32_t, double)> visit) const;
  /// Labels by the messages, each given those before it.
  void decode(Labels &labels) const;
  /// By label of `v`: what it costs with the earlier variables' labels, and the messages from later ones.
  void getChoices(int32_t v, const Labels &labels, std::vector<double> &sum) const;
  /// The messages from `v` to earlier variables' labels.
  double getExpected(int32_t v, const Labels &labels) const;
  /// By variable: what it and those after it add at least to the choices of those before, as of the last pass.
  void getSuffixes(std::vector<double> &suffixes) const;
  /// The largest magnitude of a number that bounds are made of.
  double getLargest() const;

private:
  double *gather(int32_t v);
  double send(int32_t v, const Flat::Link &link, double weight, const double *sum);
  double *into(int32_t v, int32_t e) { return messages.data() + (flat.edges[e].a == v ? toA[e] : toB[e]); }
  const double *into(int32_t v, int32_t e) const { return messages.data() + (flat.edges[e].a == v ? toA[e] : toB[e]); }

  const Flat &flat;
  std::vector<double> priced, messages, scratch, add, weights;
  std::vector<double> leasts;   ///< by variable: what the last pass back took out there
  std::vector<size_t> toA, toB; ///< where the messages of edges to their ends are
};

} // namespace para

#endif
