//===- Manifest.h - What the compiler says of the program -------*- C++ -*-===//
//
// The JSON of runtime/README.md as structs, checked once at start. Everything later may rely on the invariants that
// parseManifest established: known axes, ranks of shapes that agree, offsets inside of the arena.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_CORE_MANIFEST_H
#define PARA_RUNTIME_CORE_MANIFEST_H

#include "DType.h"
#include "Status.h"

#include <map>
#include <set>

namespace para::runtime {

struct MeshAxis {
  std::string name;
  int64_t size;
};

enum class TensorKind { Parameter, State, Input, Hyper, Output, Gradient };

/// The bytes of an initial value.
struct TensorSource {
  bool present = false;
  std::string file; ///< empty: `inlineBytes` holds them
  int64_t offset = 0, bytes = 0;
  int64_t fileBytes = 0; ///< of the whole file when the program was compiled; 0: not known
  DType dtype = PARA_F32;
  std::string inlineBytes;
};

/// Which values a part of an input may have: the program uses them as indices.
struct IndexRange {
  int64_t begin = 0, end = 0;          ///< from `begin` to before `end`
  std::vector<int64_t> exempt;         ///< others that the program knows how to treat
  std::vector<int64_t> offsets, sizes; ///< the part, in the global tensor
  std::string node;                    ///< of the model
};

struct Tensor {
  std::string name;
  TensorKind kind;
  DType dtype;
  std::vector<int64_t> shape, local;
  std::vector<std::vector<std::string>> dims; ///< axes that cut each dimension, in order
  std::vector<int64_t> units, blocks;         ///< of each dimension: elements cut together, parts cut each by itself
  int64_t offset = 0;                         ///< bytes from the arena's start
  int64_t stacked = 1;                        ///< blocks of `local`, one a microbatch
  bool trainable = true, primary = true, buffer = false, optional = false;
  double initial = 0;
  TensorSource source;
  std::vector<IndexRange> indexRanges;

  int64_t localElements() const;
  int64_t globalElements() const;
  int64_t localBytes() const { return localElements() * elementBytes(dtype); }
};

struct Action {
  std::string segment;
  int64_t microbatch, slot;
};

struct Stage {
  int64_t arenaBytes = 0, slots = 0, slotBytes = 0;
  std::vector<Action> actions, evaluate;
  std::vector<Tensor> tensors;
};

struct Interface {
  std::string name;
  DType type;
  std::vector<int64_t> shape;
  bool trainable = false;
};

struct Schedule {
  std::string kind = "constant";
  int64_t warmup = 0, total = 0;
  double min = 0;
};

struct Manifest {
  std::string model, mode, target, precision, directory;
  std::vector<MeshAxis> mesh;
  int64_t batch = 0, microbatches = 1;
  std::vector<std::pair<std::string, double>> hyper;
  Schedule schedule;
  std::vector<std::vector<std::string>> communicators; ///< axes of each
  /// Messages from a stage to another that are received in the order in which they are sent. Of several channels between two stages all but the
  /// first list the tags of theirs.
  struct Channel {
    int64_t from, to;
    std::set<int64_t> tags; ///< as the program numbers them, each of all microbatches
  };
  std::vector<Channel> channels;
  std::vector<Stage> stages;
  std::vector<Interface> inputs, outputs, parameters;
  std::string planJson = "{}";

  int64_t ranks() const;
  /// Index in the mesh or -1.
  int axisIndex(const std::string &name) const;
  /// Coordinates of `rank` in mesh order (the last axis varies fastest).
  std::vector<int64_t> coordinates(int64_t rank) const;
  int64_t rankOf(const std::vector<int64_t> &coordinates) const;
  int64_t stageOf(int64_t rank) const;
  /// Communicators and, numbered behind them, the channels.
  int64_t lines() const { return int64_t(communicators.size() + channels.size()); }
  /// Bytes of the planned arena, by rank.
  std::vector<int64_t> arenaBytesPerRank() const;
  /// Ranks of communicator `index` that `rank` belongs to, ordered by their coordinates on its axes (first axis slowest).
  std::vector<int64_t> members(size_t index, int64_t rank) const;
  bool isTraining() const { return mode == "train"; }
};

Status parseManifest(const char *text, size_t bytes, Manifest &manifest);

} // namespace para::runtime

#endif
