//===- Flags.h - The executable's command line ------------------*- C++ -*-===//
#ifndef PARA_RUNTIME_CORE_FLAGS_H
#define PARA_RUNTIME_CORE_FLAGS_H

#include "Manifest.h"

namespace para::runtime {

struct Flags {
  bool help = false, json = false, verbose = false;
  std::string info; ///< empty, "text" or "json"
  std::string inputs, outputs, data, validate, save, load, metrics, trace, dumpState, dumpGrads;
  std::string init = "file", shuffle = "none", progress = "auto", transport = "auto";
  int64_t ranks = -1, threads = 0, repeat = 0, warmup = -1, batch = -1, steps = -1, epochs = -1;
  int64_t validateEvery = 0, saveEvery = 0, seed = 0, shuffleSeed = 0;
  std::vector<std::pair<std::string, double>> hyper; ///< overrides by name
};

/// Fails with exit code 2 and one sentence. Knows the optimizer numbers of this manifest.
Status parseFlags(int argc, char **argv, const Manifest &manifest, Flags &flags);

std::string helpText(const Manifest &manifest, const std::string &program);
std::string infoText(const Manifest &manifest);
std::string infoJson(const Manifest &manifest);

} // namespace para::runtime

#endif
