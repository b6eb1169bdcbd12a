#ifndef PARA_IR_PARADIALECT_TD
#define PARA_IR_PARADIALECT_TD

include "mlir/IR/OpBase.td"

def ParaDialect : Dialect {
  let name = "para";
  let cppNamespace = "::para";
  let summary = "Tensor programs to be spread over a mesh of devices.";
  let description = [{
    Pure tensor operations on static shapes. Everything a model says is decomposed into this core set; parameters are
    function arguments with a name and a place in a file. How a program is spread is told by attributes
    (`para.sharding`, `para.stage`), and after partitioning by explicit collectives.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = [];
  let extraClassDeclaration = [{
    /// Adds the ops of one family; called once by each folder of lib/Ops.
    template <typename... Ops> void addFamily() { addOperations<Ops...>(); }
    void registerAttributes();
  }];
  let hasConstantMaterializer = 1;
  // Attributes of ours on ops, arguments and results have their types, so that passes may take them as what they are.
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

class Para_Op<string mnemonic, list<Trait> traits = []>
    : Op<ParaDialect, mnemonic, traits>;

#endif
