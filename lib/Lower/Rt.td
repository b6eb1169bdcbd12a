#ifndef PARA_LOWER_RT_TD
#define PARA_LOWER_RT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def RtDialect : Dialect {
  let name = "rt";
  let cppNamespace = "::para::rt";
  let summary = "The device program: kernels, calls of the runtime, buffers at static offsets";
  let description = [{
    Two levels. Over tensors: `rt.fused` (what becomes one kernel) and `rt.call` (what becomes one call of the runtime). Over
    memory: `rt.segment` holds a straight line of ops that mirror the runtime's C ABI one to one, with addresses as attributes.
  }];
  let useDefaultAttributePrinterParser = 1;
}

def Rt_AddressAttr : AttrDef<RtDialect, "Address"> {
  let mnemonic = "address";
  let summary = "A place in the arena: offset + microbatch * block + slot * slot bytes; with a ring, its number of blocks follow in turn";
  let parameters = (ins "int64_t":$offset, "int64_t":$block, "int64_t":$slot, DefaultValuedParameter<"int64_t", "0">:$ring);
  let assemblyFormat = "`<` $offset `,` $block `,` $slot (`,` $ring^)? `>`";
}

class Rt_Op<string mnemonic, list<Trait> traits = []> : Op<RtDialect, mnemonic, traits>;

// --- over tensors ---------------------------------------------------------------------------------------------------

def Rt_YieldOp : Rt_Op<"yield", [Pure, Terminator]> {
  let summary = "Results of a fused body";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}
def Rt_FusedOp : Rt_Op<"fused", [IsolatedFromAbove, SingleBlock]> {
  let summary = "Tensor ops that become one kernel; the block arguments are the inputs";
  let arguments = (ins Variadic<AnyType>:$inputs);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$inputs attr-dict-with-keyword `:` functional-type($inputs, $outputs) $body";
}
def Rt_CallOp : Rt_Op<"call"> {
  let summary = "A call of the runtime over tensors; `callee` is the op of this dialect that it becomes, `desc` its attributes";
  let description = [{ `offsets` are elements into each input's buffer from where the call reads. }];
  let arguments = (ins StrAttr:$callee, Variadic<AnyType>:$inputs, DictionaryAttr:$desc, DenseI64ArrayAttr:$offsets);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = "$callee $inputs $offsets $desc attr-dict `:` functional-type($inputs, $outputs)";
}

// --- over memory ----------------------------------------------------------------------------------------------------

def Rt_SegmentOp : Rt_Op<"segment", [Symbol, IsolatedFromAbove, NoTerminator, SingleBlock]> {
  let summary = "One piece of a stage's program, run for one microbatch";
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$stage);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `stage` $stage attr-dict-with-keyword $body";
}
def Rt_KernelOp : Rt_Op<"kernel", [Symbol, IsolatedFromAbove]> {
  let summary = "A kernel: the body of fused ops, later a function and its extent";
  let description = [{
    Arguments of the function: addresses of inputs, of outputs, then the numbers named by `numbers` (a mesh axis, or
    `microbatch`). The body is dropped when `function` is there. With `block` the function is what one of so many threads of a
    block does, and `extent` counts blocks.

    With `instances` a launch does the work of many: each has the number of its elements, rows or terms, as `rt.varies` says (0: as many as
    the body has), and, for the buffers whose numbers are `varying`, their offsets in the arena. The launch gives the arena first, then the
    other buffers.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, ArrayAttr:$numbers, OptionalAttr<FlatSymbolRefAttr>:$function,
                       OptionalAttr<I64Attr>:$extent, OptionalAttr<I64Attr>:$grain, OptionalAttr<I64Attr>:$block,
                       OptionalAttr<I64Attr>:$shared_bytes, OptionalAttr<DenseI64ArrayAttr>:$varying, OptionalAttr<ArrayAttr>:$instances);
  let regions = (region AnyRegion:$body);
  let assemblyFormat = [{
    $sym_name `numbers` $numbers (`function` $function^)? (`extent` $extent^)? (`grain` $grain^)? (`block` $block^)?
    (`shared` $shared_bytes^)? (`varying` $varying^)? (`instances` $instances^)? attr-dict-with-keyword $body
  }];
}

class Rt_DeviceOp<string mnemonic, dag more> : Rt_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]> {
  let arguments = !con((ins ArrayAttr:$buffers, I64Attr:$stream), more);
  let assemblyFormat = "$buffers attr-dict";
}
def Rt_LaunchOp : Rt_DeviceOp<"launch", (ins FlatSymbolRefAttr:$kernel)> {
  let summary = "para_launch: the kernel with the addresses in `buffers`";
}
def Rt_MatmulOp : Rt_DeviceOp<"matmul", (ins I64Attr:$dtype, I64Attr:$c_dtype, DenseI64ArrayAttr:$batch, DenseI64ArrayAttr:$a_batch, DenseI64ArrayAttr:$b_batch,
    DenseI64ArrayAttr:$c_batch, DenseI64ArrayAttr:$mnk, DenseI64ArrayAttr:$strides, OptionalAttr<UnitAttr>:$accumulate)> {
  let summary = "para_matmul; `c_dtype`: of the result; `strides`: rows and columns of a, of b, rows of c. `accumulate`: adds from the second microbatch on";
}
def Rt_ConvolutionOp : Rt_DeviceOp<"convolution", (ins I64Attr:$kind, I64Attr:$dtype, I64Attr:$groups, DenseI64ArrayAttr:$nck, DenseI64ArrayAttr:$in,
    DenseI64ArrayAttr:$out, DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$dilation,
    DenseI64ArrayAttr:$pad_low, DenseI64ArrayAttr:$pad_high)> {
  let summary = "para_convolution";
}
def Rt_ScatterAddOp : Rt_DeviceOp<"scatter_add", (ins I64Attr:$dtype, I64Attr:$index_dtype, I64Attr:$positions, I64Attr:$width, I64Attr:$rows,
    StrArrayAttr:$axes, I64Attr:$size, I64Attr:$unit, I64Attr:$bytes)> {
  let summary = "para_zero and para_scatter_add: indices, updates, out";
}
def Rt_CopyOp : Rt_DeviceOp<"copy", (ins I64Attr:$bytes)> { let summary = "para_copy: from, to"; }
class Rt_CommunicateOp<string mnemonic> : Rt_DeviceOp<mnemonic, (ins I64Attr:$communicator, I64Attr:$sequence, I64Attr:$per_microbatch,
    I64Attr:$count, I64Attr:$dtype, I64Attr:$reduction)> {
  let description = [{ The sequence number in the runtime is `sequence` + microbatch * `per_microbatch`. }];
}
def Rt_AllReduceOp : Rt_CommunicateOp<"all_reduce"> { let summary = "para_all_reduce"; }
def Rt_AllGatherOp : Rt_CommunicateOp<"all_gather"> { let summary = "para_all_gather"; }
def Rt_ReduceScatterOp : Rt_CommunicateOp<"reduce_scatter"> { let summary = "para_reduce_scatter"; }
def Rt_AllToAllOp : Rt_CommunicateOp<"all_to_all"> { let summary = "para_all_to_all"; }
def Rt_SendOp : Rt_DeviceOp<"send", (ins I64Attr:$axis, I64Attr:$peer, I64Attr:$tag, I64Attr:$bytes)> { let summary = "para_send; the tag in the runtime is tag * microbatches + microbatch"; }
def Rt_RecvOp : Rt_DeviceOp<"recv", (ins I64Attr:$axis, I64Attr:$peer, I64Attr:$tag, I64Attr:$bytes)> { let summary = "para_recv"; }
def Rt_WaitOp : Rt_DeviceOp<"wait", (ins I64Attr:$tag, I64Attr:$back)> { let summary = "para_wait for the message of `back` microbatches ago"; }
def Rt_EventRecordOp : Rt_DeviceOp<"event_record", (ins I64Attr:$event)> { let summary = "para_event_record"; }
def Rt_EventWaitOp : Rt_DeviceOp<"event_wait", (ins I64Attr:$event)> { let summary = "para_event_wait"; }

#endif
