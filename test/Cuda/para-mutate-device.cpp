//===- para-mutate-device.cpp - Breaks device programs in one place --------===//
//
//   para-mutate-device PROGRAM.mlirbc --list            a line for each mutation: number, kind, what is done
//   para-mutate-device PROGRAM.mlirbc --apply=7 -o exe  the program with the mutation, for a rehearsal
//   para-mutate-device PROGRAM.mlirbc --apply=7 --order how many pairs of calls it no longer puts in order
//
// The program is what `para-opt --target=rehearsal --emit=lower -o PROGRAM.mlirbc` writes. Without --apply it is compiled as it is. Exit
// status 3: the checks of the emit stage refuse the mutant.
//
//===----------------------------------------------------------------------===//
#include "Order.h"

#include "para/Emit/Emit.h"
#include "para/IR/ParaDialect.h"
#include "para/IR/Program.h"
#include "para/Lower/Rt.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/JSON.h"

#include <functional>

using namespace mlir;
using namespace para;

static llvm::cl::opt<std::string> input(llvm::cl::Positional, llvm::cl::Required, llvm::cl::desc("<program.mlirbc>"));
static llvm::cl::opt<bool> list("list", llvm::cl::desc("tell the mutations"));
static llvm::cl::opt<int> apply("apply", llvm::cl::init(-1), llvm::cl::desc("the mutation to make"));
static llvm::cl::opt<bool> order("order", llvm::cl::desc("tell what is no longer in order"));
static llvm::cl::opt<std::string> output("o", llvm::cl::desc("the executable"));

namespace {
struct Mutation {
  std::string kind, what;
  std::function<void()> make;
};

class Finder {
public:
  explicit Finder(ModuleOp module) : b(module.getContext()) {
    module.walk([&](rt::SegmentOp segment) {
      for (Operation &op : segment.getBody().front())
        visit(segment, &op);
    });
    module.walk([&](func::CallOp call) {
      StringRef callee = call.getCallee();
      if (callee == "para_gpu_barrier" || callee == "para_gpu_group_barrier")
        mutations.push_back({"barrier dropped", (call->getParentOfType<func::FuncOp>().getName() + " " + callee).str(), [=] { call->erase(); }});
    });
  }
  std::vector<Mutation> mutations;

private:
  static bool isCollective(Operation *op) { return isa<rt::AllReduceOp, rt::AllGatherOp, rt::ReduceScatterOp, rt::AllToAllOp>(op); }
  static bool isMessage(Operation *op) { return isa<rt::SendOp, rt::RecvOp>(op); }
  static bool isEvent(Operation *op) { return isa<rt::EventRecordOp, rt::EventWaitOp>(op); }
  static int64_t get(Operation *op, StringRef name) { return op->getAttrOfType<IntegerAttr>(name).getInt(); }
  void set(Operation *op, StringRef name, int64_t value) { op->setAttr(name, b.getI64IntegerAttr(value)); }

  static int64_t communicators(rt::SegmentOp segment) {
    auto manifest = llvm::cantFail(llvm::json::parse(segment->getParentOfType<ModuleOp>()->getAttrOfType<StringAttr>("rt.manifest").getValue()));
    return manifest.getAsObject()->getArray("communicators")->size();
  }

  std::string describe(rt::SegmentOp segment, Operation *op) {
    std::string text = segment.getSymName().str() + " " + op->getName().stripDialect().str();
    if (isEvent(op))
      text += " " + std::to_string(get(op, "event"));
    text += " on stream " + std::to_string(get(op, "stream"));
    if (StringRef name = getNodeName(op->getLoc()); !name.empty())
      text += " of " + name.str();
    return text;
  }
  void add(StringRef kind, rt::SegmentOp segment, Operation *op, const std::string &more, std::function<void()> make) {
    mutations.push_back({kind.str(), describe(segment, op) + more, std::move(make)});
  }

  void visit(rt::SegmentOp segment, Operation *op) {
    if (isa<rt::EventRecordOp>(op)) {
      add("record dropped", segment, op, "", [=] { op->erase(); });
      if (Operation *before = op->getPrevNode(); before && !isEvent(before))
        add("record too early", segment, op, ", before the op that it is behind", [=] { op->moveBefore(before); });
    }
    if (isa<rt::EventWaitOp>(op)) {
      add("wait dropped", segment, op, "", [=] { op->erase(); });
      if (Operation *next = op->getNextNode(); next && !isEvent(next))
        add("wait too late", segment, op, ", behind the op that it is before", [=] { op->moveAfter(next); });
    }
    if (isa<rt::WaitOp>(op))
      add("message not waited for", segment, op, "", [=] { op->erase(); });
    int64_t stream = get(op, "stream");
    add("other stream", segment, op, ", on stream " + std::to_string((stream + 1) % 3), [=] { set(op, "stream", (stream + 1) % 3); });
    auto buffers = op->getAttrOfType<ArrayAttr>("buffers").getValue();
    for (auto [i, buffer] : llvm::enumerate(buffers))
      for (int64_t shift : {8, -256, 4096, 1 << 20})
        add("buffer shifted", segment, op, ", buffer " + std::to_string(i) + " by " + std::to_string(shift), [=, i = i] {
          SmallVector<Attribute> changed(buffers);
          auto at = cast<rt::AddressAttr>(changed[i]);
          changed[i] = rt::AddressAttr::get(b.getContext(), at.getOffset() + shift, at.getBlock(), at.getSlot(), at.getRing());
          op->setAttr("buffers", b.getArrayAttr(changed));
        });
    if (isCollective(op)) {
      int64_t count = get(op, "count");
      for (int64_t other : {count - 1, count + 1, 2 * count})
        add("other count", segment, op, ", " + std::to_string(other) + " for " + std::to_string(count), [=] { set(op, "count", other); });
      if (int64_t most = communicators(segment); most > 1)
        add("other communicator", segment, op, "", [=] { set(op, "communicator", (get(op, "communicator") + 1) % most); });
      add("collective dropped", segment, op, "", [=] { op->erase(); });
      if (isa<rt::AllReduceOp, rt::ReduceScatterOp>(op))
        add("other reduction", segment, op, "", [=] { set(op, "reduction", (get(op, "reduction") + 1) % 3); });
    }
    if (isMessage(op)) {
      int64_t bytes = get(op, "bytes");
      add("other count", segment, op, ", " + std::to_string(bytes - 8) + " bytes for " + std::to_string(bytes), [=] { set(op, "bytes", bytes - 8); });
      add("message dropped", segment, op, "", [=] { op->erase(); });
    }
    if (isCollective(op) || isMessage(op))
      for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
        if (isCollective(next) || isMessage(next)) {
          add("order changed", segment, op, ", behind the next one", [=] { op->moveAfter(next); });
          break;
        }
  }
  Builder b;
};
} // namespace

int main(int argc, char **argv) {
  llvm::cl::ParseCommandLineOptions(argc, argv, "breaks device programs in one place\n");
  MLIRContext context;
  context.disableMultithreading();
  context.loadDialect<ParaDialect, rt::RtDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect, vector::VectorDialect, LLVM::LLVMDialect>();
  OwningOpRef<ModuleOp> program = parseSourceFile<ModuleOp>(input, &context);
  if (!program)
    return 1;
  Finder finder(*program);
  if (list) {
    for (auto [i, mutation] : llvm::enumerate(finder.mutations))
      llvm::outs() << i << "\t" << mutation.kind << "\t" << mutation.what << "\n";
    return 0;
  }
  if (apply >= int(finder.mutations.size()))
    return 1;
  auto before = order ? test::findOrder(*program) : std::map<test::Call, std::set<test::Call>>();
  if (apply >= 0)
    finder.mutations[apply].make();
  if (order) {
    auto after = test::findOrder(*program);
    int64_t lost = 0;
    for (auto &[call, earlier] : before)
      if (auto it = after.find(call); it != after.end())
        for (const test::Call &other : earlier)
          lost += after.count(other) && !it->second.count(other);
    llvm::outs() << lost << "\n";
    return 0;
  }
  EmitOptions options;
  options.target = "rehearsal";
  options.output = output;
  options.program = argv[0];
  return failed(emitProgram(*program, options)) ? 3 : 0;
}
