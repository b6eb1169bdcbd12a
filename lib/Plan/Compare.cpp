#include "Candidate.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace para;

namespace {
using Fields = std::map<std::string, std::string>;

/// The plan's JSON with one entry a number or text: "mesh.data" is "4".
void flatten(const llvm::json::Value &value, const std::string &path, Fields &fields) {
  if (const llvm::json::Object *object = value.getAsObject())
    for (const auto &[key, entry] : *object)
      flatten(entry, path.empty() ? llvm::StringRef(key).str() : path + "." + llvm::StringRef(key).str(), fields);
  else if (auto text = value.getAsString())
    fields[path] = text->str();
  else
    fields[path] = llvm::formatv("{0}", value).str();
}

/// Field, first value, second value; "-" where a plan does not have the field.
std::vector<std::array<std::string, 3>> findDifferences(const Plan &first, const Plan &second) {
  Fields a, b;
  flatten(first.toJson(), "", a);
  flatten(second.toJson(), "", b);
  std::vector<std::array<std::string, 3>> differences;
  Fields all = a;
  all.insert(b.begin(), b.end());
  for (const auto &[path, value] : all) {
    std::string left = a.count(path) ? a[path] : "-", right = b.count(path) ? b[path] : "-";
    if (left != right)
      differences.push_back({path, left, right});
  }
  return differences;
}

double peakOf(const Price &price) { return double(*llvm::max_element(price.peakBytes)); }
double stateOf(const Price &price) { return double(*llvm::max_element(price.stateBytes)); }

struct Quantity {
  const char *name;
  double (*of)(const Price &);
  std::string (*print)(double);
};
const Quantity kQuantities[] = {{"step", [](const Price &p) { return p.secondsPerStep; }, inSeconds},
                                {"  compute", [](const Price &p) { return p.computeSeconds; }, inSeconds},
                                {"  communication", [](const Price &p) { return p.exposedSeconds; }, inSeconds},
                                {"  waiting", [](const Price &p) { return p.bubbleSeconds; }, inSeconds},
                                {"memory/rank", peakOf, inBytes},
                                {"  parameters and state", stateOf, inBytes},
                                {"sent/rank", [](const Price &p) { return double(p.bytesSent); }, inBytes}};

/// How the program is cut under a plan, in the model's names.
std::vector<std::string> describe(ModuleOp module, const Plan &plan) {
  OwningOpRef<ModuleOp> copy = module.clone();
  auto main = copy->lookupSymbol<func::FuncOp>("main");
  ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); }); // the price has said it
  std::string text;
  llvm::raw_string_ostream os(text);
  if (succeeded(applyPlan(main, plan)))
    describePlan(main, os);
  SmallVector<StringRef> lines;
  StringRef(text).split(lines, '\n', -1, /*KeepEmpty=*/false);
  std::vector<std::string> result;
  for (StringRef line : lines)
    if (!line.ends_with(":"))
      result.push_back(line.trim().str());
  return result;
}

void printTable(const Candidate *plans[2], const std::string names[2], const std::string machines[2], llvm::raw_ostream &os) {
  std::string where = machines[0] == machines[1] ? machines[0] : machines[0] + " and " + machines[1];
  os << "two plans on " << where << " (predicted)\n";
  size_t width = std::max<size_t>({14, names[0].size() + 2, names[1].size() + 2});
  auto cell = [&](const std::string &text) { os << std::string(width > text.size() ? width - text.size() : 1, ' ') << text; };
  os << std::string(26, ' ');
  cell(names[0]);
  cell(names[1]);
  cell("difference");
  os << "\n";
  for (const Quantity &quantity : kQuantities) {
    os << llvm::formatv("  {0,-24}", quantity.name);
    for (int i : {0, 1})
      cell(plans[i]->price ? quantity.print(quantity.of(*plans[i]->price)) : "-");
    if (plans[0]->price && plans[1]->price) {
      double difference = quantity.of(*plans[1]->price) - quantity.of(*plans[0]->price);
      cell((difference < 0 ? "-" : "+") + quantity.print(std::abs(difference)));
    }
    os << "\n";
  }
  for (int i : {0, 1})
    if (!plans[i]->fault.empty())
      os << names[i] << " is out: " << plans[i]->fault << "\n";
}
} // namespace

llvm::Error para::comparePlans(ModuleOp module, const NamedPlan &first, const NamedPlan &second, int64_t batch,
                               llvm::function_ref<Machine(int64_t)> machine, MemoryOracle memory, llvm::raw_ostream &os, bool json) {
  Candidate candidates[2] = {{first.plan, std::nullopt, ""}, {second.plan, std::nullopt, ""}};
  const Candidate *plans[2] = {&candidates[0], &candidates[1]};
  const std::string names[2] = {first.name, second.name};
  std::vector<Machine> machines;
  for (Candidate &candidate : candidates) {
    machines.push_back(machine(candidate.plan.getNumRanks()));
    price(module, candidate, machines.back(), memory);
  }
  if (!candidates[0].price && !candidates[1].price)
    return llvm::createStringError(llvm::inconvertibleErrorCode(), "neither plan can be taken:\n  " + names[0] + ": " + candidates[0].fault + "\n  " + names[1] + ": " + candidates[1].fault);
  auto differences = findDifferences(first.plan, second.plan);
  if (json) {
    llvm::json::Array priced;
    for (int i : {0, 1}) {
      llvm::json::Object entry;
      if (candidates[i].price)
        entry = std::move(*toJson(candidates[i], batch, machines[i]).getAsObject());
      entry["name"] = names[i];
      if (!candidates[i].fault.empty())
        entry["fault"] = candidates[i].fault;
      priced.push_back(std::move(entry));
    }
    llvm::json::Object fields;
    for (const auto &[path, left, right] : differences)
      fields[path] = llvm::json::Array{left, right};
    os << llvm::formatv("{0:2}\n", llvm::json::Value(llvm::json::Object{{"plans", std::move(priced)}, {"differences", std::move(fields)}}));
    return llvm::Error::success();
  }
  std::string places[2] = {machines[0].name, machines[1].name};
  printTable(plans, names, places, os);
  os << (differences.empty() ? "\nthe plans are the same\n" : "\nthe plans differ in\n");
  for (const auto &[path, left, right] : differences)
    os << llvm::formatv("  {0,-24} {1} -> {2}\n", path, left, right);
  std::vector<std::string> cuts[2] = {describe(module, first.plan), describe(module, second.plan)};
  for (int i : {0, 1}) {
    bool headed = false;
    for (const std::string &line : cuts[i])
      if (!llvm::is_contained(cuts[1 - i], line)) {
        if (!std::exchange(headed, true))
          os << "only " << names[i] << " has\n";
        os << "  " << line << "\n";
      }
  }
  return llvm::Error::success();
}
