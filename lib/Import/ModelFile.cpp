#include "ModelFile.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace para;

unsigned para::getFileBits(int32_t type) {
  switch (type) {
  case onnx::TensorProto::BOOL:
  case onnx::TensorProto::INT8:
  case onnx::TensorProto::UINT8:
    return 8;
  case onnx::TensorProto::INT16:
  case onnx::TensorProto::UINT16:
  case onnx::TensorProto::FLOAT16:
  case onnx::TensorProto::BFLOAT16:
    return 16;
  case onnx::TensorProto::INT32:
  case onnx::TensorProto::UINT32:
  case onnx::TensorProto::FLOAT:
    return 32;
  case onnx::TensorProto::INT64:
  case onnx::TensorProto::UINT64:
  case onnx::TensorProto::DOUBLE:
    return 64;
  default:
    return 0;
  }
}

StringRef para::getTypeName(int32_t type) {
  return onnx::TensorProto::DataType_IsValid(type)
             ? StringRef(onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(type)))
             : StringRef("unknown");
}

FailureOr<std::unique_ptr<ModelFile>> ModelFile::open(StringRef path, MLIRContext *context) {
  Location loc = FileLineColLoc::get(context, path, 0, 0);
  bool isFolder = false;
  if (!llvm::sys::fs::is_directory(path, isFolder) && isFolder)
    return emitError(loc) << "is a folder, not an ONNX model", failure();
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return emitError(loc) << "cannot read the model: " << buffer.getError().message(), failure();
  auto file = std::make_unique<ModelFile>();
  file->buffer = std::move(*buffer);
  file->folder = llvm::sys::path::parent_path(path).str();
  file->name = llvm::sys::path::filename(path).str();
  file->stem = llvm::sys::path::stem(path).str();

  StringRef bytes = file->buffer->getBuffer();
  if (bytes.size() > INT32_MAX)
    return emitError(loc) << "is larger than 2 GiB, which an ONNX file cannot be; keep weights in external data", failure();
  google::protobuf::io::ArrayInputStream array(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream stream(&array);
  stream.SetTotalBytesLimit(INT32_MAX);
  stream.SetRecursionLimit(100);
  if (!file->model.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage())
    return emitError(loc) << "is no ONNX model (the encoding is broken or cut short)", failure();
  if (!file->model.has_graph())
    return emitError(loc) << "is no ONNX model (it has no graph)", failure();

  // Keep an offset only if reading back gives what the decoder found.
  const onnx::GraphProto &graph = file->model.graph();
  auto keep = [&](const onnx::TensorProto &tensor, TensorData at) {
    StringRef there = bytes.substr(at.offset, at.bytes);
    auto equals = [&](const void *data, size_t size) { return there == StringRef(static_cast<const char *>(data), size); };
    if ((tensor.has_raw_data() && equals(tensor.raw_data().data(), tensor.raw_data().size())) ||
        (tensor.float_data_size() && equals(tensor.float_data().data(), tensor.float_data_size() * sizeof(float))) ||
        (tensor.double_data_size() && equals(tensor.double_data().data(), tensor.double_data_size() * sizeof(double))))
      file->data[&tensor] = at;
  };
  scanTensors(bytes, [&](int initializer, int node, int attribute, TensorData at) {
    if (initializer >= 0 && initializer < graph.initializer_size())
      keep(graph.initializer(initializer), at);
    else if (node >= 0 && node < graph.node_size() && attribute < graph.node(node).attribute_size() &&
             graph.node(node).attribute(attribute).has_t())
      keep(graph.node(node).attribute(attribute).t(), at);
  });
  return std::move(file);
}

const TensorData *ModelFile::findData(const onnx::TensorProto &tensor) const {
  auto it = data.find(&tensor);
  return it == data.end() ? nullptr : &it->second;
}

FailureOr<ModelFile::External> ModelFile::getExternal(const onnx::TensorProto &tensor, Location loc) const {
  External result;
  for (const onnx::StringStringEntryProto &entry : tensor.external_data()) {
    int64_t *number = entry.key() == "offset" ? &result.offset : entry.key() == "length" ? &result.bytes : nullptr;
    if (entry.key() == "location")
      result.location = entry.value();
    else if (number && (StringRef(entry.value()).getAsInteger(10, *number) || *number < 0))
      return emitError(loc) << "the " << entry.key() << " of its external data is no number", failure();
  }
  StringRef location = result.location;
  bool inside = !location.empty() && !llvm::sys::path::is_absolute(location) && !location.contains('\0');
  for (auto it = llvm::sys::path::begin(location), end = llvm::sys::path::end(location); inside && it != end; ++it)
    inside = *it != "..";
  if (!inside)
    return emitError(loc) << "its external data is not in the model's folder", failure();
  return result;
}

static Scalar readNumber(const char *p, int32_t type) {
  using namespace llvm::support::endian;
  auto half = [&](const llvm::fltSemantics &semantics) {
    APFloat value(semantics, APInt(16, read16le(p)));
    bool lost;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
    return Scalar::ofFloat(value.convertToDouble());
  };
  switch (type) {
  case onnx::TensorProto::BOOL:
    return Scalar::ofInt(*p != 0);
  case onnx::TensorProto::INT8:
    return Scalar::ofInt(static_cast<int8_t>(*p));
  case onnx::TensorProto::UINT8:
    return Scalar::ofInt(static_cast<uint8_t>(*p));
  case onnx::TensorProto::INT16:
    return Scalar::ofInt(static_cast<int16_t>(read16le(p)));
  case onnx::TensorProto::UINT16:
    return Scalar::ofInt(read16le(p));
  case onnx::TensorProto::INT32:
    return Scalar::ofInt(static_cast<int32_t>(read32le(p)));
  case onnx::TensorProto::UINT32:
    return Scalar::ofInt(read32le(p));
  case onnx::TensorProto::FLOAT:
    return Scalar::ofFloat(llvm::bit_cast<float>(read32le(p)));
  case onnx::TensorProto::DOUBLE:
    return Scalar::ofFloat(llvm::bit_cast<double>(read64le(p)));
  case onnx::TensorProto::FLOAT16:
    return half(APFloat::IEEEhalf());
  case onnx::TensorProto::BFLOAT16:
    return half(APFloat::BFloat());
  default:
    return Scalar::ofInt(static_cast<int64_t>(read64le(p)));
  }
}

FailureOr<Known> ModelFile::read(const onnx::TensorProto &tensor, RankedTensorType type, Location loc) const {
  int64_t count = countElements(type.getShape());
  int32_t from = tensor.data_type();
  int64_t size = getFileBits(from) / 8;
  if (count > KnownTensor::kLimit)
    return emitError(loc) << "has too many elements for a constant", failure();
  auto wrongCount = [&](int64_t found) {
    return emitError(loc) << "has data for " << found << " elements, but its shape has " << count, failure();
  };
  std::vector<Scalar> values;
  bool toFloat = isa<FloatType>(type.getElementType());
  bool fromFloat = from == onnx::TensorProto::FLOAT || from == onnx::TensorProto::DOUBLE || from == onnx::TensorProto::FLOAT16 ||
                   from == onnx::TensorProto::BFLOAT16;
  assert(toFloat == fromFloat && "a tensor keeps its kind");
  auto add = [&](Scalar value) { values.push_back(roundTo(type.getElementType(), value)); };
  (void)toFloat;

  std::unique_ptr<llvm::MemoryBuffer> outside;
  std::optional<StringRef> raw;
  if (isExternal(tensor)) {
    FailureOr<External> where = getExternal(tensor, loc);
    if (failed(where))
      return failure();
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, where->location);
    auto slice = llvm::MemoryBuffer::getFileSlice(path, count * size, where->offset);
    if (!slice)
      return emitError(loc) << "cannot read its external data " << where->location << ": " << slice.getError().message(), failure();
    outside = std::move(*slice);
    raw = outside->getBuffer();
  } else if (tensor.has_raw_data()) {
    raw = tensor.raw_data();
  }
  if (raw) {
    if (static_cast<int64_t>(raw->size()) != count * size)
      return wrongCount(raw->size() / size);
    for (int64_t i = 0; i < count; ++i)
      add(readNumber(raw->data() + i * size, from));
  } else if (from == onnx::TensorProto::FLOAT) {
    for (float value : tensor.float_data())
      add(Scalar::ofFloat(value));
  } else if (from == onnx::TensorProto::DOUBLE) {
    for (double value : tensor.double_data())
      add(Scalar::ofFloat(value));
  } else if (from == onnx::TensorProto::INT64) {
    for (int64_t value : tensor.int64_data())
      add(Scalar::ofInt(value));
  } else if (from == onnx::TensorProto::UINT32 || from == onnx::TensorProto::UINT64) {
    for (uint64_t value : tensor.uint64_data())
      add(Scalar::ofInt(static_cast<int64_t>(value)));
  } else {
    for (int32_t value : tensor.int32_data()) {
      char two[2] = {static_cast<char>(value), static_cast<char>(value >> 8)};
      add(fromFloat ? readNumber(two, from) : Scalar::ofInt(from == onnx::TensorProto::BOOL ? value != 0 : value));
    }
  }
  if (static_cast<int64_t>(values.size()) != count)
    return wrongCount(values.size());
  return KnownTensor::create(type, std::move(values));
}
