//===- RandomInputs.h - Samples for a program that has none --------*- C++ -*-===//
#ifndef PARA_LIB_DRIVER_RANDOMINPUTS_H
#define PARA_LIB_DRIVER_RANDOMINPUTS_H

#include "core/Array.h"
#include "core/Manifest.h"

namespace para {

/// A batch for the program, the same for the same seed: an array an input, of its type and shape.
///   floats    between 0 and 1, which are probabilities, masks and pixels as well
///   indices   anything that all ranges of the manifest allow, not counted from the end; now and then what is exempt (labels to be ignored)
///   others    masks: ones, and then zeros to the end of each row, of which there are some but fewer than half
runtime::ArrayMap makeRandomInputs(const runtime::Manifest &manifest, int64_t seed);

} // namespace para

#endif
