#include "para/Cost/Execution.h"
#include "para/Support/JsonFile.h"
#include "para/Support/Spec.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace para;

using E = Execution;

static const Field<E> kFields[] = {
    {"kernel_seconds", &E::kernelSeconds, 0, 1, "seconds", "of the host, each kernel forward"},
    {"gradient_seconds", &E::gradientSeconds, 0, 1, "seconds", "of the host, each kernel backward"},
    {"message_seconds", &E::messageSeconds, 0, 1, "seconds", "of the host, each collective"},
    {"pass_seconds", &E::passSeconds, 0, 1, "seconds", "of the host, each pass of a stage"},
    {"blocks_on_launches", &E::blocksOnLaunches, 0, 1, "0 or 1", "the host waits for each kernel"},
    {"gradient_overlap", &E::gradientOverlap, 0, 1, "share", "of the reduction of gradients that runs beside backward passes"},
    {"gather_overlap", &E::gatherOverlap, 0, 1, "share", "of the gathering of a layer's parameters that runs beside the layer before"},
    {"traffic_overlap", &E::trafficOverlap, 0, 1, "share", "of collectives within a layer that run beside its compute"},
    {"exchange_overlap", &E::exchangeOverlap, 0, 1, "share", "likewise of rows that are exchanged among experts"},
    {"sends_once", &E::sendsOnce, 0, 1, "0 or 1", "of a row for several experts of a block of ranks one copy enters the block"},
    {"join_seconds", &E::joinSeconds, 0, 1, "seconds", "of a collective within a layer, until its last rank has come to it"},
    {"slowdown", &E::slowdown, 1, 10, "", "of collectives within a step, against one alone"},
    {"contention", &E::contention, 0, 1, "seconds/second", "of compute lost for communication beside it"},
    {"blocks_on_sends", &E::blocksOnSends, 0, 1, "0 or 1", "a stage computes nothing while it sends"},
    {"loss_bytes", &E::lossBytes, 0, 1000, "bytes", "moved for each element of what the loss is made of; 0: one kernel each way"},
    {"loss_kept", &E::lossKept, 0, 100, "bytes", "likewise kept for the pass backward"},
    {"loss_temporary", &E::lossTemporary, 0, 100, "bytes", "likewise there at most, besides"},
    {"attention", &E::attention, 0.01, 1, "share", "of the rate of the best fused attention"},
    {"rescales", &E::rescales, 0, 1, "0 or 1", "operands of 8 bits are scaled by their own greatest: a pass more over each, no cast is fused"},
    {"accumulates", &E::accumulates, 0, 1, "0 or 1", "gradients of a microbatch are added up by kernels of their own"},
    {"regathers", &E::regathers, 0, 1, "0 or 1", "what is gathered for products is gathered again in the pass backward"},
    {"layers_again", &E::layersAgain, 0, 1, "share", "of the layers that full recomputation computes again"},
    {"streams_again", &E::streamsAgain, 0, 1, "0 or 1", "selective recomputation keeps the results of products and attention alone"},
    {"products_again", &E::productsAgain, 0, 1, "share", "then, of a layer's products that it computes again"},
    {"attention_again", &E::attentionAgain, 0, 1, "share", "then, of attention that it computes again"},
    {"dropout", &E::dropout, 0, 1, "0 or 1", "of attention scores and before residual sums"},
    {"update_passes", &E::updatePasses, 0, 1000, "bytes", "moved for each parameter besides the optimizer"},
    {"allocates", &E::allocates, 0, 1, "0 or 1", "memory is taken and given back as passes run: chunks of a stage share it"},
    {"workspace_bytes", &E::workspaceBytes, 0, 1e11, "bytes", "that libraries have taken besides what any of them does"},
    {"held_boundaries", &E::heldBoundaries, 0, 100, "tensors", "of the size that a chunk of a pipeline's stage receives, referred to between steps"},
    {"held_bytes", &E::heldBytes, 0, 1e11, "bytes", "of each chunk of a pipeline's stage, referred to between steps besides"},
    {"context_bytes", &E::contextBytes, 0, 1e11, "bytes", "of the vendor's libraries, outside the allocator"},
    {"fragmentation", &E::fragmentation, 0, 1, "share", "of what is allocated that the allocator loses"},
};

/// A program without an interpreter: kernels are enqueued well ahead.
static E makeCompiled() { return E(); }

/// PyTorch, op by op: the host starts every kernel; autograd runs the pass backward.
static E makeEager() {
  E e;
  e.kind = "eager";
  e.kernelSeconds = 107e-6; // with the interpreter's part; fit-runs, as what follows
  e.gradientSeconds = 33e-6;
  e.messageSeconds = 18e-6;
  e.joinSeconds = 195e-6;
  e.updatePasses = 12; // unscaling, the norm, gradients of the masters' type
  e.accumulates = 1;
  e.allocates = 1;
  e.regathers = 1;
  // A cross-entropy of halves: cast (6), log-softmax (8); backward of it and of the choice (16 and more), cast (6).
  e.lossBytes = 36, e.lossKept = 4, e.lossTemporary = 10;
  return e;
}

llvm::ArrayRef<llvm::StringRef> Execution::getKinds() {
  static const llvm::StringRef kinds[] = {"compiled", "eager"};
  return kinds;
}

llvm::ArrayRef<Field<Execution>> Execution::getFields() { return kFields; }

static llvm::Error fail(const llvm::Twine &message) { return llvm::createStringError(llvm::inconvertibleErrorCode(), message); }

static std::string toText(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", number);
  return text;
}

llvm::Expected<Execution> Execution::get(llvm::StringRef spec) {
  auto parsed = Spec::parse(spec);
  if (!parsed)
    return parsed.takeError();
  Execution execution;
  if (parsed->name == "compiled")
    execution = makeCompiled();
  else if (parsed->name == "eager")
    execution = makeEager();
  else
    return fail("'" + parsed->name + "' is none of " + llvm::join(getKinds(), ", "));
  for (const auto &[key, text] : parsed->values) {
    const auto *field = llvm::find_if(kFields, [&, key = key](const Field<E> &field) { return key == field.key; });
    if (field == std::end(kFields)) {
      llvm::SmallVector<llvm::StringRef> keys;
      for (const Field<E> &each : kFields)
        keys.push_back(each.key);
      llvm::StringRef meant = findNearest(key, keys);
      return fail("'" + key + "' is none of " + llvm::join(keys, ", ") + (meant.empty() ? "" : "; did you mean '" + meant.str() + "'?"));
    }
    double value = 0;
    bool isNumber = !llvm::StringRef(text).getAsDouble(value) && value >= field->least && value <= field->most;
    if (field->isSwitch() && (!isNumber || (value != 0 && value != 1)))
      return fail("'" + key + "=" + text + "': 0 or 1 is needed");
    if (!isNumber)
      return fail("'" + key + "=" + text + "': a number from " + toText(field->least) + " to " + toText(field->most) + " is needed");
    execution.*field->member = value;
  }
  return execution;
}
