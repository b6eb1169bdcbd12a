#include "ImportModel.h"

#include "para/IR/Program.h"
#include "para/Support/Spec.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace para;

/// The 16-bit type of the model's parameters, as --precision names it; empty if they are not of one.
static std::string getNarrowType(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  for (BlockArgument argument : main.getArguments())
    if (Type type = getElementTypeOrSelf(argument.getType()); getArgKind(main, argument.getArgNumber()) == "parameter" && (type.isBF16() || type.isF16()))
      return type.isBF16() ? "bf16" : "f16";
  return "";
}

llvm::Expected<OwningOpRef<ModuleOp>> para::importModel(DriverOptions &options, MLIRContext *context, ModelOutline *outline) {
  ImportOptions import;
  for (auto &[name, size] : options.dims)
    import.dims[name] = size;
  import.precision = llvm::StringSwitch<Precision>(options.precision).Case("f32", Precision::F32).Case("f64", Precision::F64)
                         .Case("bf16", Precision::BF16).Case("f16", Precision::F16).Default(Precision::Model);
  import.train = options.train;
  import.readsAnnotations = !options.ignoreAnnotations;
  for (const std::string &text : options.trainable) {
    auto patterns = Patterns::parse(text);
    if (!patterns)
      return patterns.takeError();
    for (const std::string &name : patterns->getTexts())
      import.trainable.insert(name);
  }
  auto imported = importOnnx(options.input, import, context, outline);
  if (succeeded(imported) && options.train && options.precision.empty())
    if (std::string own = getNarrowType(**imported); !own.empty()) {
      options.precision = own;
      import.precision = Precision::F32;
      *outline = ModelOutline();
      imported = importOnnx(options.input, import, context, outline);
    }
  if (failed(imported))
    return OwningOpRef<ModuleOp>();
  if (options.isGiven("--loss-scale") && options.precision != "f16")
    return llvm::createStringError(llvm::inconvertibleErrorCode(), options.show("--loss-scale") + ": only f16 needs a loss scale, and the model is not of it (--precision=f16)");
  return std::move(*imported);
}
