#include "Page.h"

using namespace para;

namespace {
constexpr int64_t mostStages = 12;

/// What an axis does, and the links that it uses.
void writeAxis(Page &page, llvm::StringRef name, int64_t size, int64_t stride, const std::string &what) {
  const Machine &machine = page.options.machine;
  bool inside = size * stride <= machine.getRanksPerNode();
  const DeviceClass &devices = machine.classes.front();
  std::string link = size == 1 ? "" : " over " + (inside ? devices.levels.front() : devices.levels.back()).name;
  page.os << "<div class=\"axis" << (size == 1 ? " one" : "") << "\"><b>" << name << "</b> <strong>" << size << "</strong><span>" << escape(size == 1 ? "not cut" : what + link) << "</span></div>\n";
}

/// All layers from left to right, each as wide as its seconds.
void writeStrip(Page &page) {
  const PlanParts &parts = page.why.parts;
  page.os << "<div class=\"strip\" role=\"img\" aria-label=\"layers of the model, by stage\">";
  for (auto [layer, segment] : llvm::enumerate(parts.layers)) {
    int64_t stage = parts.schedule.getPlace(parts.virtualStages[layer]).first;
    double seconds = parts.segments[segment].getSeconds();
    page.os << "<i style=\"flex-grow:" << llvm::formatv("{0:F3}", seconds * 1e6) << ";" << hueOf(stage, page.numStages()) << "\" title=\""
            << escape(llvm::formatv("layer {0}: {1}, stage {2}, {3} a microbatch", layer, nameRow(page.why.names[layer], page.why.names[layer]), stage, inSeconds(seconds)).str()) << "\"></i>";
  }
  page.os << "</div>\n";
}

/// "data 1, expert 3" of the replica of that number.
std::string describePlace(const Plan &plan, int64_t replica) {
  std::string text;
  int64_t inner = plan.getReplicas();
  for (llvm::StringRef name : getReplicaAxes()) {
    int64_t size = plan.*findPlanAxis(name)->size;
    inner /= size;
    if (size > 1 || name == "data")
      text += llvm::formatv("{0}{1} {2}", text.empty() ? "" : ", ", name, replica / inner % size).str();
  }
  return text;
}

/// Devices of a stage: a frame for each node, in it a group for each replica, in it a box for each tensor rank.
void writeDevices(Page &page, int64_t stage, int64_t most) {
  const Plan &plan = page.why.chosen.plan;
  int64_t replicas = plan.getReplicas();
  int64_t perNode = page.options.machine.getRanksPerNode(), first = stage * plan.getReplicas() * plan.tensor, shown = 0;
  int64_t groups = std::max<int64_t>(1, std::min(replicas, most / plan.tensor)), openNode = -1;
  // Whole nodes, where one is shown at all.
  if (int64_t inNode = perNode / plan.tensor; inNode > 1 && groups < replicas && groups > inNode)
    groups -= groups % inNode;
  page.os << "<div class=\"nodes\">";
  for (; shown < groups; ++shown) {
    int64_t rank = first + shown * plan.tensor, node = rank / perNode;
    if (node != openNode) {
      page.os << (openNode >= 0 ? "</div>" : "") << "<div class=\"node\"><small>node " << node << "</small>";
      openNode = node;
    }
    page.os << "<span class=\"group\" title=\"stage " << stage << ", " << describePlace(plan, shown) << "\">";
    int64_t boxes = std::min<int64_t>(plan.tensor, 16);
    for (int64_t t = 0; t < boxes; ++t)
      page.os << "<i title=\"device " << rank + t << ": stage " << stage << ", " << describePlace(plan, shown) << ", tensor " << t << "\">" << rank + t << "</i>";
    if (boxes < plan.tensor)
      page.os << "<em>+" << plan.tensor - boxes << "</em>";
    page.os << "</span>";
  }
  page.os << "</div>";
  if (shown < replicas)
    page.os << "<em class=\"more\">+ " << replicas - shown << " more replica" << (replicas - shown == 1 ? "" : "s") << "</em>";
  page.os << "</div>\n";
}

void writeStage(Page &page, int64_t stage, int64_t most) {
  const Explanation &why = page.why;
  const PlanPrice::Memory &memory = why.chosen.price.memory[stage];
  page.os << "<div class=\"stage\" style=\"" << hueOf(stage, page.numStages()) << "\"><h3>stage " << stage << "</h3>\n<div class=\"what\">";
  for (const LayerRow &row : why.stages) {
    if (row.stage != stage)
      continue;
    size_t count = row.end - row.begin;
    page.os << "<p><b>" << escape(row.name) << "</b> <span class=\"dim\">" << count << " layer" << (count == 1 ? "" : "s") << "</span></p>";
    if (!why.names[row.begin].first.empty())
      page.os << "<p class=\"nodesof\"><code>" << escape(why.names[row.begin].first) << "</code> … <code>" << escape(why.names[row.end - 1].last) << "</code></p>";
  }
  page.os << "<p class=\"dim\">";
  if (stage < int64_t(why.simulation.compute.size()))
    page.os << "computes " << inSeconds(why.simulation.compute[stage]) << ", waits " << inSeconds(why.simulation.bubble[stage]) << " · ";
  page.os << inBytes(memory.getTotal()) << " a device</p></div>\n";
  writeDevices(page, stage, most);
  page.os << "</div>\n";
}
} // namespace

void para::writeMap(Page &page) {
  const Plan &plan = page.why.chosen.plan;
  std::string product, order;
  for (const PlanAxis &axis : getPlanAxes())
    if (plan.*axis.size > 1 || (axis.name != "expert" && axis.name != "context")) {
      product += llvm::formatv("{0}{1} {2}", product.empty() ? "" : " × ", plan.*axis.size, axis.name).str();
      order = axis.name.str() + (order.empty() ? "" : ", then " + order);
    }
  page.beginSection("map", "Where the layers are",
                    llvm::formatv("{0} devices = {1}. Devices are numbered by {2}, so that those that talk most are nearest.", plan.getNumRanks(), product, order).str());
  page.os << "<div class=\"axes\">\n";
  std::string cut = plan.zero == 0 ? "" : plan.zero == 1 ? "; optimizer state is cut" : plan.zero == 2 ? "; gradients and optimizer state are cut" : "; parameters, gradients and optimizer state are cut";
  int64_t stride = plan.getNumRanks();
  for (const PlanAxis &axis : getPlanAxes()) {
    stride /= plan.*axis.size;
    std::string what = axis.name == "pipeline" ? "consecutive layers; activations and their gradients pass"
                       : axis.name == "data"   ? (page.options.request.train ? "parts of the batch; gradients are summed" : "parts of the batch") + cut
                       : axis.name == "expert" ? "parts of the batch and of the experts; tokens are exchanged"
                       : axis.name == "context" ? "parts of the sequence; keys and values are gathered"
                       : plan.sequenceParallel ? "parts of each layer, and of the sequence between"
                                               : "parts of each layer; results are summed";
    if (plan.*axis.size > 1 || (axis.name != "expert" && axis.name != "context"))
      writeAxis(page, axis.name, plan.*axis.size, stride, what);
  }
  page.os << "</div>\n<p class=\"caption\">The model from its input to its loss: a box is a layer, its width its seconds, its colour its stage.</p>\n";
  writeStrip(page);
  int64_t stages = page.numStages(), most = stages == 1 ? 96 : stages == 2 ? 96 : stages <= 4 ? 48 : 32; // devices of each that are drawn
  page.os << "<p class=\"caption\">A box is a device, a row of joined boxes one replica" << (plan.tensor > 1 ? " whose tensor ranks share every layer" : "") << ", a frame a node.</p>\n<div class=\"stages\">\n";
  for (int64_t stage = 0; stage < std::min(stages, mostStages); ++stage)
    writeStage(page, stage, most);
  page.os << "</div>\n";
  if (stages > mostStages) {
    page.os << "<details><summary>" << stages - mostStages << " more stages</summary><div class=\"stages\">\n";
    for (int64_t stage = mostStages; stage < stages; ++stage)
      writeStage(page, stage, plan.tensor);
    page.os << "</div></details>\n";
  }
  page.endSection();
}
