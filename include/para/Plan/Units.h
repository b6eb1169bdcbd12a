//===- Units.h - Numbers as people read them ----------------------*- C++ -*-===//
#ifndef PARA_PLAN_UNITS_H
#define PARA_PLAN_UNITS_H

#include "para/Plan/Plan.h"

namespace para {

std::string inBytes(double bytes);       ///< "12.3 GiB"
std::string inSignedBytes(double bytes); ///< "-1.0 MiB"
std::string inSeconds(double seconds);   ///< "3.21 ms"
std::string inPercent(double share, int digits = 1);
/// "data=4 tensor=2 pipeline=1".
std::string describeMesh(const Plan &plan);
/// "--mesh data=4,tensor=2,pipeline=1 --zero=1": the plan, as it is asked for.
std::string describeFlags(const Plan &plan);

} // namespace para

#endif
