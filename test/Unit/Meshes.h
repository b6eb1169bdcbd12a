//===- Meshes.h - Shardings in few words, for tests ----------------------===//
//
// Example: Meshes m({{"data", 4}}); m.cut("data", /*unit=*/2)
//
//===----------------------------------------------------------------------===//
#ifndef PARA_TEST_UNIT_MESHES_H
#define PARA_TEST_UNIT_MESHES_H

#include "para/IR/Sharding.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"

namespace para {

struct Meshes {
  mlir::MLIRContext context;
  MeshAttr mesh;

  explicit Meshes(std::initializer_list<std::pair<llvm::StringRef, int64_t>> axes) {
    context.loadDialect<ParaDialect>();
    mlir::Builder builder(&context);
    llvm::SmallVector<mlir::Attribute> names;
    llvm::SmallVector<int64_t> sizes;
    for (auto [name, size] : axes) {
      names.push_back(builder.getStringAttr(name));
      sizes.push_back(size);
    }
    mesh = MeshAttr::get(&context, builder.getArrayAttr(names), builder.getDenseI64ArrayAttr(sizes));
  }

  Axis axis(llvm::StringRef name) { return mlir::StringAttr::get(&context, name); }
  DimSharding cut(std::initializer_list<llvm::StringRef> names, int64_t unit = 1, int64_t blocks = 1) {
    DimSharding dim;
    for (llvm::StringRef name : names)
      dim.axes.push_back(axis(name));
    dim.unit = unit;
    dim.blocks = blocks;
    return dim;
  }
  Sharding sharding(std::initializer_list<DimSharding> dims, std::initializer_list<llvm::StringRef> partial = {}) {
    Sharding result;
    result.dims = dims;
    for (llvm::StringRef name : partial)
      result.addPartial(axis(name));
    return result;
  }
  mlir::RankedTensorType tensor(llvm::ArrayRef<int64_t> shape) { return mlir::RankedTensorType::get(shape, mlir::Float32Type::get(&context)); }
};

} // namespace para

#endif
