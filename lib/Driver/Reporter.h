//===- Reporter.h - Diagnostics as users read them -----------------*- C++ -*-===//
#ifndef PARA_LIB_DRIVER_REPORTER_H
#define PARA_LIB_DRIVER_REPORTER_H

#include "para/IR/Program.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/raw_ostream.h"

namespace para {

/// Prints diagnostics as "error: subject: message". The subject is the model's own name for the place, else the model's file; what is not about
/// the model has an unknown location and names its subject itself. With `isQuiet` errors alone.
class Reporter {
public:
  Reporter(mlir::MLIRContext &context, llvm::StringRef model, bool isQuiet) : handler(&context, [model, isQuiet](mlir::Diagnostic &diagnostic) {
    bool isError = diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
    llvm::StringRef kind = isError ? "error: " : diagnostic.getSeverity() == mlir::DiagnosticSeverity::Warning ? "warning: " : "note: ";
    llvm::StringRef subject = getNodeName(diagnostic.getLocation());
    if (subject.empty() && !llvm::isa<mlir::UnknownLoc>(diagnostic.getLocation()))
      subject = model;
    if (isError || !isQuiet)
      llvm::errs() << "para-opt: " << kind << subject << (subject.empty() ? "" : ": ") << diagnostic.str() << "\n";
    return mlir::success();
  }) {}

private:
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace para

#endif
