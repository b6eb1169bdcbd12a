//===- OnnxWindow.h - Windows of convolutions and pooling -------*- C++ -*-===//
#ifndef PARA_IMPORT_ONNXWINDOW_H
#define PARA_IMPORT_ONNXWINDOW_H

#include "para/Import/OnnxOp.h"

namespace para {

/// Strides, dilations and padding from the attributes of Conv and the pooling operators (pads, auto_pad, ceil_mode) for an
/// input of spatial shape `input`; none after an error. With ceil_mode, padHigh grows so that every window that begins
/// inside is there.
std::optional<Windowing> readWindowing(OnnxOp &op, llvm::ArrayRef<int64_t> input, llvm::ArrayRef<int64_t> window);

} // namespace para

#endif
