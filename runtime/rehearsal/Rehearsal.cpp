//===- Rehearsal.cpp - Start and end of a rehearsal ---------------------------===//
#include "Rehearsal.h"

#include "core/Environment.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace para::runtime::rehearsal {

namespace {
Rank *served = nullptr;
const para_program *carried = nullptr;
uint64_t chosenSeed = 0, state = 0;
} // namespace

void start(Rank *rank, const para_program *program) {
  served = rank;
  carried = program;
  chosenSeed = seedOf(Setting::RehearseSeed);
  state = chosenSeed * 0x9e3779b97f4a7c15ull + uint64_t(rank->rank()) * 0xd1342543de82ef95ull;
  if (rank->rank() == 0)
    std::fprintf(stderr, "para: a rehearsal: the processor stands in for the GPUs; PARA_REHEARSE_SEED=%llu chooses the order of what may overtake\n",
                 (unsigned long long)chosenSeed);
}

bool isOn() { return served != nullptr; }
const Rank &rankOf() { return *served; }
const para_program &programOf() { return *carried; }
uint64_t seed() { return chosenSeed; }

uint64_t random() { // splitmix64
  uint64_t z = state += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

void fail(const char *op, const std::string &cause) {
  served->report(op, cause);
  _exit(1); // A kernel's stack may be the current one: there is no way back from here.
}

std::string text(const char *format, ...) {
  va_list list;
  va_start(list, format);
  char buffer[1024];
  std::vsnprintf(buffer, sizeof(buffer), format, list);
  va_end(list);
  return buffer;
}

} // namespace para::runtime::rehearsal
