//===- LaunchVariables.cpp - What launchers tell a rank -----------------------===//
#include "Rendezvous.h"

#include <cstdlib>

namespace para::runtime {

namespace {
std::string textOf(const char *name) {
  const char *text = std::getenv(name);
  return text ? text : "";
}
int64_t numberOf(const char *name) {
  int64_t value;
  return parseInteger(textOf(name), value) && value >= 0 ? value : -1;
}
std::string firstOf(std::initializer_list<const char *> names) {
  for (const char *name : names)
    if (std::string text = textOf(name); !text.empty())
      return text;
  return "";
}
} // namespace

std::string firstHost(const std::string &list) {
  std::string host;
  for (size_t i = 0; i < list.size() && list[i] != ','; ++i) {
    if (list[i] != '[') {
      host += list[i];
      continue;
    }
    size_t end = list.find(']', i);
    if (end == std::string::npos)
      return "";
    // Of ranges the first number, with its zeros.
    host += list.substr(i + 1, list.find_first_of(",-]", i + 1) - i - 1);
    i = end;
  }
  return host;
}

LaunchVariables readLaunchVariables() {
  LaunchVariables told;
  told.address = textOf("MASTER_ADDR");
  told.port = textOf("MASTER_PORT");
  if (numberOf("RANK") >= 0 && numberOf("WORLD_SIZE") >= 1) {
    told.rank = numberOf("RANK"), told.size = numberOf("WORLD_SIZE");
    told.local = numberOf("LOCAL_RANK"), told.localSize = numberOf("LOCAL_WORLD_SIZE");
    // torchrun's agent listens at MASTER_PORT itself.
    if (int64_t port = numberOf("MASTER_PORT"); port >= 0 && textOf("TORCHELASTIC_USE_AGENT_STORE") == "True")
      told.port = std::to_string(port + 1);
    return told;
  }
  // A batch script's own variables look as if it were rank 0: only srun's steps have a number.
  int64_t tasks = numberOf("SLURM_STEP_NUM_TASKS") >= 0 ? numberOf("SLURM_STEP_NUM_TASKS") : numberOf("SLURM_NTASKS");
  if (numberOf("SLURM_PROCID") < 0 || tasks < 2 || firstOf({"SLURM_STEP_ID", "SLURM_STEPID"}).empty())
    return told;
  told.rankName = "SLURM_PROCID", told.sizeName = "the number of srun's tasks";
  told.rank = numberOf("SLURM_PROCID"), told.size = tasks;
  told.local = numberOf("SLURM_LOCALID");
  if (firstOf({"SLURM_STEP_NUM_NODES", "SLURM_NNODES"}) == "1")
    told.localSize = tasks;
  if (told.address.empty())
    told.address = firstHost(firstOf({"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"}));
  if (told.port.empty()) {
    int64_t job = numberOf("SLURM_JOB_ID") >= 0 ? numberOf("SLURM_JOB_ID") : 0;
    constexpr int64_t firstPort = 15000, ports = 20000;
    told.port = std::to_string(firstPort + (job * 16 + numberOf("SLURM_STEP_ID") + 1) % ports);
  }
  return told;
}

} // namespace para::runtime
