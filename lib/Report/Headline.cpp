#include "Page.h"

#include "llvm/Support/Path.h"

using namespace para;

namespace {
struct Card {
  std::string label, value, note;
};

/// What the devices are and how they are joined.
std::string describeMachine(const SearchOptions &options) {
  std::string text;
  for (const DeviceClass &devices : options.machine.classes) {
    text += (text.empty() ? "" : " and ") + std::to_string(devices.count) + " × " + (devices.device.name.empty() ? "device" : devices.device.name);
    for (const Level &level : devices.levels)
      if (level.ranks > 1)
        text += llvm::formatv(", {0} of {1:F0} GB/s joins {2}", level.name, level.bytesPerSecond / 1e9, level.ranks).str();
  }
  return text;
}

/// Compute, communication and waiting of the busiest stage's step, as one bar.
void writeComposition(Page &page) {
  const PlanPrice &price = page.why.chosen.price;
  struct Part {
    std::string name;
    double seconds;
    const char *style;
  };
  std::vector<Part> parts = {{"compute", price.compute, "pc"}};
  for (const auto &[kind, seconds] : price.exposed)
    parts.push_back({kind == "parameters" ? "gathering of parameters" : "communication " + kind, seconds, kind == "parameters" ? "pg" : "px"});
  parts.push_back({"waiting", price.bubble, "pw"});
  llvm::erase_if(parts, [&](const Part &part) { return part.seconds < 1e-4 * price.seconds; });
  page.os << "<div class=\"bar whole\" role=\"img\" aria-label=\"what the step is made of\">";
  for (const Part &part : parts)
    page.os << "<i class=\"" << part.style << "\" style=\"width:" << percentOf(part.seconds, price.seconds) << "\" title=\"" << escape(part.name + " " + inSeconds(part.seconds)) << "\"></i>";
  page.os << "</div>\n<ul class=\"legend\">";
  for (const Part &part : parts)
    page.os << "<li><i class=\"" << part.style << "\"></i>" << escape(part.name) << " <b>" << inSeconds(part.seconds) << "</b> " << inPercent(part.seconds / price.seconds) << "</li>";
  page.os << "</ul>\n";
}
/// Each flag by itself, so that lines break between flags.
std::string listFlags(llvm::StringRef change) {
  if (!change.starts_with("--"))
    return escape(change);
  std::string text;
  for (size_t from = 0; from < change.size();) {
    size_t next = std::min(change.find(" --", from), change.size());
    text += "<code class=\"flag\">" + escape(change.slice(from, next)) + "</code> ";
    from = next + 1;
  }
  return text;
}
} // namespace

void para::writeHeadline(Page &page) {
  const RacedPlan &chosen = page.why.chosen;
  const PlanPrice &price = chosen.price;
  const Plan &plan = chosen.plan;
  int64_t batch = page.options.request.batch, rows = std::max<int64_t>(1, batch / (plan.getBatchRanks() * plan.microbatches));
  double room = page.options.machine.getMemoryBytes(), peak = price.getPeakBytes(), samples = price.seconds > 0 ? double(batch) / price.seconds : 0;
  page.os << "<header>\n<p class=\"eyebrow\">para · " << (page.options.request.train ? "training step" : "inference") << ", predicted</p>\n<h1>"
          << escape(llvm::sys::path::filename(page.facts.model)) << " <span>on " << escape(page.options.machine.name) << "</span></h1>\n";
  page.os << "<p class=\"sub\">" << (chosen.fault.empty() ? "<b class=\"ok\">fits</b> " : "<b class=\"bad\">does not fit</b> ") << "<b>" << escape(plan.recipe) << "</b> · "
          << escape(describeMesh(plan)) << " · batch " << batch << " in " << plan.microbatches << " microbatch" << (plan.microbatches == 1 ? "" : "es") << " of " << rows
          << (plan.getBatchRanks() > 1 ? " a replica" : "") << " · " << escape(describeMachine(page.options)) << "</p>\n";
  std::vector<Card> cards = {{"step", number("step", price.seconds, inSeconds(price.seconds)), "at least " + inSeconds(price.getBound())},
                             {"samples / s", number("samples", samples, samples < 100 ? llvm::formatv("{0:F2}", samples).str() : grouped(samples)), ""}};
  if (page.why.tokens > 0) {
    double tokens = samples * double(page.why.tokens);
    cards.push_back({"tokens / s", number("tokens", tokens, grouped(tokens)), grouped(double(page.why.tokens)) + " a sample"});
  }
  cards.push_back({"model flops utilization", number("mfu", price.getUtilization(), inPercent(price.getUtilization())),
                   llvm::formatv("of {0:F0} Tflop/s a device", price.peakFlops / double(plan.getNumRanks()) / 1e12).str()});
  std::string gauge = llvm::formatv("<span class=\"gauge\"><i class=\"{0}\" style=\"width:{1}\"></i></span>", peak > room ? "over" : "", percentOf(std::min(peak, room), room)).str();
  cards.push_back({"memory / device", number("peak", peak, inBytes(peak)), "of " + inBytes(room)});
  page.os << "<div class=\"cards\">\n";
  for (const Card &card : cards)
    page.os << "<div class=\"card\"><span>" << card.label << "</span><strong>" << card.value << "</strong><small>" << escape(card.note) << "</small>" << (card.label == "memory / device" ? gauge : "")
            << "</div>\n";
  page.os << "</div>\n";
  if (price.seconds > 0)
    writeComposition(page);
  page.os << "</header>\n";
}

void para::writeRefusal(Page &page) {
  const Refusal &refusal = *page.why.refusal;
  page.beginSection("refusal", "It does not fit",
                    llvm::formatv("Stage {0} needs {1} of {2} a device: {3} too much.", refusal.stage, inBytes(refusal.bytes), inBytes(refusal.room), inBytes(refusal.bytes - refusal.room)).str());
  page.os << "<p>Too large" << (refusal.causes.size() > 1 ? " together" : "") << ": ";
  for (auto [index, cause] : llvm::enumerate(refusal.causes))
    page.os << (index ? ", " : "") << escape(cause.name) << " <b>" << inBytes(cause.bytes) << "</b>";
  page.os << ".</p>\n<div class=\"scroll\"><table class=\"sortable\"><thead><tr><th>change</th><th class=\"n\">saves</th><th class=\"n\">time</th><th class=\"n\">step</th><th class=\"n\">memory</th><th>plan</th></tr></thead>\n<tbody>\n";
  for (const WayOut &way : refusal.ways)
    page.os << "<tr" << (way.fits ? "" : " class=\"out\"") << "><td>" << listFlags(way.change) << "</td><td class=\"n\" data-v=\"" << exact(way.savedBytes) << "\">" << inBytes(way.savedBytes)
            << "</td><td class=\"n\" data-v=\"" << exact(way.slower) << "\">" << (way.slower < 0 ? "" : "+") << inPercent(way.slower) << "</td><td class=\"n\" data-v=\"" << exact(way.plan.price.seconds)
            << "\">" << inSeconds(way.plan.price.seconds) << "</td><td class=\"n\" data-v=\"" << exact(way.plan.price.getPeakBytes()) << "\">" << inBytes(way.plan.price.getPeakBytes()) << "</td><td>"
            << (way.fits ? "<b class=\"ok\">fits</b> " : "<b class=\"bad\">not enough</b> ") << escape(way.plan.plan.recipe) << "</td></tr>\n";
  page.os << "</tbody></table></div>\n<p class=\"note\">" << escape(refusal.note) << "</p>\n";
  page.endSection();
}
