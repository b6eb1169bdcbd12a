#include "Messages.h"

#include "Kernels.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace para;

void para::priceLabels(const Flat &flat, llvm::ArrayRef<double> prices, std::vector<double> &priced) {
  std::vector<double> before(prices.size() + 1, 0); // sum of the prices of earlier times
  for (size_t t = 0; t < prices.size(); ++t)
    before[t + 1] = before[t] + prices[t];
  priced = flat.costs;
  for (int32_t v = 0; v < flat.size(); ++v)
    for (const Flat::Item &item : flat.getItems(v))
      if (double sum = before[item.end] - before[item.begin]; sum > 0)
        addScaled(&priced[flat.firstLabel[v]], &flat.usages[item.usage], sum, flat.getStride(v));
}

Messages::Messages(const Flat &flat) : flat(flat), priced(flat.costs) {
  int32_t widest = 4;
  for (int32_t v = 0; v < flat.size(); ++v) {
    widest = std::max(widest, flat.getStride(v));
    int64_t later = llvm::count_if(flat.getLinks(v), [&](const Flat::Link &link) { return link.other > v; });
    weights.push_back(1.0 / double(std::max<int64_t>({1, later, int64_t(flat.getLinks(v).size()) - later})));
  }
  scratch.resize(widest);
  add.resize(widest);
  size_t count = 0;
  for (const Flat::Edge &edge : flat.edges) {
    toA.push_back(count);
    toB.push_back(count += flat.getStride(edge.a));
    count += flat.getStride(edge.b);
  }
  messages.assign(count, 0);
  leasts.assign(flat.size(), 0);
}

double *Messages::gather(int32_t v) {
  size_t stride = flat.getStride(v);
  const double *own = &priced[flat.firstLabel[v]];
  std::copy(own, own + stride, scratch.begin());
  for (const Flat::Link &link : flat.getLinks(v))
    addTo(scratch.data(), into(v, link.edge), stride);
  return scratch.data();
}

double Messages::send(int32_t v, const Flat::Link &link, double weight, const double *sum) {
  const double *back = into(v, link.edge);
  double *out = into(link.other, link.edge);
  size_t size = flat.getSize(v), stride = flat.getStride(link.other);
  for (size_t l = 0; l < size; ++l)
    add[l] = weight * sum[l] - back[l];
  minPlus(&flat.cells[link.rows], add.data(), size, stride, out);
  double least = *std::min_element(out, out + flat.getSize(link.other));
  for (size_t k = 0; k < stride; ++k)
    out[k] -= least;
  return least;
}

double Messages::pass(std::vector<double> *beyond) {
  double bound = 0;
  for (int32_t v = 0; v < flat.size(); ++v) {
    double *sum = gather(v);
    for (const Flat::Link &link : flat.getLinks(v))
      if (link.other > v)
        send(v, link, weights[v], sum);
  }
  if (beyond)
    beyond->assign(flat.costs.size(), 0);
  for (int32_t v = flat.size(); v-- > 0;) {
    double *sum = gather(v);
    size_t stride = flat.getStride(v);
    double least = getLeast(sum, stride);
    leasts[v] = least;
    for (size_t l = 0; l < stride; ++l)
      sum[l] -= least;
    if (beyond)
      std::copy(sum, sum + stride, beyond->begin() + flat.firstLabel[v]);
    for (const Flat::Link &link : flat.getLinks(v))
      if (link.other < v)
        leasts[v] += send(v, link, weights[v], sum);
    bound += leasts[v];
  }
  return bound;
}

double Messages::getLargest() const {
  double largest = 0;
  for (double message : messages)
    largest = std::max(largest, std::abs(message));
  for (int32_t v = 0; v < flat.size(); ++v)
    for (int32_t l = 0; l < flat.getSize(v); ++l)
      largest = std::max(largest, priced[flat.firstLabel[v] + l]);
  return largest;
}

void Messages::visitPairs(llvm::ArrayRef<double> beyond, llvm::function_ref<void(int32_t, int32_t, int32_t, double)> visit) const {
  std::vector<double> least, values;
  for (int32_t v = 0; v < flat.size(); ++v)
    for (const Flat::Link &link : flat.getLinks(v)) {
      int32_t u = link.other;
      if (u > v)
        continue;
      // As sent in the pass back: what the message leaves is the pair's own. Chains of edges that lead through u bring what its label costs
      // more; those that lead through v, but not along the edge, what that label does. A chain can be both, so the sum would be no bound.
      const double *back = into(v, link.edge), *mine = &beyond[flat.firstLabel[v]], *theirs = &beyond[flat.firstLabel[u]];
      int32_t rows = flat.getSize(v), columns = flat.getSize(u), stride = flat.getStride(u);
      values.resize(size_t(rows) * columns);
      least.assign(columns, 2 * kNever);
      for (int32_t l = 0; l < rows; ++l)
        for (int32_t k = 0; k < columns; ++k) {
          double value = flat.cells[link.rows + size_t(l) * stride + k] + weights[v] * mine[l] - back[l];
          values[size_t(l) * columns + k] = value;
          least[k] = std::min(least[k], value);
        }
      for (int32_t l = 0; l < rows; ++l)
        for (int32_t k = 0; k < columns; ++k) {
          double more = values[size_t(l) * columns + k] - least[k] + std::max(theirs[k], (1 - weights[v]) * mine[l]);
          if (flat.edges[link.edge].a == v)
            visit(link.edge, l, k, more);
          else
            visit(link.edge, k, l, more);
        }
    }
}

void Messages::getChoices(int32_t v, const Labels &labels, std::vector<double> &sum) const {
  size_t stride = flat.getStride(v);
  sum.resize(stride);
  std::copy_n(&priced[flat.firstLabel[v]], stride, sum.begin());
  for (const Flat::Link &link : flat.getLinks(v))
    addTo(sum.data(), link.other > v ? into(v, link.edge) : &flat.cells[link.columns + size_t(labels[link.other]) * stride], stride);
}

void Messages::decode(Labels &labels) const {
  labels.resize(flat.size());
  std::vector<double> sum;
  for (int32_t v = 0; v < flat.size(); ++v) {
    getChoices(v, labels, sum);
    labels[v] = int32_t(std::min_element(sum.begin(), sum.begin() + flat.getSize(v)) - sum.begin());
  }
}

double Messages::getExpected(int32_t v, const Labels &labels) const {
  double sum = 0;
  for (const Flat::Link &link : flat.getLinks(v))
    if (link.other < v)
      sum += into(link.other, link.edge)[labels[link.other]];
  return sum;
}

void Messages::getSuffixes(std::vector<double> &suffixes) const {
  suffixes.assign(flat.size() + 1, 0);
  for (int32_t v = flat.size(); v-- > 0;)
    suffixes[v] = suffixes[v + 1] + leasts[v];
}
