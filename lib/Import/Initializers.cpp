//===- Initializers.cpp - Parameters, buffers and tables of the model -----===//

#include "Trainable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace para {

/// Tells where the numbers are: `para.source`, or the numbers themselves where the file does not have them in one run.
/// Null after an error.
Attribute OnnxImporter::makeSource(const onnx::TensorProto &tensor, const TensorData *data, int64_t count, Location loc) {
  int64_t bytes = count * (getFileBits(tensor.data_type()) / 8);
  Type fileType = getElementType(tensor.data_type(), context);
  auto source = [&](StringRef name, int64_t offset) {
    return SourceAttr::get(context, builder.getStringAttr(name), offset, bytes, fileType);
  };
  auto wrongSize = [&](int64_t found) {
    emitError(loc) << "has " << found << " bytes of data, but its type and shape need " << bytes;
    return Attribute();
  };
  if (ModelFile::isExternal(tensor)) {
    FailureOr<ModelFile::External> where = file.getExternal(tensor, loc);
    int64_t end;
    if (mlir::failed(where))
      return {};
    if (where->bytes >= 0 && where->bytes != bytes)
      return wrongSize(where->bytes);
    if (llvm::AddOverflow(where->offset, bytes, end))
      return emitError(loc) << "its external data has an impossible offset", Attribute();
    // The file may be absent: such a model can be planned, if not run.
    llvm::SmallString<128> path(file.folder);
    llvm::sys::path::append(path, where->location);
    uint64_t size;
    if (!llvm::sys::fs::file_size(path, size) && size < static_cast<uint64_t>(end))
      return emitError(loc) << "its external data ends at byte " << end << ", but " << where->location << " has " << size << " bytes", Attribute();
    return source(where->location, where->offset);
  }
  if (data)
    return static_cast<int64_t>(data->bytes) == bytes ? Attribute(source(file.name, data->offset)) : wrongSize(data->bytes);
  if (count == 0)
    return source(file.name, 0);
  // As varints or in several runs.
  auto type = RankedTensorType::get(SmallVector<int64_t>(tensor.dims().begin(), tensor.dims().end()), fileType);
  FailureOr<Known> known = file.read(tensor, type, loc);
  if (mlir::failed(known))
    return {};
  SmallVector<Attribute> values;
  std::vector<Scalar> elements = *(*known)->read();
  for (Scalar value : elements)
    values.push_back((*known)->isFloat() ? Attribute(FloatAttr::get(fileType, value.f)) : Attribute(IntegerAttr::get(fileType, value.i)));
  return DenseElementsAttr::get(type, values);
}

ImportValue OnnxImporter::importTensor(const onnx::TensorProto &tensor, const TensorData *data, StringRef name, Location loc) {
  SmallVector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  Type element = elementType(tensor.data_type());
  b.t.loc = loc;
  if (!element)
    return emitError(loc) << "the element type " << getTypeName(tensor.data_type()) << " is not supported", ImportValue();
  if (!b.checkShape(shape))
    return {};
  auto type = RankedTensorType::get(shape, element);
  int64_t count = countElements(shape);
  // Numbers that shape the program are known; large ones are read when it runs.
  constexpr int64_t mostInts = 1 << 16, mostFloats = 1 << 12;
  // A model whose data are elsewhere can still be planned.
  bool absent = false;
  if (ModelFile::isExternal(tensor)) {
    FailureOr<ModelFile::External> where = file.getExternal(tensor, loc);
    if (mlir::failed(where))
      return {};
    llvm::SmallString<128> path(file.folder);
    llvm::sys::path::append(path, where->location);
    absent = !llvm::sys::fs::exists(path);
  }
  if (!absent && count <= (isa<FloatType>(element) ? mostFloats : mostInts)) {
    FailureOr<Known> known = file.read(tensor, type, loc);
    return mlir::failed(known) ? ImportValue() : ImportValue(*known);
  }
  return addTensorArgument(tensor, data, name, type, loc);
}

ImportValue OnnxImporter::addTensorArgument(const onnx::TensorProto &tensor, const TensorData *data, StringRef name, RankedTensorType type, Location loc) {
  if (getFileBits(tensor.data_type()) == 8 && type.getElementTypeBitWidth() == 16)
    return emitError(loc) << "large tables of unsigned integers are not supported", ImportValue();
  Attribute source = makeSource(tensor, data, countElements(type.getShape()), loc);
  if (!source)
    return {};
  BlockArgument argument = addArgument(name, type, "parameter");
  setArgument(argument, isa<SourceAttr>(source) ? "para.source" : "para.value", source);
  return ImportValue(argument);
}

bool OnnxImporter::addInitializers() {
  llvm::StringSet<> needed;
  for (int i = 0; i < graph.node_size(); ++i)
    if (live[i])
      forEachRead(graph.node(i), [&](StringRef name) { needed.insert(name); });
  for (const onnx::ValueInfoProto &output : graph.output())
    needed.insert(output.name());
  for (const onnx::SparseTensorProto &sparse : graph.sparse_initializer())
    if (needed.contains(sparse.values().name())) {
      emitError(locate(sparse.values().name())) << "sparse initializers are not supported";
      ++failures;
    }

  TrainableRule rule(graph, live);
  for (const onnx::TensorProto &tensor : graph.initializer()) {
    StringRef name = tensor.name();
    if (!needed.contains(name))
      continue;
    Location loc = locate(name);
    b.begin(loc);
    Type element = elementType(tensor.data_type());
    SmallVector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
    ImportValue value;
    TrainableRule::Verdict verdict = rule.judge(tensor);
    bool named = options.trainable.contains(name);
    if (element && isa<FloatType>(element) && (named || verdict != TrainableRule::Number)) {
      if (b.checkShape(shape))
        value = addTensorArgument(tensor, file.findData(tensor), name, RankedTensorType::get(shape, element), loc);
      if (value && verdict == TrainableRule::Trainable)
        setArgument(cast<BlockArgument>(value.value), "para.trainable", builder.getUnitAttr());
      if (verdict == TrainableRule::Table && !named)
        emitRemark(loc) << "looks like a table, not a weight; it is not trained (--trainable names it if it should be)";
    } else {
      value = importTensor(tensor, file.findData(tensor), name, loc);
    }
    failures += !value;
    if (!main.values.try_emplace(name, value).second) {
      emitError(loc) << "the initializer is defined twice";
      ++failures;
    }
  }
  if (std::vector<std::string> missing = rule.getFoldedParameters(); !missing.empty()) {
    if (outline)
      outline->foldedParameters = missing;
    InFlightDiagnostic remark = emitRemark(function.getLoc()) << missing.size() << " parameters are not in the file under their names, since the exporter tied or folded them: ";
    llvm::interleaveComma(ArrayRef(missing).take_front(5), remark, [&](const std::string &name) { remark << name; });
    if (missing.size() > 5)
      remark << ", ...";
  }
  return failures == 0;
}

} // namespace para
