#ifndef PARA_LOWER_PASSES_TD
#define PARA_LOWER_PASSES_TD

include "mlir/Pass/PassBase.td"

def FormTilesPass : Pass<"para-form-tiles", "::mlir::ModuleOp"> {
  let summary = "Makes attention kernels (rt.fused with `rt.tiles`) that do not store scores";
  let description = [{
    Finds products of which the result, `scores`, is worked on element by element and row by row, with a maximum of each row among it, and is
    taken by other products in the same phase only. Forward it becomes one kernel, which keeps of each row its maximum and the like; backward
    one that goes over the columns and one that goes over the rows, which make the scores again. What products take is made in the kernel
    too, where that reads no more. Scores that anything else reads, and sizes for which a GPU's block has no room, stay as they are. Example:

    ```
    %s = para.dot %q, %k                           // [batch, rows, columns]
    %p = softmax of %s
    %o = para.dot %p, %v
    // becomes
    %o, %max, %sum = rt.fused %q, %k, %v attributes {rt.tiles = [0, rows, columns, batch]} { .. }
    ```
  }];
  let dependentDialects = ["::para::rt::RtDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::LLVM::LLVMDialect"];
}

def FormCallsPass : Pass<"para-form-calls", "::mlir::ModuleOp"> {
  let summary = "Makes runtime calls over tensors (rt.call) of products, convolutions, scatters and collectives";
  let description = [{
    Transposes, slices and broadcasts in front of a product, and a transpose behind it, become strides. What a call needs
    contiguous and is not gets a copy made of ordinary ops. Where a library knows one stride of a batch (every target but `host`), so does
    an operand whose batch has several; and rows of 16-bit matrices that would begin anywhere lie apart, so that it can load 16 bytes at once:

    ```
    %s = para.dot %x, %w : [8192, 768] x [768, 50257]
    // becomes, for a GPU
    %0 = rt.call "matmul" %x, %w : [8192, 50264], of which 50257 columns are written
    %s = para.slice %0
    ```
  }];
  let options = [Option<"target", "target", "std::string", "\"host\"", "host, cuda or rehearsal">];
  let dependentDialects = ["::para::rt::RtDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def PlaceSumsPass : Pass<"para-place-sums", "::mlir::ModuleOp"> {
  let summary = "Adds a microbatch's part of a gradient up when its message is waited for, not at the end of the pass backwards";
  let description = [{
    Reduce-scatters whose results are only added up need not be waited for at once, but are before too many bytes are under way: whole
    gradients are not kept for long, and parts of them not at all.
  }];
}

def SplitReductionsPass : Pass<"para-split-reductions", "::mlir::ModuleOp"> {
  let summary = "Makes a long reduction to one element a reduction of many parts and one of their results";
  let description = [{
    A row of a kernel is worked through by one thread (on a GPU by one block); the parts are rows. How many there are is told
    by the shape alone, so that the sum is the same on any number of threads. Example:

    ```
    %0 = para.reduce sum %x [0, 1] : tensor<512x768xf32> -> tensor<f32>
    // becomes
    %0 = para.reduce sum %x [1] : tensor<512x768xf32> -> tensor<512xf32>
    %1 = para.reduce sum %0 [0] : tensor<512xf32> -> tensor<f32>
    ```

    For a GPU (every target but `host`) sums over columns are split, too, where else few blocks would have all of the work. Where rows are many,
    their parts are strips of rows, and the first reduction is marked `rt.strip_sum`: a kernel that has these rows can make it beside.

    ```
    %0 = para.reduce sum %x [0] : tensor<8192x768xf32> -> tensor<768xf32>
    // becomes, for a GPU
    %0 = para.reshape %x : tensor<8192x768xf32> -> tensor<512x16x768xf32>
    %1 = para.reduce sum %0 [1] {rt.strip_sum} : tensor<512x16x768xf32> -> tensor<512x768xf32>
    %2 = para.reduce sum %1 [0] : tensor<512x768xf32> -> tensor<768xf32>
    ```
  }];
  let options = [Option<"target", "target", "std::string", "\"host\"", "host, cuda or rehearsal">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def FormKernelsPass : Pass<"para-form-kernels", "::mlir::ModuleOp"> {
  let summary = "Groups the remaining tensor ops into kernels (rt.fused)";
  let description = [{
    Ops of a body stand in an order that depends on what is computed alone, so that kernels that do the same are the same. For a GPU (every
    target but `host`) numbers made of arguments are made by one kernel; updates of parameters are never tied together by what repeats a number
    for them, since launches of equal kernels are merged later; what is `rt.strip_sum` joins a kernel that makes or reads its rows; and functions
    (exp, tanh) are computed again in another kernel rather than stored for it, where that moves fewer bytes.
  }];
  let options = [Option<"target", "target", "std::string", "\"host\"", "host, cuda or rehearsal">];
  let dependentDialects = ["::para::rt::RtDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def OrderUpdatesPass : Pass<"para-order-updates", "::mlir::ModuleOp"> {
  let summary = "Reduces gradients as early as they are there, or right before they are used";
  let description = [{
    Where collectives run beside kernels (every target but `host`) and there is one microbatch, the reduction of a gradient is
    issued amid the pass backwards, as soon as its operands are there: the op changes its phase (Li et al. 2020). On the `host`,
    where nothing runs beside it, parameters are updated right behind the reduction, while the gradient is in cache. A program
    of several stages is left as it is.
  }];
  let options = [Option<"target", "target", "std::string", "\"host\"", "host, cuda or rehearsal">];
  let dependentDialects = ["::para::rt::RtDialect"];
}

def AssignMemoryPass : Pass<"para-assign-memory", "::mlir::ModuleOp"> {
  let summary = "Gives every value a static place in the arena of its stage";
  let description = [{
    Writes `rt.addresses` on ops and arguments, `rt.arena_bytes`, `rt.slots`, `rt.slot_bytes` and `rt.actions` on functions.
    The answer is checked over the whole schedule by code of its own.
  }];
  let options = [Option<"target", "target", "std::string", "\"host\"", "host, cuda or rehearsal">];
  let dependentDialects = ["::para::rt::RtDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def LowerToRtPass : Pass<"para-lower-to-rt", "::mlir::ModuleOp"> {
  let summary = "Makes segments of device ops and shares equal kernels; completes the manifest";
  let dependentDialects = ["::para::rt::RtDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let options = [Option<"target", "target", "std::string", "\"host\"", "what the manifest says the program is for">];
}

def EmitKernelsPass : Pass<"para-emit-kernels", "::mlir::ModuleOp"> {
  let summary = "Writes the loops of each kernel as a function over vectors";
  let description = [{
    On the host a function of a range of the launch. For `cuda` and `rehearsal` a function of one thread of a block
    (KernelBlocks.cpp), which asks its place of the functions para_gpu_*; their meaning is in runtime/rehearsal/Blocks.h. There
    `rt.scatter_add` has kernels, too, and is refused for element types for which there is no code.
  }];
  let options = [Option<"target", "target", "std::string", "\"host\"", "host, cuda or rehearsal">,
                 Option<"describe", "describe", "bool", "false", "writes on each kernel as `rt.facts` what it does and moves">];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect", "::mlir::LLVM::LLVMDialect"];
}

def ExpandMathPass : Pass<"para-expand-math"> {
  let summary = "Replaces transcendental functions by polynomials and rational functions";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

#endif
