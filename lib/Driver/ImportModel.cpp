#include "ImportModel.h"

#include "para/IR/Program.h"
#include "para/Interfaces/Precision.h"
#include "para/Support/Spec.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace para;

FloatType para::getParameterType(func::FuncOp main) {
  FloatType found;
  for (BlockArgument argument : main.getArguments()) {
    auto tensor = cast<RankedTensorType>(argument.getType());
    auto type = dyn_cast<FloatType>(tensor.getElementType());
    if (!type || tensor.getRank() == 0 || getArgKind(main, argument.getArgNumber()) != "parameter")
      continue;
    if (found && found != type)
      return {};
    found = type;
  }
  return found;
}

static llvm::Expected<ImportOptions> getImportOptions(const DriverOptions &options) {
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
  return import;
}

OwningOpRef<ModuleOp> para::importInF32(const DriverOptions &options, MLIRContext *context) {
  auto import = getImportOptions(options);
  if (!import) {
    llvm::consumeError(import.takeError()); // reported when the model itself was imported
    return {};
  }
  import->precision = Precision::F32;
  ScopedDiagnosticHandler quiet(context, [](Diagnostic &) { return success(); });
  ModelOutline outline;
  auto imported = importOnnx(options.input, *import, context, &outline);
  return succeeded(imported) ? std::move(*imported) : OwningOpRef<ModuleOp>();
}

llvm::Expected<OwningOpRef<ModuleOp>> para::importModel(DriverOptions &options, MLIRContext *context, ModelOutline *outline) {
  auto import = getImportOptions(options);
  if (!import)
    return import.takeError();
  auto imported = importOnnx(options.input, *import, context, outline);
  if (succeeded(imported) && options.train && options.precision.empty()) // a model of several types is trained without a loss scale
    if (FloatType own = getParameterType((*imported)->lookupSymbol<func::FuncOp>("main")); own && isNarrow(own)) {
      options.precision = own.isBF16() ? "bf16" : "f16";
      options.hasOwnPrecision = true;
    }
  if (failed(imported))
    return OwningOpRef<ModuleOp>();
  if (options.isGiven("--loss-scale") && options.precision != "f16")
    return llvm::createStringError(llvm::inconvertibleErrorCode(), options.show("--loss-scale") + ": only f16 needs a loss scale, and the model is not of it (--precision=f16)");
  return std::move(*imported);
}
