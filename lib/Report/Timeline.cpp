#include "Page.h"

#include "llvm/ADT/STLExtras.h"

using namespace para;

namespace {
constexpr int64_t mostRows = 16;
constexpr double width = 10000;        ///< of a lane in its own units
constexpr int64_t mostMarks = 6000;    ///< of all lanes

struct KindStyle {
  const char *style, *name;
};
/// By SimulatedKind.
constexpr KindStyle kKinds[] = {{"f", "forward"}, {"b", "backward"}, {"b", "backward (activations)"}, {"w", "backward (weights)"}, {"x", "collectives of a pass"},
                                {"s", "sending to the next stage"}, {"g", "reduction of gradients"}, {"x", "norm of the gradients"}, {"u", "update"}, {"z", "gathering of parameters"}};

std::string describe(const SimulatedEvent &event, int64_t chunks) {
  std::string text = kKinds[int(event.kind)].name;
  if (event.microbatch >= 0)
    text += " of microbatch " + std::to_string(event.microbatch);
  if (chunks > 1)
    text += ", chunk " + std::to_string(event.chunk);
  return text + ": " + inSeconds(event.seconds) + " from " + inSeconds(event.begin);
}

/// Events of one line in order of time; what is too narrow to be seen is drawn together.
class Line {
public:
  Line(Page &page, int y, int height, double narrow) : page(page), y(y), height(height), narrow(narrow), all(page.why.simulation.seconds) {}

  void add(const SimulatedEvent &event) {
    if (event.seconds >= narrow) {
      flush();
      draw(event.begin, event.seconds, kKinds[int(event.kind)].style, describe(event, page.why.parts.schedule.chunks));
      return;
    }
    if (!run.empty() && event.begin - end > narrow)
      flush();
    run.push_back(&event);
    end = std::max(end, event.begin + event.seconds);
  }

  void flush() {
    if (run.empty())
      return;
    const SimulatedEvent &first = *run.front();
    bool alike = llvm::all_of(run, [&](const SimulatedEvent *event) { return kKinds[int(event->kind)].style == kKinds[int(first.kind)].style; });
    bool computes = llvm::all_of(run, [](const SimulatedEvent *event) { return event->resource == SimulatedResource::Compute; });
    if (run.size() == 1) {
      draw(first.begin, first.seconds, kKinds[int(first.kind)].style, describe(first, page.why.parts.schedule.chunks));
    } else {
      hasMany |= computes && !alike;
      std::string text = alike ? std::to_string(run.size()) + " × " + kKinds[int(first.kind)].name : std::to_string(run.size()) + (computes ? " passes and updates" : " messages");
      draw(first.begin, end - first.begin, alike ? kKinds[int(first.kind)].style : computes ? "m" : "x", text + ": " + inSeconds(end - first.begin) + " from " + inSeconds(first.begin));
    }
    run.clear();
    end = 0;
  }

  bool hasMany = false; ///< passes were drawn together

private:
  void draw(double begin, double seconds, llvm::StringRef style, const std::string &title) {
    page.os << llvm::formatv("<rect class=\"{0}\" x=\"{1:F1}\" y=\"{2}\" width=\"{3:F1}\" height=\"{4}\"><title>{5}</title></rect>", style, begin / all * width, y, std::max(1.0, 0.94 * seconds / all * width), height, escape(title));
  }

  Page &page;
  int y, height;
  double narrow, all, end = 0;
  std::vector<const SimulatedEvent *> run;
};

void writeAxis(Page &page, double seconds) {
  page.os << "<div class=\"axisline\" aria-hidden=\"true\">";
  for (int tick = 0; tick <= 4; ++tick)
    page.os << "<span>" << (tick ? inSeconds(seconds * tick / 4) : "0") << "</span>";
  page.os << "</div>";
}

void writeLegend(Page &page, bool hasMany) {
  std::vector<std::pair<std::string, std::string>> shown;
  for (const SimulatedEvent &event : page.why.simulation.timeline) {
    std::pair<std::string, std::string> entry = {kKinds[int(event.kind)].style, kKinds[int(event.kind)].name};
    if (llvm::none_of(shown, [&](const auto &other) { return other.first == entry.first; }))
      shown.push_back(entry);
  }
  page.os << "<ul class=\"legend\">";
  for (const auto &[style, name] : shown)
    page.os << "<li><i class=\"k" << style << "\"></i>" << name << "</li>";
  page.os << (hasMany ? "<li><i class=\"km\"></i>many passes, too narrow to part</li></ul>\n" : "</ul>\n");
}

/// Bytes of a stage over the step, an area; at most so many steps, of which each shows the most.
std::string drawMemory(const Explanation &why, int64_t stage, double top, double height) {
  std::vector<std::pair<double, double>> points;
  for (const SimulatedMemory &point : why.simulation.memory)
    if (point.stage == stage)
      points.push_back({point.seconds, double(point.bytes)});
  constexpr size_t most = 1200;
  if (points.size() > most) {
    std::vector<std::pair<double, double>> fewer;
    size_t step = points.size() / (most / 2) + 1;
    for (size_t i = 0; i < points.size(); i += step) {
      auto slice = llvm::ArrayRef(points).slice(i, std::min(step, points.size() - i));
      fewer.push_back({slice.front().first, llvm::max_element(slice, [](auto &a, auto &b) { return a.second < b.second; })->second});
    }
    points = std::move(fewer);
  }
  auto yOf = [&](double bytes) { return llvm::formatv("{0:F2}", height - bytes / top * height).str(); };
  std::string path = "M0 " + llvm::formatv("{0}", height).str();
  for (auto [seconds, bytes] : points)
    path += "H" + llvm::formatv("{0:F1}", seconds / why.simulation.seconds * width).str() + "V" + yOf(bytes);
  return path + "H" + llvm::formatv("{0:F0}", width).str() + "V" + llvm::formatv("{0}", height).str() + "Z";
}
} // namespace

void para::writeTimeline(Page &page) {
  const Simulation &simulation = page.why.simulation;
  if (simulation.timeline.empty())
    return;
  std::vector<int64_t> stages = chooseStages(page.numStages(), mostRows);
  page.beginSection("timeline", "One step", llvm::formatv("{0} over {1} microbatch{2}, as the simulator runs it: computing above, sending below. One device stands for all of its stage.", page.why.chosen.plan.schedule,
                                                          page.why.chosen.plan.microbatches, page.why.chosen.plan.microbatches == 1 ? "" : "es").str() +
                                              (int64_t(stages.size()) < page.numStages() ? llvm::formatv(" {0} of {1} stages are drawn.", stages.size(), page.numStages()).str() : ""));
  page.os << "<p class=\"zoom js\">zoom <button data-zoom=\"1\">1×</button><button data-zoom=\"4\">4×</button><button data-zoom=\"16\">16×</button></p>\n<div class=\"tl\"><div class=\"labels\">";
  for (int64_t stage : stages)
    page.os << "<span style=\"" << hueOf(stage, page.numStages()) << "\">stage " << stage << "<small>" << inPercent(simulation.compute[stage] / simulation.seconds, 0) << " busy</small></span>";
  page.os << "</div><div class=\"lanes\"><div class=\"zoomed\">\n";
  double narrow = simulation.seconds / double(std::clamp<int64_t>(mostMarks / (2 * int64_t(stages.size())), 200, 1500));
  bool hasMany = false;
  for (int64_t stage : stages) {
    std::vector<const SimulatedEvent *> compute, others;
    for (const SimulatedEvent &event : simulation.timeline)
      if (event.stage == stage)
        (event.resource == SimulatedResource::Compute ? compute : others).push_back(&event);
    llvm::stable_sort(others, [](const SimulatedEvent *a, const SimulatedEvent *b) { return a->begin < b->begin; });
    page.os << llvm::formatv("<svg class=\"lane\" viewBox=\"0 0 {0:F0} 26\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"stage {1} over time\">", width, stage);
    Line above(page, 0, 17, narrow), below(page, 19, 7, narrow);
    for (const SimulatedEvent *event : compute)
      above.add(*event);
    above.flush();
    for (const SimulatedEvent *event : others)
      below.add(*event);
    below.flush();
    hasMany |= above.hasMany;
    page.os << "</svg>\n";
  }
  writeAxis(page, simulation.seconds);
  page.os << "</div></div></div>\n";
  writeLegend(page, hasMany);
  page.endSection();
}

void para::writeMemory(Page &page) {
  const Explanation &why = page.why;
  const auto &memory = why.chosen.price.memory;
  double room = why.peak.room;
  bool hasRoom = why.peak.bytes > 0.15 * room; // or else the capacity would dwarf what there is
  double top = hasRoom ? 1.02 * std::max(room, why.peak.bytes) : 1.1 * why.peak.bytes;
  std::vector<int64_t> stages = chooseStages(page.numStages(), mostRows);
  page.beginSection("memory", "Memory", "What a device of each stage holds" + std::string(hasRoom ? ", against what it has" : "; the capacity, " + inBytes(room) + ", is far beyond the picture") +
                                             ". Predicted from the plan; the program's own memory plan is made when it is compiled.");
  std::vector<std::string> names;
  page.os << "<div class=\"bars\">\n";
  for (int64_t stage : stages) {
    page.os << "<div class=\"barrow\"><span style=\"" << hueOf(stage, page.numStages()) << "\">stage " << stage << "</span><div class=\"bar\">";
    if (hasRoom)
      page.os << "<b class=\"room\" style=\"left:" << percentOf(room, top) << "\"></b>";
    std::vector<PeakItem> items = {{"parameters", memory[stage].parameters}, {"gradients", memory[stage].gradients}, {"optimizer", memory[stage].states}, {"gathered parameters", memory[stage].gathered},
                                   {"libraries and context", memory[stage].reserved}, {"inputs", memory[stage].inputs}, {"activations", memory[stage].activations}, {"temporaries", memory[stage].temporary}};
    for (const PeakItem &item : items) {
      if (item.bytes <= 0)
        continue;
      if (!llvm::is_contained(names, item.name))
        names.push_back(item.name);
      page.os << "<i class=\"" << classOf(item.name) << "\" style=\"width:" << percentOf(item.bytes, top) << "\" title=\"" << escape(item.name + " " + inBytes(item.bytes)) << "\"></i>";
    }
    page.os << "</div><span class=\"n\">" << number("peak-" + std::to_string(stage), memory[stage].getTotal(), inBytes(memory[stage].getTotal())) << "</span></div>\n";
  }
  page.os << "</div>\n<ul class=\"legend\">";
  for (const std::string &name : names)
    page.os << "<li><i class=\"" << classOf(name) << "\"></i>" << name << "</li>";
  page.os << (hasRoom ? "<li><i class=\"roomkey\"></i>capacity, " + inBytes(room) + "</li></ul>\n" : "</ul>\n");

  page.os << "<p>The fullest is stage " << why.peak.stage << ": ";
  for (auto [index, item] : llvm::enumerate(llvm::ArrayRef(why.peak.items).take_front(3)))
    page.os << (index ? ", " : "") << escape(item.name) << " <b>" << inBytes(item.bytes) << "</b>";
  page.os << ".";
  if (!why.peak.layers.empty()) {
    page.os << " Its activations are of " << why.peak.inFlight << " microbatch" << (why.peak.inFlight == 1 ? "" : "es") << ": ";
    for (auto [index, layer] : llvm::enumerate(llvm::ArrayRef(why.peak.layers).take_front(4)))
      page.os << (index ? ", " : "") << escape(layer.name) << " " << inBytes(layer.bytes);
    page.os << ".";
  }
  page.os << "</p>\n";
  if (!why.simulation.memory.empty() && why.simulation.seconds > 0) {
    page.os << "<h3>over the step</h3>\n<div class=\"tl memory\"><div class=\"labels\">";
    for (int64_t stage : stages)
      page.os << "<span style=\"" << hueOf(stage, page.numStages()) << "\">stage " << stage << "<small>" << inBytes(memory[stage].getTotal()) << "</small></span>";
    page.os << "</div><div class=\"lanes\"><div class=\"zoomed\">\n";
    constexpr double height = 100;
    for (int64_t stage : stages) {
      double fixed = memory[stage].getTotal() - memory[stage].activations - memory[stage].temporary;
      auto line = [&](const char *style, double bytes, const std::string &title) {
        page.os << llvm::formatv("<path class=\"{0}\" d=\"M0 {1:F2}H{2:F0}\"><title>{3}</title></path>", style, height - bytes / top * height, width, escape(title));
      };
      page.os << llvm::formatv("<svg class=\"lane\" viewBox=\"0 0 {0:F0} 100\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"memory of stage {1} over time\">", width, stage);
      page.os << "<path class=\"ma\" d=\"" << drawMemory(why, stage, top, height) << "\"><title>activations</title></path>";
      page.os << llvm::formatv("<rect class=\"mfixed\" x=\"0\" y=\"{0:F2}\" width=\"{1:F0}\" height=\"{2:F2}\"><title>{3}</title></rect>", height - fixed / top * height, width, fixed / top * height,
                               escape("parameters, gradients, optimizer and what else stays: " + inBytes(fixed)));
      line("mpeak", memory[stage].getTotal(), "peak with temporaries: " + inBytes(memory[stage].getTotal()));
      if (hasRoom)
        line("mroom", room, "capacity: " + inBytes(room));
      page.os << "</svg>\n";
    }
    writeAxis(page, why.simulation.seconds);
    page.os << "</div></div></div>\n<ul class=\"legend\"><li><i class=\"mfixed\"></i>parameters, gradients, optimizer and what else stays</li><li><i class=\"ma\"></i>activations</li><li><i class=\"peakkey\"></i>peak with temporaries</li>"
            << (hasRoom ? "<li><i class=\"roomline\"></i>capacity</li></ul>\n" : "</ul>\n");
  }
  page.endSection();
}
