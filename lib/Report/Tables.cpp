#include "Page.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace para;

namespace {
std::string cell(double value, const std::string &shown, llvm::StringRef style = "n") {
  return ("<td class=\"" + style + "\" data-v=\"" + exact(value) + "\">" + escape(shown) + "</td>").str();
}

std::string inDifference(double share) { return (share < 0 ? "−" : "+") + inPercent(std::abs(share)); }

/// Bytes with a sign that has the width of a plus.
std::string inByteDifference(double bytes) { return (bytes < 0 ? "−" : "+") + inBytes(std::abs(bytes)); }

double slowerBy(const RacedPlan &raced, const RacedPlan &chosen) { return chosen.price.seconds > 0 ? raced.price.seconds / chosen.price.seconds - 1 : 0; }
} // namespace

void para::writeCostly(Page &page) {
  const Explanation &why = page.why;
  constexpr size_t mostLayers = 5, mostItems = 7;
  page.beginSection("costly", "What takes the time", "Of one microbatch, forward and backward, on one device: layers that are alike together, the costliest first, with their kernels and messages.");
  page.os << "<div class=\"costs\">\n";
  for (auto [index, cost] : llvm::enumerate(llvm::ArrayRef(why.costly).take_front(mostLayers))) {
    page.os << "<details" << (index == 0 ? " open" : "") << "><summary><b>" << escape(cost.name) << "</b> <span>" << inSeconds(cost.seconds) << (cost.count > 1 ? " each of " + std::to_string(cost.count) : "")
            << "</span> <span class=\"share\"><i style=\"width:" << percentOf(cost.share, 1) << "\"></i></span> <span class=\"n\">" << inPercent(cost.share) << "</span></summary>\n<table><tbody>\n";
    const auto &items = why.parts.segments[cost.segment].items;
    double rest = cost.seconds > 0 ? why.parts.segments[cost.segment].getSeconds() : 0, all = rest;
    for (const PlanParts::Item &item : llvm::ArrayRef(items).take_front(mostItems)) {
      page.os << "<tr><td>" << (item.count > 1 ? "<span class=\"dim\">" + std::to_string(item.count) + " ×</span> " : "") << escape(item.name) << "</td><td class=\"share\"><i class=\"" << (item.sends ? "sends" : "")
              << "\" style=\"width:" << percentOf(item.seconds, all) << "\"></i></td>" << cell(item.seconds, inSeconds(item.seconds)) << "</tr>\n";
      rest -= item.seconds;
    }
    if (items.size() > mostItems && rest > 0)
      page.os << "<tr class=\"dim\"><td>" << items.size() - mostItems << " more</td><td class=\"share\"><i style=\"width:" << percentOf(rest, all) << "\"></i></td>" << cell(rest, inSeconds(rest)) << "</tr>\n";
    page.os << "</tbody></table></details>\n";
  }
  page.os << "</div>\n";
  page.endSection();
}

void para::writeAlternatives(Page &page) {
  const Explanation &why = page.why;
  page.beginSection("alternatives", "Other ways", "The usual recipes and mixes, the best of each kind with its microbatches and recomputation chosen, against the plan above.");
  page.os << "<div class=\"scroll\"><table class=\"sortable\"><thead><tr><th>kind</th><th class=\"n\">step</th><th class=\"n\">Δ time</th><th class=\"n\">Δ memory</th><th>mesh</th><th class=\"n\" title=\"microbatches\">M</th><th>why</th></tr></thead>\n<tbody>\n";
  for (const Alternative &alternative : why.alternatives) {
    if (!alternative.plan) {
      page.os << "<tr class=\"out\"><td class=\"kind\">" << escape(alternative.name) << "</td><td class=\"n\" data-v=\"1e99\">–</td><td class=\"n\" data-v=\"1e99\">–</td><td class=\"n\" data-v=\"1e99\">–</td><td></td><td class=\"n\" data-v=\"1e99\">–</td><td class=\"why\">" << escape(alternative.reason) << "</td></tr>\n";
      continue;
    }
    const RacedPlan &raced = *alternative.plan;
    bool chosen = alternative.reason == "chosen";
    page.os << "<tr" << (chosen ? " class=\"chosen\"" : raced.fault.empty() ? "" : " class=\"out\"") << "><td class=\"kind\">" << escape(alternative.name) << "</td>" << cell(raced.price.seconds, inSeconds(raced.price.seconds))
            << cell(slowerBy(raced, why.chosen), chosen ? "" : inDifference(slowerBy(raced, why.chosen)))
            << cell(raced.price.getPeakBytes() - why.chosen.price.getPeakBytes(), chosen ? "" : inByteDifference(raced.price.getPeakBytes() - why.chosen.price.getPeakBytes())) << "<td class=\"mesh\">"
            << escape(describeMesh(raced.plan)) << "</td>" << cell(double(raced.plan.microbatches), std::to_string(raced.plan.microbatches)) << "<td class=\"why\">" << (raced.fault.empty() ? "" : "<b class=\"bad\">out</b> ")
            << escape(alternative.reason) << "</td></tr>\n";
  }
  page.os << "</tbody></table></div>\n";
  page.endSection();
}

void para::writeCandidates(Page &page) {
  const Explanation &why = page.why;
  constexpr size_t mostRows = 48;
  if (why.plans.size() < 2)
    return;
  page.beginSection("candidates", "The race", llvm::formatv("{0} plans were priced, {1} fit. The best of each recipe; a column's head sorts.", why.certificate.priced, why.certificate.fitting).str());
  page.os << "<div class=\"scroll tall\"><table class=\"sortable\"><thead><tr><th>plan</th><th>mesh</th><th class=\"n\" title=\"microbatches\">M</th><th class=\"n\">step</th><th class=\"n\">slower</th><th class=\"n\">memory</th><th>verdict</th></tr></thead>\n<tbody>\n";
  std::set<std::string> shown;
  for (const RacedPlan &raced : why.plans) {
    if (shown.size() >= mostRows || !shown.insert(raced.plan.recipe).second)
      continue;
    bool chosen = &raced == &why.plans.front(), priced = !raced.price.memory.empty();
    page.os << "<tr" << (chosen ? " class=\"chosen\"" : raced.fault.empty() ? "" : " class=\"out\"") << "><td class=\"plan\">" << escape(raced.plan.recipe) << "</td><td class=\"mesh\">" << escape(describeMesh(raced.plan)) << "</td>"
            << cell(double(raced.plan.microbatches), std::to_string(raced.plan.microbatches));
    if (priced)
      page.os << cell(raced.price.seconds, inSeconds(raced.price.seconds)) << cell(slowerBy(raced, why.chosen), chosen ? "" : inDifference(slowerBy(raced, why.chosen)))
              << cell(raced.price.getPeakBytes(), inBytes(raced.price.getPeakBytes()));
    else
      page.os << cell(1e99, "–") << cell(1e99, "–") << cell(1e99, "–");
    page.os << "<td class=\"why\">" << (raced.fault.empty() ? chosen ? "<b class=\"ok\">chosen</b>" : "fits" : "<b class=\"bad\">out</b> " + escape(raced.fault)) << "</td></tr>\n";
  }
  page.os << "</tbody></table></div>\n";
  page.endSection();
}

void para::writeWhatIfs(Page &page) {
  page.beginSection("whatifs", "What would buy time", "The race again on a machine that differs in one thing.");
  double most = 0.05;
  for (const WhatIf &what : page.why.whatIfs)
    most = std::max(most, what.gain);
  page.os << "<div class=\"whatifs\">\n";
  for (const WhatIf &what : page.why.whatIfs) {
    bool gains = what.plan && what.gain > 0 && what.note.empty();
    page.os << "<div><b>" << escape(what.change) << "</b><span class=\"share\"><i style=\"width:" << percentOf(gains ? what.gain : 0, most) << "\"></i></span><strong>" << (gains ? "+" + inPercent(what.gain) : "–") << "</strong><p>";
    if (gains)
      page.os << escape(llvm::formatv("{0} a step: {1}, {2}, {3} microbatches, {4} a device", inSeconds(what.plan->price.seconds), what.plan->plan.recipe, describeMesh(what.plan->plan), what.plan->plan.microbatches,
                                      inBytes(what.plan->price.getPeakBytes())).str());
    else
      page.os << escape(what.note);
    page.os << "</p></div>\n";
  }
  page.os << "</div>\n";
  page.endSection();
}

void para::writeCertificate(Page &page) {
  const Explanation &why = page.why;
  const Certificate &certificate = why.certificate;
  const PlanPrice &price = why.chosen.price;
  page.beginSection("certificate", "What is proved, and what is predicted", "");
  page.os << "<div class=\"two\"><div><h3>proved</h3><ul>\n";
  if (certificate.scheduleVerified)
    page.os << "<li>The schedule " << escape(why.chosen.plan.schedule) << " is <b>complete</b>: every stage runs every microbatch once in each pass, backward after forward (" << certificate.actions << " actions checked).</li>\n"
            << "<li>It is <b>free of deadlock</b>: with the buffers between neighbours that it asks for, no stage waits for ever.</li>\n"
            << "<li>No stage holds the activations of more microbatches than its memory counts.</li>\n";
  else
    page.os << "<li><b class=\"bad\">The schedule was not verified</b>: " << escape(certificate.fault) << "</li>\n";
  page.os << (certificate.ofRace ? "<li>At these prices no plan of the race that fits takes less than " : "<li>At these prices no order of its passes makes this plan's step shorter than ")
          << number("lower-bound", certificate.lowerBound, inSeconds(certificate.lowerBound)) << (certificate.ofRace ? "" : ", which the busiest stage computes and sends") << "; the simulated step is "
          << number("gap", certificate.gap, inPercent(certificate.gap)) << " of itself above that.</li>\n</ul></div>\n";
  page.os << "<div><h3>predicted</h3><ul>\n<li>All seconds come from a cost model of the machine's kernels and links; nothing was run.</li>\n"
             "<li>Bytes follow from the partitioned program by arithmetic: "
          << number("predicted-peak", price.getPeakBytes(), inBytes(price.getPeakBytes())) << " on the fullest stage. Compiling plans every buffer and is exact.</li>\n";
  page.os << "<li>" << number("priced", double(certificate.priced), std::to_string(certificate.priced)) << (certificate.priced == 1 ? " plan was" : " plans were") << " priced; plans outside the race (other meshes, other cuts of a layer) may be better.</li>\n"
          << "<li>That the parallel program computes what the serial one does is proved when it is compiled, not here.</li>\n</ul></div></div>\n";
  page.endSection();
}

void para::writeReproduction(Page &page) {
  page.beginSection("reproduce", "Again", "");
  page.os << "<div class=\"copy\"><button class=\"js\" data-copy=\"command\">copy</button><pre id=\"command\">" << escape(page.facts.command) << "</pre></div>\n";
  page.os << "<details><summary>the plan, for --plan=FILE.json</summary><div class=\"copy\"><button class=\"js\" data-copy=\"plan\">copy</button><pre id=\"plan\">"
          << escape(llvm::formatv("{0:2}", llvm::json::Value(page.why.chosen.plan.toJson())).str()) << "</pre></div></details>\n";
  page.endSection();
}
