#include "Page.h"

#include "llvm/Support/Path.h"

using namespace para;

std::string para::escape(llvm::StringRef text) {
  std::string valid = llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text), result;
  for (char c : valid) {
    switch (c) {
    case '&': result += "&amp;"; break;
    case '<': result += "&lt;"; break;
    case '>': result += "&gt;"; break;
    case '"': result += "&quot;"; break;
    case '\'': result += "&#39;"; break;
    default: result += (unsigned char)(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c;
    }
  }
  return result;
}

std::string para::exact(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(value);
  return text;
}

std::string para::number(llvm::StringRef id, double value, const std::string &shown) {
  return ("<data id=\"" + id + "\" value=\"" + exact(value) + "\">" + escape(shown) + "</data>").str();
}

std::string para::grouped(double value) {
  std::string digits = llvm::formatv("{0:F0}", value).str();
  for (int64_t i = int64_t(digits.size()) - 3; i > 0; i -= 3)
    digits.insert(i, ",");
  return digits;
}

std::string para::percentOf(double part, double whole) { return llvm::formatv("{0:F3}%", whole > 0 ? 100 * part / whole : 0).str(); }

std::vector<int64_t> para::chooseStages(int64_t stages, int64_t most) {
  std::vector<int64_t> chosen;
  for (int64_t i = 0; i < std::min(stages, most); ++i)
    chosen.push_back(stages <= most ? i : i * (stages - 1) / (most - 1));
  return chosen;
}

std::string para::hueOf(int64_t stage, int64_t stages) {
  // From blue over green and orange to violet, in the model's order.
  return "--h:" + std::to_string((215 + (stages > 1 ? stage * 300 / stages : 0)) % 360);
}

llvm::StringRef para::classOf(llvm::StringRef item) {
  return llvm::StringSwitch<llvm::StringRef>(item)
      .Case("parameters", "mp").Case("gradients", "mg").Case("optimizer", "mo").Case("activations", "ma").Case("gathered parameters", "mz").Case("temporaries", "mt").Case("libraries and context", "mr").Default("mi");
}

void Page::beginSection(llvm::StringRef id, llvm::StringRef title, llvm::StringRef lead) {
  os << "<section id=\"" << id << "\">\n<h2>" << escape(title) << "</h2>\n";
  if (!lead.empty())
    os << "<p class=\"lead\">" << escape(lead) << "</p>\n";
}

void para::writeReport(llvm::raw_ostream &os, const Explanation &why, const SearchOptions &options, const ReportFacts &facts) {
  Page page{os, why, options, facts};
  std::string model = llvm::sys::path::filename(facts.model).str(), title = model + " on " + options.machine.name;
  os << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<title>" << escape(title) << "</title>\n<style>" << kStyle << "</style>\n</head>\n<body>\n<main>\n";
  writeHeadline(page);
  if (why.refusal)
    writeRefusal(page);
  if (!why.rows.empty()) {
    writeMap(page);
    writeTimeline(page);
    writeMemory(page);
    writeCostly(page);
  }
  writeAlternatives(page);
  writeCandidates(page);
  if (!why.whatIfs.empty())
    writeWhatIfs(page);
  writeCertificate(page);
  writeReproduction(page);
  os << "</main>\n<script>" << kScript << "</script>\n</body>\n</html>\n";
}
