//===- Inputs.cpp - Shapes of the inputs, and which dimension is the batch ===//

#include "Importer.h"
#include "para/Support/JsonFile.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace para {

static bool looksLikeBatch(StringRef name) {
  std::string lower = name.lower();
  return lower == "n" || lower == "b" || lower == "bs" || StringRef(lower).contains("batch");
}

bool OnnxImporter::bindInputs() {
  inputShapes.clear();
  batchDims.clear();
  llvm::StringSet<> initializers;
  for (const onnx::TensorProto &tensor : graph.initializer())
    initializers.insert(tensor.name());

  struct Dim {
    std::string symbol; // empty for a fixed one
    int64_t size = -1;
  };
  struct Input {
    const onnx::ValueInfoProto *info;
    SmallVector<Dim> dims;
  };
  SmallVector<Input> inputs;
  bool ok = true;
  for (const onnx::ValueInfoProto &info : graph.input()) {
    if (initializers.contains(info.name()))
      continue;
    Location loc = locate(info.name());
    if (!info.type().has_tensor_type() || !info.type().tensor_type().has_shape()) {
      emitError(loc) << "the input is no tensor of known rank";
      ok = false;
      continue;
    }
    const onnx::TypeProto::Tensor &type = info.type().tensor_type();
    bool isUnsigned = type.elem_type() == onnx::TensorProto::UINT8 || type.elem_type() == onnx::TensorProto::UINT16 ||
                      type.elem_type() == onnx::TensorProto::UINT32;
    if (!getElementType(type.elem_type(), context) || isUnsigned) {
      emitError(loc) << "the input's element type " << getTypeName(type.elem_type()) << " is not supported";
      ok = false;
    }
    Input input{&info, {}};
    for (auto [axis, dim] : llvm::enumerate(type.shape().dim())) {
      Dim entry;
      if (dim.has_dim_value() && dim.dim_value() > 0) {
        entry.size = dim.dim_value();
      } else {
        bool named = dim.has_dim_param() && !dim.dim_param().empty();
        entry.symbol = named ? dim.dim_param() : (info.name() + "." + Twine(axis)).str();
        if (dim.has_dim_value() && dim.dim_value() < 0)
          entry.symbol = (info.name() + "." + Twine(axis)).str();
      }
      input.dims.push_back(entry);
    }
    inputs.push_back(std::move(input));
  }
  if (!ok)
    return false;

  // The batch: a symbol by its name; else the symbol, else the size, that all inputs begin with.
  std::string batchSymbol;
  for (const Input &input : inputs)
    for (const Dim &dim : input.dims)
      if (batchSymbol.empty() && looksLikeBatch(dim.symbol))
        batchSymbol = dim.symbol;
  auto first = llvm::find_if(inputs, [](const Input &input) { return !input.dims.empty(); });
  bool agree = first != inputs.end() && llvm::all_of(inputs, [&](const Input &input) {
    return input.dims.empty() || (input.dims[0].symbol == first->dims[0].symbol && input.dims[0].size == first->dims[0].size);
  });
  if (batchSymbol.empty() && agree)
    batchSymbol = first->dims[0].symbol;
  auto asked = options.dims.find("batch");
  bool fixed = batchSymbol.empty() && agree;

  auto isBatch = [&](size_t axis, const Dim &dim) {
    return fixed ? axis == 0 : !batchSymbol.empty() && dim.symbol == batchSymbol;
  };
  llvm::StringSet<> missing, used;
  for (Input &input : inputs) {
    SmallVector<int64_t> shape;
    for (auto [axis, dim] : llvm::enumerate(input.dims)) {
      int64_t size = dim.size;
      std::string byPlace = (input.info->name() + "." + Twine(axis)).str();
      bool batchDim = isBatch(axis, dim);
      if (batchDim && fixed)
        fileBatch = size;
      auto it = dim.symbol.empty() ? options.dims.end() : options.dims.find(dim.symbol);
      if (it == options.dims.end())
        it = options.dims.find(byPlace);
      if (it == options.dims.end() && batchDim)
        it = asked;
      if (it != options.dims.end()) {
        size = it->second;
        used.insert(it->first());
      }
      if (size <= 0) {
        if (it != options.dims.end())
          emitError(locate(input.info->name())) << "dimension " << axis << " cannot have the size " << size;
        else if (missing.insert(dim.symbol).second)
          emitError(locate(input.info->name())) << "dimension " << axis << " has no size; give it with --dim " << dim.symbol << "=N";
        ok = false;
        size = 1;
      }
      if (batchDim && batchDims.try_emplace(input.info->name(), axis).second)
        batch = size;
      shape.push_back(size);
    }
    inputShapes[input.info->name()] = shape;
  }
  SmallVector<StringRef> asks = llvm::to_vector(options.dims.keys());
  llvm::sort(asks);
  for (StringRef name : asks) {
    if (used.contains(name))
      continue;
    SmallVector<std::string> names;
    for (const Input &input : inputs)
      for (auto [axis, dim] : llvm::enumerate(input.dims))
        if (std::string known = dim.symbol.empty() ? (input.info->name() + "." + Twine(axis)).str() : dim.symbol; !llvm::is_contained(names, known))
          names.push_back(known);
    InFlightDiagnostic error = emitError(UnknownLoc::get(context)) << "--dim " << name << "=" << options.dims.lookup(name) << ": the model has no such dimension; there are";
    for (const std::string &known : names)
      error << " " << known;
    SmallVector<StringRef> known(names.begin(), names.end());
    if (fixed) // by which the flag calls it
      known.push_back("batch");
    if (StringRef meant = findNearest(name, known); !meant.empty())
      error << "; did you mean '" << meant << "'?";
    ok = false;
  }
  return ok;
}

bool OnnxImporter::isRebound() {
  ScopedDiagnosticHandler silent(context, [](Diagnostic &) { return success(); });
  return bindInputs() && fileBatch && *fileBatch != *batch;
}

bool OnnxImporter::addInputs() {
  for (const onnx::ValueInfoProto &info : graph.input()) {
    auto it = inputShapes.find(info.name());
    if (it == inputShapes.end())
      continue;
    b.begin(locate(info.name()));
    if (!b.checkShape(it->second))
      return false;
    auto type = RankedTensorType::get(it->second, elementType(info.type().tensor_type().elem_type()));
    BlockArgument argument = addArgument(info.name(), type, "input");
    if (auto dim = batchDims.find(info.name()); dim != batchDims.end())
      setArgument(argument, "para.batch_dim", builder.getI64IntegerAttr(dim->second));
    if (!main.values.try_emplace(info.name(), ImportValue(argument)).second) {
      emitError(locate(info.name())) << "the input is defined twice";
      return false;
    }
  }
  if (batch)
    function->setAttr("para.batch", builder.getI64IntegerAttr(*batch));
  return true;
}

} // namespace para
