//===- para-cost.cpp - The cost model on lines of JSON --------------------===//
#include "para/Cost/Collective.h"
#include "para/Cost/Kernel.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

#include <iostream>

using namespace para;

namespace {
llvm::Error fail(const llvm::Twine &message) { return llvm::createStringError(llvm::inconvertibleErrorCode(), message); }

/// Answers one line after the other; keeps machines, and constants that are set until they are set anew.
class Server {
public:
  llvm::Expected<llvm::json::Object> answer(llvm::StringRef line) {
    auto value = llvm::json::parse(line);
    if (!value)
      return value.takeError();
    const llvm::json::Object *request = value->getAsObject();
    if (!request)
      return fail("a request is a JSON object");
    if (const llvm::json::Object *given = request->getObject("set"))
      return set(*given);
    auto machine = getMachine(*request);
    if (!machine)
      return machine.takeError();
    if (request->get("collective"))
      return priceCollective(*request, **machine);
    if (request->get("kernel"))
      return priceKernel(*request, **machine);
    return (*machine)->toJson();
  }

private:
  llvm::Expected<llvm::json::Object> set(const llvm::json::Object &given) {
    llvm::StringMap<llvm::StringMap<double>> constants;
    for (const auto &[kind, values] : given) {
      const llvm::json::Object *object = values.getAsObject();
      bool isDevice = findDeviceKind(kind);
      if (!object || (!isDevice && !findNetworkKind(kind)))
        return fail("no kind is called '" + llvm::StringRef(kind) + "'");
      for (const auto &[key, value] : *object) {
        llvm::StringRef name = key;
        bool known = isDevice ? llvm::any_of(getKernelFields(), [&](auto &field) { return name == field.key; })
                              : llvm::any_of(getNetworkFields(), [&](auto &field) { return name == field.key; });
        if (!known || !value.getAsNumber())
          return fail("'" + llvm::StringRef(kind) + "' has no constant '" + name + "', or it is no number");
        constants[kind][name] = *value.getAsNumber();
      }
    }
    overrides = std::move(constants);
    machines.clear();
    return llvm::json::Object{{"set", int64_t(overrides.size())}};
  }

  template <typename T> void apply(llvm::StringRef kind, llvm::ArrayRef<Field<T>> fields, T &constants) {
    auto it = overrides.find(kind);
    if (it == overrides.end())
      return;
    for (const Field<T> &field : fields)
      if (auto value = it->second.find(field.key); value != it->second.end())
        constants.*field.member = value->second;
  }

  llvm::Expected<const Machine *> getMachine(const llvm::json::Object &request) {
    const llvm::json::Value *spec = request.get("machine");
    if (!spec)
      return fail("a request needs a 'machine': a preset, a file or an object");
    std::string key = llvm::formatv("{0}", *spec).str();
    if (auto it = machines.find(key); it != machines.end())
      return &it->second;
    auto machine = spec->getAsString() ? Machine::get(*spec->getAsString()) : Machine::fromJson(*spec);
    if (!machine)
      return machine.takeError();
    for (DeviceClass &devices : machine->classes) {
      apply<KernelConstants>(devices.device.kind, getKernelFields(), devices.device.constants);
      for (Level &level : devices.levels)
        apply<NetworkConstants>(level.kind, getNetworkFields(), level.constants);
    }
    return &(machines[key] = std::move(*machine));
  }

  static llvm::Expected<llvm::json::Object> priceCollective(const llvm::json::Object &request, const Machine &machine) {
    auto kind = parseCollectiveKind(request.getString("collective").value_or(""));
    auto bytes = request.getNumber("bytes");
    int64_t ranks = request.getInteger("ranks").value_or(machine.getNumRanks()), stride = request.getInteger("stride").value_or(1);
    if (!kind || !bytes || !(*bytes >= 0) || ranks < 1 || stride < 1 || ranks > machine.getNumRanks() / stride)
      return fail("a collective needs a kind, bytes, and ranks by a stride that the machine has");
    return llvm::json::Object{{"seconds", collectiveSeconds(machine, *kind, *bytes, ranks, stride)},
                              {"sent_bytes", sentBytes(*kind, *bytes, ranks)}};
  }

  static llvm::Expected<llvm::json::Object> priceKernel(const llvm::json::Object &request, const Machine &machine) {
    auto kind = llvm::StringSwitch<std::optional<Kernel::Kind>>(request.getString("kernel").value_or(""))
                    .Case("product", Kernel::Product)
                    .Case("attention", Kernel::Attention)
                    .Case("convolution", Kernel::Convolution)
                    .Case("streaming", Kernel::Streaming)
                    .Default(std::nullopt);
    auto type = parseCostType(request.getString("type").value_or("f32"));
    int64_t rank = request.getInteger("rank").value_or(0);
    if (!kind || !type || rank < 0 || rank >= machine.getNumRanks())
      return fail("a kernel is a product, attention, convolution or streaming, of a type, on a rank of the machine");
    Kernel kernel;
    if (*kind == Kernel::Product)
      kernel = Kernel::product(*type, request.getInteger("m").value_or(0), request.getInteger("n").value_or(0),
                               request.getInteger("k").value_or(0), request.getInteger("batch").value_or(1));
    kernel.kind = *kind;
    kernel.type = *type;
    kernel.batch = request.getInteger("batch").value_or(1);
    kernel.m = request.getInteger("m").value_or(0);
    kernel.n = request.getInteger("n").value_or(0);
    kernel.k = request.getInteger("k").value_or(0);
    kernel.flops = request.getNumber("flops").value_or(kernel.flops);
    kernel.bytes = request.getNumber("bytes").value_or(kernel.bytes);
    return llvm::json::Object{{"seconds", kernelSeconds(machine.getDevice(rank), kernel)}};
  }

  llvm::StringMap<llvm::StringMap<double>> overrides;
  llvm::StringMap<Machine> machines;
};

template <typename Kind, typename T> void printKinds(llvm::ArrayRef<Kind> kinds, llvm::ArrayRef<Field<T>> fields) {
  for (const Kind &kind : kinds) {
    llvm::outs() << kind.name << " (" << kind.source << ")\n";
    for (const Field<T> &field : fields)
      llvm::outs() << llvm::formatv("  {0,-24} {1,-12} {2}: {3}\n", field.key,
                                    llvm::formatv("{0}", llvm::json::Value(kind.constants.*field.member)).str(), field.unit, field.meaning);
  }
}
} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::OptionCategory category("para-cost");
  llvm::cl::opt<bool> constants("constants",
                                llvm::cl::desc("print the constants of all kinds of devices and links, with units and sources"),
                                llvm::cl::cat(category));
  llvm::cl::HideUnrelatedOptions(category);
  llvm::cl::ParseCommandLineOptions(
      argc, argv,
      "Answers each line of standard input, a JSON object, with one of its own: what the cost model says.\n"
      "  {\"machine\": \"a100-80:2\"}                                                            the machine\n"
      "  {\"machine\": .., \"collective\": \"all_reduce\", \"bytes\": 1e9, \"ranks\": 8, \"stride\": 2}  seconds, sent_bytes\n"
      "  {\"machine\": .., \"kernel\": \"product\", \"type\": \"bf16\", \"m\": 4096, \"n\": 4096, \"k\": 64}  seconds\n"
      "  {\"set\": {\"nvlink3\": {\"simple_fraction\": 0.8}}}                                      other constants from here on\n"
      "Exit status: 0, or 1 if a line was at fault; its answer is {\"error\": ..}.\n");
  if (constants) {
    printKinds(getDeviceKinds(), getKernelFields());
    printKinds(getNetworkKinds(), getNetworkFields());
    return 0;
  }
  Server server;
  int status = 0;
  for (std::string line; std::getline(std::cin, line);) {
    auto answer = server.answer(line);
    llvm::json::Object object;
    if (answer)
      object = std::move(*answer);
    else
      object["error"] = llvm::toString(answer.takeError()), status = 1;
    llvm::outs() << llvm::formatv("{0}\n", llvm::json::Value(std::move(object)));
    llvm::outs().flush();
  }
  return status;
}
