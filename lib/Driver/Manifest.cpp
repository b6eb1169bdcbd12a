#include "ImportModel.h"
#include "Values.h"

#include "para/Driver/Compile.h"
#include "para/IR/Program.h"
#include "para/Support/Spec.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace para;

namespace {
std::string nameOf(Type type) {
  if (type.isInteger(1))
    return "bool";
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

llvm::json::Object describe(llvm::StringRef name, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return llvm::json::Object{{"name", name}, {"type", nameOf(tensor.getElementType())}, {"shape", llvm::json::Array(tensor.getShape())}};
}
} // namespace

llvm::Expected<llvm::json::Object> para::describeProgram(ModuleOp module, const DriverOptions &options, const Plan &plan) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  llvm::SmallString<256> directory(llvm::sys::path::parent_path(options.input));
  if (std::error_code error = llvm::sys::fs::make_absolute(directory))
    return llvm::errorCodeToError(error);
  auto schedule = describeSchedule(options.lrSchedule);
  if (!schedule)
    return schedule.takeError(); // checked with the flags
  llvm::json::Array inputs, outputs, parameters, hyper;
  std::string precision = options.precision;
  if (FloatType own = getParameterType(main); own && precision.empty())
    precision = nameOf(own);
  for (unsigned index = 0; index < main.getNumArguments(); ++index) {
    StringRef kind = getArgKind(main, index), name = getArgName(main, index);
    Type type = main.getArgument(index).getType();
    if (kind == "input")
      inputs.push_back(describe(name, type));
    if (kind == "hyper")
      hyper.push_back(llvm::json::Object{{"name", name}, {"value", main.getArgAttrOfType<FloatAttr>(index, "para.default").getValueAsDouble()}});
    if (kind != "parameter")
      continue;
    llvm::json::Object parameter = describe(name, type);
    parameter["trainable"] = bool(main.getArgAttr(index, "para.trainable"));
    parameters.push_back(std::move(parameter));
  }
  for (unsigned index = 0; index < main.getNumResults(); ++index)
    if (getResultKind(main, index) == "output")
      outputs.push_back(describe(getResultName(main, index), main.getResultTypes()[index]));
  auto batch = main->getAttrOfType<IntegerAttr>("para.batch");
  auto optimizer = main->getAttrOfType<StringAttr>("para.optimizer");
  return llvm::json::Object{{"mode", options.train ? "train" : "infer"},
                            {"directory", directory.str().str()},
                            {"precision", precision.empty() ? "f32" : precision},
                            {"batch", batch ? batch.getInt() : 1},
                            {"optimizer", optimizer ? optimizer.getValue() : ""},
                            {"hyper", std::move(hyper)},
                            {"schedule", std::move(*schedule)},
                            {"inputs", std::move(inputs)},
                            {"outputs", std::move(outputs)},
                            {"parameters", std::move(parameters)},
                            {"plan", plan.toJson()}};
}
