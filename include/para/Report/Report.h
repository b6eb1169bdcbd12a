//===- Report.h - A plan as a page to look at ---------------------*- C++ -*-===//
//
// One HTML file without anything from outside: it can be mailed, kept beside the plan, and read without a network or scripts. What it says
// is what the explanation says; numbers that tests compare are `data` elements with an id.
//
// Example: writeReport(os, explanation, options, {"llama3_8b.onnx", "para-opt llama3_8b.onnx --train ..."});
//
//===----------------------------------------------------------------------===//
#ifndef PARA_REPORT_REPORT_H
#define PARA_REPORT_REPORT_H

#include "para/Plan/Explain.h"

namespace para {

struct ReportFacts {
  std::string model;   ///< its file
  std::string command; ///< that makes the page again
};

void writeReport(llvm::raw_ostream &os, const Explanation &why, const SearchOptions &options, const ReportFacts &facts);

} // namespace para

#endif
