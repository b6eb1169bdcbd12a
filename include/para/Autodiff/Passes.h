//===- Passes.h - The autodiff stage: forward to training step ---*- C++ -*-===//
//
// Example: AutodiffOptions options; options.optimizer = "sgd:lr=0.1"; buildAutodiffPipeline(pm, options);
//
//===----------------------------------------------------------------------===//
#ifndef PARA_AUTODIFF_PASSES_H
#define PARA_AUTODIFF_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"

namespace para {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "para/Autodiff/Passes.h.inc"

struct AutodiffOptions : mlir::PassPipelineOptions<AutodiffOptions> {
  Option<bool> train{*this, "train", llvm::cl::desc("derive the training step"), llvm::cl::init(false)};
  Option<std::string> loss{*this, "loss", llvm::cl::desc("the loss")};
  Option<std::string> optimizer{*this, "optimizer", llvm::cl::desc("NAME:key=value,..."), llvm::cl::init("adamw")};
  Option<double> clipNorm{*this, "clip-norm", llvm::cl::desc("bound of the global gradient norm"), llvm::cl::init(0)};
  Option<double> clipValue{*this, "clip-value", llvm::cl::desc("bound of each gradient element"), llvm::cl::init(0)};
  ListOption<std::string> trainable{*this, "trainable", llvm::cl::desc("globs of parameters to train")};
  ListOption<std::string> freeze{*this, "freeze", llvm::cl::desc("globs of parameters to leave")};
  Option<std::string> precision{*this, "precision", llvm::cl::desc("bf16 or f16: of what is stored, masters and sums are f32")};
  Option<bool> ownTypes{*this, "own-types", llvm::cl::desc("the model declares what is of that precision, and the rest stays as it is"), llvm::cl::init(false)};
  Option<double> lossScale{*this, "loss-scale", llvm::cl::desc("where the dynamic loss scale of f16 begins"), llvm::cl::init(65536)};
  Option<bool> keepGradients{*this, "keep-gradients", llvm::cl::desc("gradients stay results"), llvm::cl::init(false)};
};

void buildAutodiffPipeline(mlir::OpPassManager &pm, const AutodiffOptions &options);

} // namespace para

#endif
