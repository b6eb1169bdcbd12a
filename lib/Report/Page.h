//===- Page.h - Parts of the page ---------------------------------*- C++ -*-===//
#ifndef PARA_LIB_REPORT_PAGE_H
#define PARA_LIB_REPORT_PAGE_H

#include "para/Plan/Units.h"
#include "para/Report/Report.h"

#include "llvm/Support/FormatVariadic.h"

namespace para {

/// Text for an element or an attribute in quotes.
std::string escape(llvm::StringRef text);
/// `<data id="ID" value="NUMBER">shown</data>`.
std::string number(llvm::StringRef id, double value, const std::string &shown);
/// A number of digits that reads back to the same.
std::string exact(double value);
/// "1,234,567".
std::string grouped(double value);
std::string percentOf(double part, double whole);

struct Page {
  llvm::raw_ostream &os;
  const Explanation &why;
  const SearchOptions &options;
  const ReportFacts &facts;

  int64_t numStages() const { return int64_t(why.chosen.price.memory.size()); }
  void beginSection(llvm::StringRef id, llvm::StringRef title, llvm::StringRef lead);
  void endSection() { os << "</section>\n"; }
};

/// Stages that are drawn where there are too many: the first, the last and some between.
std::vector<int64_t> chooseStages(int64_t stages, int64_t most);
/// Style of a stage: its hue.
std::string hueOf(int64_t stage, int64_t stages);
/// Class of an item of memory.
llvm::StringRef classOf(llvm::StringRef item);

void writeHeadline(Page &page);
void writeRefusal(Page &page);
void writeMap(Page &page);
void writeTimeline(Page &page);
void writeMemory(Page &page);
void writeCostly(Page &page);
void writeCandidates(Page &page);
void writeAlternatives(Page &page);
void writeWhatIfs(Page &page);
void writeCertificate(Page &page);
void writeReproduction(Page &page);

extern const char *const kStyle;
extern const char *const kScript;

} // namespace para

#endif
