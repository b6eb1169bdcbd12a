#ifndef PARA_AUTODIFF_PASSES_TD
#define PARA_AUTODIFF_PASSES_TD

include "mlir/Pass/PassBase.td"

def SelectParametersPass : Pass<"para-select-parameters", "::mlir::ModuleOp"> {
  let summary = "Mark which parameters are trained";
  let description = [{
    Starts from what the importer marked `para.trainable`, then applies globs over parameter names: `trainable` leaves only what
    it matches, `freeze` takes away. A glob that matches nothing is an error which lists the parameters.
  }];
  let options = [ListOption<"trainable", "trainable", "std::string", "globs of parameters to train">,
                 ListOption<"freeze", "freeze", "std::string", "globs of parameters to leave as they are">];
}

def SetPrecisionPass : Pass<"para-set-precision", "::mlir::ModuleOp"> {
  let summary = "Store values in 16 bits and compute in f32";
  let description = [{
    Writes casts, by the rules that ops tell (PrecisionOpInterface). Products take narrow operands and give narrow results. Arithmetic is
    f32; its result is rounded if an operand was narrow, and stays f32 if it was made of sums, statistics and constants alone. Parameters and inputs
    keep their types, and results those that they were declared with (in training f32); trained parameters of a narrow type become f32 masters. Without training, a
    parameter of which only the rounding is used, or that of rows which are looked up, is stored narrow. Where `precision` is empty, narrow are the values
    that the model declares so, each in its own type: products of f32 operands, which may be beyond what 16 bits hold, stay f32, and what is
    rounded of a value that is declared f32 has `para.apart` until para-place-roundings: it is not the number for those who take the value itself.
  }];
  let options = [Option<"precision", "precision", "std::string", "", "bf16 or f16; empty: as the model declares its values">,
                 Option<"train", "train", "bool", "false", "a training step is derived later">];
}

def AttachLossPass : Pass<"para-attach-loss", "::mlir::ModuleOp"> {
  let summary = "Make the loss the first result of @main and drop the other outputs";
  let description = [{
    `loss` names a scalar output, or a criterion over the only float output: `cross-entropy:labels=NAME,ignore=-100,smoothing=0`,
    `bce:target=NAME`, `mse:target=NAME`, `l1:target=NAME`. Labels that are no input of the model become one. Empty: the only scalar float output.
  }];
  let options = [Option<"loss", "loss", "std::string", "", "the loss">];
}

def DifferentiatePass : Pass<"para-differentiate", "::mlir::ModuleOp"> {
  let summary = "Append the gradient of every trainable parameter to the results of @main";
  let description = [{
    Reverse mode over the ops in @main. Gradients are results of kind "gradient" which carry the parameter's name. Ops made here have
    the location of the op they derive from, wrapped with the phase `backward`. With a loss scale, gradients are so many times larger; the scale is state.
  }];
  let options = [Option<"lossScale", "loss-scale", "double", "0", "where a dynamic loss scale begins; 0: there is none">];
}

def WidenGradientsPass : Pass<"para-widen-gradients", "::mlir::ModuleOp"> {
  let summary = "Make gradients of parameters in f32 before anything is added to them";
  let description = [{
    The gradient of a master is the widened cotangent of its narrow copy. Where that is a product, a sum or a move of these which nobody else
    uses, it is made in f32 to begin with and never rounded. So are `outputs` that are declared f32, which may be beyond what 16 bits hold.
  }];
  let options = [Option<"outputs", "outputs", "bool", "false", "outputs of the model, too">];
}

def ApplyOptimizerPass : Pass<"para-apply-optimizer", "::mlir::ModuleOp"> {
  let summary = "Turn gradients into updates of parameters and optimizer state";
  let description = [{
    A loss scale is taken out of the gradients, and a step in which they are not finite changes nothing but the scale. Adds state arguments (kind "state"), scalar arguments for the optimizer's numbers (kind "hyper", f64), the gradient norm as
    an output and the new values as results of kind "update".
  }];
  let options = [Option<"optimizer", "optimizer", "std::string", "\"adamw\"", "NAME:key=value,...">,
                 Option<"clipNorm", "clip-norm", "double", "0", "bound of the global norm; 0: none">,
                 Option<"clipValue", "clip-value", "double", "0", "bound of each element; 0: none">,
                 Option<"keepGradients", "keep-gradients", "bool", "false", "gradients stay results, for inspection">];
}

def DecomposePass : Pass<"para-decompose", "::mlir::ModuleOp"> {
  let summary = "Replace composite ops by their formulas over the core set";
}

def PlaceRoundingsPass : Pass<"para-place-roundings", "::mlir::ModuleOp"> {
  let summary = "Round narrow values where they are stored, once for all";
  let description = [{
    Arithmetic on narrow values becomes f32 between casts. A value that is stored narrow is the rounded number for everybody; one that goes into the
    arithmetic of a single op of its phase is not rounded. So what is computed does not depend on which ops make one kernel.
  }];
}

def TagPhasesPass : Pass<"para-tag-phases", "::mlir::ModuleOp"> {
  let summary = "Write each op's phase onto it, from its location";
}

def VerifyAutodiffPass : Pass<"para-verify-autodiff", "::mlir::ModuleOp"> {
  let summary = "Check what the autodiff stage promises";
  let description = [{ No composite ops are left, every op has a phase, and every trainable parameter is updated once. }];
}

#endif
