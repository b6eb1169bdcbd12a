//===- Trainable.h - Which initializers are weights ---------------*- C++ -*-===//
#ifndef PARA_LIB_IMPORT_TRAINABLE_H
#define PARA_LIB_IMPORT_TRAINABLE_H

#include "Importer.h"

namespace para {

/// Decides by what the file says (the exporter's graph signature), else by how an initializer is used.
class TrainableRule {
public:
  TrainableRule(const onnx::GraphProto &graph, const std::vector<bool> &live);

  /// Number: a constant, not an argument. Table: looks like data that the model computes with.
  enum Verdict { Trainable, Frozen, Table, Number };
  Verdict judge(const onnx::TensorProto &tensor) const;

  /// Parameters that the signature names but the file does not have.
  std::vector<std::string> getFoldedParameters() const;

private:
  bool isWeightOperand(llvm::StringRef name) const;
  bool isExporterMade(llvm::StringRef name) const;
  bool reachesLoss(llvm::StringRef name) const;
  void readSignature(llvm::StringRef text);

  struct Use {
    const onnx::NodeProto *node;
    int operand;
  };
  const onnx::GraphProto &graph;
  llvm::StringMap<std::vector<Use>> uses;
  /// Names that depend on a float input; and on which float initializer with dimensions.
  llvm::StringSet<> dependsOnFloatInput;
  llvm::StringMap<int> sources; // -1: more than one, else the initializer's number
  llvm::StringMap<std::string> kinds; // by initializer name, as the exporter wrote them
  llvm::StringMap<int> initializerNumber;
  llvm::StringSet<> outputs;
  bool hasSignature = false;
};

} // namespace para

#endif
