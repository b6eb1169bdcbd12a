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

constexpr llvm::StringLiteral kSent = "sent/rank";

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
                                {kSent.data(), [](const Price &p) { return double(p.bytesSent); }, inBytes}};

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

void printTable(const std::array<ComparedPlan, 2> &plans, llvm::raw_ostream &os) {
  const auto &[first, second] = plans;
  os << "two plans on " << first.machine << (first.machine == second.machine ? "" : " and " + second.machine) << " (predicted)\n";
  size_t width = std::max<size_t>({14, first.name.size() + 2, second.name.size() + 2});
  auto cell = [&](const std::string &text) { os << std::string(width > text.size() ? width - text.size() : 1, ' ') << text; };
  os << std::string(26, ' ');
  cell(first.name);
  cell(second.name);
  cell("difference");
  os << "\n";
  for (const Quantity &quantity : kQuantities) {
    bool isCounted = llvm::any_of(plans, [&](const ComparedPlan &plan) { return plan.price && plan.price->bytesSent > 0; });
    if (llvm::StringRef(quantity.name) == kSent && !isCounted)
      continue;
    os << llvm::formatv("  {0,-24}", quantity.name);
    for (const ComparedPlan &plan : plans)
      cell(plan.price ? quantity.print(quantity.of(*plan.price)) : "-");
    if (first.price && second.price) {
      double difference = quantity.of(*second.price) - quantity.of(*first.price);
      cell((difference < 0 ? "-" : "+") + quantity.print(std::abs(difference)));
    }
    os << "\n";
  }
  for (const ComparedPlan &plan : plans)
    if (!plan.fault.empty())
      os << plan.name << " is out: " << plan.fault << "\n";
}
} // namespace

llvm::Error para::printComparison(std::array<ComparedPlan, 2> plans, llvm::raw_ostream &os, bool json) {
  const auto &[first, second] = plans;
  if (!first.price && !second.price)
    return llvm::createStringError(llvm::inconvertibleErrorCode(), "neither plan can be taken:\n  " + first.name + ": " + first.fault + "\n  " + second.name + ": " + second.fault);
  auto differences = findDifferences(first.plan, second.plan);
  if (json) {
    llvm::json::Array priced;
    for (ComparedPlan &plan : plans) {
      llvm::json::Object entry = std::move(plan.json);
      entry["name"] = plan.name;
      if (!plan.fault.empty())
        entry["fault"] = plan.fault;
      priced.push_back(std::move(entry));
    }
    llvm::json::Object fields;
    for (const auto &[path, left, right] : differences)
      fields[path] = llvm::json::Array{left, right};
    os << llvm::formatv("{0:2}\n", llvm::json::Value(llvm::json::Object{{"plans", std::move(priced)}, {"differences", std::move(fields)}}));
    return llvm::Error::success();
  }
  printTable(plans, os);
  os << (differences.empty() ? "\nthe plans are the same\n" : "\nthe plans differ in\n");
  for (const auto &[path, left, right] : differences)
    os << llvm::formatv("  {0,-24} {1} -> {2}\n", path, left, right);
  for (int i : {0, 1}) {
    bool headed = false;
    for (const std::string &line : plans[i].cuts)
      if (!llvm::is_contained(plans[1 - i].cuts, line)) {
        if (!std::exchange(headed, true))
          os << "only " << plans[i].name << " has\n";
        os << "  " << line << "\n";
      }
  }
  return llvm::Error::success();
}

llvm::Error para::comparePlans(ModuleOp module, const NamedPlan &first, const NamedPlan &second, int64_t batch,
                               llvm::function_ref<Machine(int64_t)> machine, MemoryOracle memory, llvm::raw_ostream &os, bool json) {
  std::array<ComparedPlan, 2> plans;
  for (auto [compared, named] : llvm::zip_equal(plans, std::array<const NamedPlan *, 2>{&first, &second})) {
    Machine runsOn = machine(named->plan.getNumRanks());
    Candidate candidate{named->plan, std::nullopt, ""};
    price(module, candidate, runsOn, memory);
    compared = {named->name, named->plan, candidate.price, candidate.fault, runsOn.name, {}, describe(module, named->plan)};
    if (candidate.price)
      compared.json = std::move(*toJson(candidate, batch, runsOn).getAsObject());
  }
  return printComparison(std::move(plans), os, json);
}
