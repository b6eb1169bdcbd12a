#include "CompareRuns.h"

#include "core/Shard.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"

#include <cmath>
#include <limits>

using namespace para;
using namespace para::runtime;

namespace {
/// Gradients below this part of the whole gradient's norm have few digits that rounding leaves alone.
constexpr double clearPart = 1e-5;
constexpr double infinity = std::numeric_limits<double>::infinity();

llvm::Error fail(const llvm::Twine &message) { return llvm::createStringError(llvm::inconvertibleErrorCode(), message); }

std::vector<double> toDoubles(const Array &array) {
  std::vector<double> values(size_t(array.elements()));
  convertElements(array.dtype, array.data, PARA_F64, values.data(), array.elements());
  return values;
}

double getLargest(const std::vector<double> &values) {
  double largest = 0;
  for (double value : values)
    if (std::isfinite(value))
      largest = std::max(largest, std::fabs(value));
  return largest;
}

double getRelative(double here, double serial, double scale) {
  if (here == serial || (std::isnan(here) && std::isnan(serial)))
    return 0;
  double error = std::fabs(here - serial);
  return std::isfinite(error) && scale > 0 ? error / scale : infinity;
}

/// A tensor of both runs. Steps compute forwards, then gradients from the last layer on, then updates, then the next step.
struct Pair {
  enum Phase { FirstLoss, Output, Gradient, Parameter, State, LaterLoss } phase;
  int64_t order; ///< within the phase
  std::string text;
  const Array *here, *serial;
  const Tensor *tensor = nullptr; ///< of the manifest
  std::string owner;              ///< parameter that it belongs to
};

class RunComparer {
public:
  RunComparer(const Manifest &manifest, const RunResult &here, const RunResult &serial, double bound)
      : manifest(manifest), here(here), serial(serial), bound(bound) {
    double sum = 0;
    for (const auto &[name, array] : serial.gradients)
      for (double value : gradients[name] = toDoubles(array))
        sum += value * value;
    norm = std::sqrt(sum);
    for (size_t i = 0; i < manifest.parameters.size(); ++i)
      order[manifest.parameters[i].name] = int64_t(i);
  }

  llvm::Expected<RunComparison> run() {
    if (here.losses.size() != serial.losses.size())
      return fail("the runs have " + llvm::Twine(here.losses.size()) + " and " + llvm::Twine(serial.losses.size()) + " steps");
    for (double loss : serial.losses)
      if (!std::isfinite(loss))
        return fail("the loss of the serial program is no number");
    if (llvm::Error error = checkNames(here.gradients, serial.gradients, "gradient "))
      return std::move(error);
    if (llvm::Error error = checkNames(here.state, serial.state, ""))
      return std::move(error);
    std::vector<Pair> pairs = collect();
    llvm::stable_sort(pairs, [](const Pair &a, const Pair &b) { return std::pair(a.phase, a.order) < std::pair(b.phase, b.order); });
    if (!serial.losses.empty())
      compareLoss(0);
    for (const Pair &pair : pairs)
      if (llvm::Error error = compare(pair))
        return std::move(error);
    for (size_t step = 1; step < serial.losses.size(); ++step)
      compareLoss(step);
    return std::move(result);
  }

private:
  static llvm::Error checkNames(const ArrayMap &mine, const ArrayMap &theirs, llvm::StringRef what) {
    for (const auto &[name, array] : mine)
      if (auto it = theirs.find(name); it == theirs.end() || it->second.shape != array.shape)
        return fail("the " + what + "'" + name + "' is " + array.typeText() + (it == theirs.end() ? ", and the serial program has none" : ", and " + it->second.typeText() + " in the serial program"));
    for (const auto &[name, array] : theirs)
      if (!mine.count(name))
        return fail("the serial program has the " + what + "'" + name + "', which the plan's lacks");
    return llvm::Error::success();
  }

  /// As the runtime writes them into a file: where several stages have one, the primary.
  const Tensor *findTensor(const std::string &name, bool isGradient) const {
    const Tensor *found = nullptr;
    for (const Stage &stage : manifest.stages)
      for (const Tensor &tensor : stage.tensors) {
        bool isKept = isGradient ? tensor.kind == TensorKind::Gradient : llvm::is_contained({TensorKind::Parameter, TensorKind::State, TensorKind::Output}, tensor.kind);
        if (isKept && tensor.name == name && (!found || (tensor.primary && !found->primary)))
          found = &tensor;
      }
    return found;
  }

  std::vector<Pair> collect() const {
    std::vector<Pair> pairs;
    int64_t last = int64_t(order.size());
    auto orderOf = [&](const std::string &name) { return order.count(name) ? order.at(name) : last; };
    for (const auto &[name, array] : serial.gradients)
      pairs.push_back({Pair::Gradient, last - orderOf(name), "the gradient of '" + name + "'", &here.gradients.at(name), &array, findTensor(name, true), name});
    for (const auto &[name, array] : serial.state) {
      const Tensor *tensor = findTensor(name, false);
      TensorKind kind = tensor ? tensor->kind : TensorKind::Output;
      if (kind == TensorKind::Parameter && !manifest.isTraining())
        continue; // nothing has changed it
      std::string owner = name.substr(0, order.count(name) ? std::string::npos : name.rfind('/'));
      Pair::Phase phase = kind == TensorKind::Output ? Pair::Output : kind == TensorKind::Parameter ? Pair::Parameter : Pair::State;
      bool isLast = phase == Pair::Output && manifest.isTraining(); // what it holds then is the last step's
      std::string text = (phase == Pair::Output ? "the output '" : phase == Pair::Parameter ? "the parameter '" : "the state '") + name + "'";
      pairs.push_back({isLast ? Pair::LaterLoss : phase, orderOf(owner), text, &here.state.at(name), &array, tensor, phase == Pair::Output ? "" : owner});
    }
    return pairs;
  }

  void compareLoss(size_t step) {
    Difference difference{"the loss of step " + std::to_string(step + 1), {}, "", here.losses[step], serial.losses[step], 0};
    difference.relative = getRelative(difference.here, difference.serial, std::fabs(difference.serial));
    ++result.losses;
    note(difference, bound);
  }

  llvm::Error compare(const Pair &pair) {
    std::vector<double> mine = toDoubles(*pair.here), theirs = toDoubles(*pair.serial);
    count(pair);
    if (pair.phase == Pair::Output && llvm::any_of(theirs, [](double value) { return std::isnan(value); }))
      return fail(pair.text + " of the serial program has elements that are no numbers");
    auto gradient = gradients.find(pair.owner);
    bool hasGradient = gradient != gradients.end() && pair.serial->shape == serial.gradients.at(pair.owner).shape;
    double scale = getLargest(theirs);
    Difference worst{pair.text, {}, "", 0, 0, 0};
    int64_t at = 0;
    for (size_t i = 0; i < theirs.size(); ++i) {
      bool isSmall = hasGradient && std::fabs(gradient->second[i]) <= clearPart * norm, isGradient = pair.phase == Pair::Gradient;
      double looseness = isSmall && !isGradient ? getLooseness(pair, i, std::fabs(gradient->second[i])) : 0;
      if (looseness >= 1) {
        result.noise += pair.phase == Pair::Parameter;
        continue;
      }
      double relative = getRelative(mine[i], theirs[i], isSmall && isGradient ? norm : scale);
      if (relative > looseness && relative > worst.relative) {
        worst.relative = relative;
        at = int64_t(i);
      }
    }
    if (worst.relative > 0) {
      worst.here = mine[size_t(at)];
      worst.serial = theirs[size_t(at)];
      worst.element = getIndex(pair.serial->shape, at);
      if (pair.tensor)
        worst.holder = findHolder(*pair.tensor, worst.element);
    }
    note(worst, isFloat(pair.serial->dtype) ? bound : 0);
    return llvm::Error::success();
  }

  /// How far what is made of a small gradient may be apart, in parts of the largest element: as far as the gradient itself may be by its own
  /// measure, beside the norm. At 1 nothing is asked.
  double getLooseness(const Pair &pair, size_t index, double gradient) const {
    constexpr double ofSquares = 4; // states are squares, and sums of some steps
    if (gradient > 0)
      return std::min(1.0, ofSquares * bound * norm / gradient);
    return pair.phase == Pair::Parameter && isUntouched(pair, index) ? 0 : 1;
  }

  /// Whether an element of a parameter has had no gradient in any step, as rows of a table that no input uses: then its states are zeros. An optimizer without states is linear: it makes
  /// no more of noise than that.
  bool isUntouched(const Pair &parameter, size_t index) const {
    std::string prefix = parameter.owner + "/";
    for (auto it = serial.state.lower_bound(prefix); it != serial.state.end() && llvm::StringRef(it->first).starts_with(prefix); ++it) {
      if (it->second.shape != parameter.serial->shape)
        continue;
      for (const Array *array : {&it->second, &here.state.at(it->first)})
        if (loadScalar(array->dtype, array->data + int64_t(index) * elementBytes(array->dtype)) != 0)
          return false;
    }
    return true;
  }

  void count(const Pair &pair) {
    ++(pair.phase == Pair::Gradient ? result.gradients : pair.phase == Pair::Parameter ? result.parameters : pair.phase == Pair::State ? result.states : result.outputs);
  }

  void note(const Difference &difference, double allowed) {
    if (difference.relative >= result.worst.relative)
      result.worst = difference;
    if (difference.relative <= allowed)
      return;
    ++result.numDiffering;
    if (!result.first)
      result.first = difference;
  }

  static std::vector<int64_t> getIndex(const std::vector<int64_t> &shape, int64_t at) {
    std::vector<int64_t> index(shape.size());
    for (size_t d = shape.size(); d-- > 0; at /= shape[d])
      index[d] = at % shape[d];
    return index;
  }

  /// The rank from which the element comes, of the ranks that the tensor is cut over, or of the stages that do not all have it.
  std::string findHolder(const Tensor &tensor, const std::vector<int64_t> &element) const {
    int64_t stage = 0;
    while (&tensor < manifest.stages[size_t(stage)].tensors.data() || &tensor >= manifest.stages[size_t(stage)].tensors.data() + manifest.stages[size_t(stage)].tensors.size())
      ++stage;
    bool isCut = manifest.stages.size() > 1 || llvm::any_of(tensor.dims, [](const auto &axes) { return !axes.empty(); });
    for (int64_t rank = 0; isCut && rank < manifest.ranks(); ++rank) {
      if (manifest.stageOf(rank) != stage || !isFirstReplica(manifest, tensor, rank))
        continue;
      for (int64_t block = 0; block < tensor.stacked; ++block)
        for (const Box &box : shardBoxes(manifest, tensor, manifest.coordinates(rank), block)) {
          bool isInside = true;
          for (size_t d = 0; d < element.size(); ++d)
            isInside &= element[d] >= box.begin[d] && element[d] < box.begin[d] + box.size[d];
          if (isInside)
            return "rank " + std::to_string(rank);
        }
    }
    return "";
  }

  const Manifest &manifest;
  const RunResult &here, &serial;
  double bound, norm = 0;
  std::map<std::string, std::vector<double>> gradients; ///< of the serial run
  std::map<std::string, int64_t> order;                 ///< of parameters in the model
  RunComparison result;
};
} // namespace

llvm::Error RunResult::readLosses(llvm::StringRef metrics) {
  llvm::SmallVector<llvm::StringRef> lines;
  metrics.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) {
    auto record = llvm::json::parse(line);
    if (!record)
      return record.takeError();
    const llvm::json::Object *object = record->getAsObject();
    auto loss = object ? object->getNumber("loss") : std::nullopt;
    losses.push_back(loss.value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  return llvm::Error::success();
}

llvm::Expected<RunComparison> para::compareRuns(const Manifest &manifest, const RunResult &here, const RunResult &serial, double bound) {
  return RunComparer(manifest, here, serial, bound).run();
}
