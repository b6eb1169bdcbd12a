#include "para/IR/Phases.h"

#include "para/IR/Program.h"

using namespace mlir;
using namespace para;

std::string para::describePhase(ChunkPhase phase) {
  return stringifyPhase(phase.phase).str() + (phase.chunk ? " of chunk " + std::to_string(phase.chunk) : "");
}

ChunkPhase para::getChunkPhase(Operation *op) {
  for (NamedAttribute attribute : op->getDiscardableAttrs()) // asked often; no other attribute is a phase
    if (isa<PhaseAttr>(attribute.getValue()))
      return getChunkPhase(attribute.getValue());
  return {Phase::Forward};
}

SmallVector<ScheduledPhase> para::readSchedule(func::FuncOp function) {
  SmallVector<ScheduledPhase> entries;
  if (auto schedule = function->getAttrOfType<ArrayAttr>("para.schedule"))
    for (auto entry : schedule.getAsRange<ArrayAttr>())
      entries.push_back({getChunkPhase(entry[0]), cast<IntegerAttr>(entry[1]).getInt()});
  return entries;
}

SmallVector<StagePlace> para::getPlaces(ModuleOp module) {
  auto mesh = module->getAttrOfType<MeshAttr>("para.mesh");
  SmallVector<int64_t> chunks(mesh ? mesh.getSize("pipeline") : 1, 0);
  SmallVector<StagePlace> places;
  if (auto ranks = module->getAttrOfType<DenseI64ArrayAttr>("para.places"))
    for (int64_t rank : ranks.asArrayRef())
      places.push_back({rank, chunks[rank]++});
  else
    for (int64_t rank = 0; rank < int64_t(chunks.size()); ++rank)
      places.push_back({rank, 0});
  return places;
}
