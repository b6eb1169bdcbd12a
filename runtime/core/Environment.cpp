//===- Environment.cpp - What the environment tells a program -----------------===//
#include "Environment.h"

#include <cstdlib>
#include <limits>

namespace para::runtime {

namespace {
enum class Kind { Switch, Whole, Seconds };
struct Spec {
  Setting setting;
  const char *name;
  Kind kind;
  double least, most, usual;
  const char *needed; ///< what it can be
};
constexpr double mostSeconds = 1e6;
constexpr Spec specs[] = {
    {Setting::Rehearse, "PARA_REHEARSE", Kind::Switch, 0, 1, 0, "1 rehearses the program on processors, 0 does not"},
    {Setting::RehearseSeed, "PARA_REHEARSE_SEED", Kind::Whole, 0, double(std::numeric_limits<int64_t>::max()), 1, "a whole number from 0 on is needed"},
    {Setting::RehearseTimeout, "PARA_REHEARSE_TIMEOUT", Kind::Seconds, 0.1, mostSeconds, 20, "seconds from 0.1 to 1000000 are needed"},
    {Setting::CommunicationTimeout, "PARA_COMMUNICATION_TIMEOUT", Kind::Seconds, 0, mostSeconds, 10,
     "seconds up to 1000000 are needed, or 0 to wait for ever"},
    {Setting::CudaGraphs, "PARA_CUDA_GRAPHS", Kind::Switch, 0, 1, 1, "1 runs steps as CUDA graphs where that is possible, 0 does not"},
    {Setting::RegisterBuffers, "PARA_REGISTER_BUFFERS", Kind::Switch, 0, 1, 1, "1 registers the arena with NCCL where that is possible, 0 does not"},
    {Setting::Bind, "PARA_BIND", Kind::Switch, 0, 1, 1, "1 binds ranks to the cores next to their GPUs, 0 does not"},
    {Setting::RendezvousTimeout, "PARA_RENDEZVOUS_TIMEOUT", Kind::Seconds, 0.1, mostSeconds, 60, "seconds from 0.1 to 1000000 are needed"},
};

const Spec &specOf(Setting setting) {
  for (const Spec &spec : specs)
    if (spec.setting == setting)
      return spec;
  return specs[0];
}

/// False where the text is none of what the variable can be.
bool parse(const Spec &spec, const std::string &text, double &number) {
  int64_t whole = 0;
  if (spec.kind == Kind::Seconds ? !parseDouble(text, number) : !parseInteger(text, whole))
    return false;
  number = spec.kind == Kind::Seconds ? number : double(whole);
  return number >= spec.least && number <= spec.most;
}

std::string given(const Spec &spec) {
  const char *text = std::getenv(spec.name);
  return text ? text : "";
}
} // namespace

Status checkEnvironment() {
  double number = 0;
  for (const Spec &spec : specs)
    if (std::string text = given(spec); !text.empty() && !parse(spec, text, number))
      return Status::error(std::string(spec.name) + "=" + text + ": " + spec.needed);
  return Status::success();
}

double numberOf(Setting setting) {
  const Spec &spec = specOf(setting);
  double number = 0;
  return parse(spec, given(spec), number) ? number : spec.usual;
}

uint64_t seedOf(Setting setting) { // a double would round it
  const Spec &spec = specOf(setting);
  int64_t whole = 0;
  return uint64_t(parseInteger(given(spec), whole) && whole >= 0 ? whole : int64_t(spec.usual));
}

const char *nameOf(Setting setting) { return specOf(setting).name; }

} // namespace para::runtime
