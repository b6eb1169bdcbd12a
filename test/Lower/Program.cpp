//===- Program.cpp - Compiles a stage and runs it -------------------------===//
#include "Program.h"

#include "para/Emit/Emit.h"
#include "para/IR/ParaDialect.h"
#include "para/Lower/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/Support/FileSystem.h"

#include <cmath>
#include <dlfcn.h>
#include <random>

using namespace mlir;

para::Program::Program(const std::string &function, int64_t microbatches, const std::string &attributes) {
  DialectRegistry registry;
  registry.insert<ParaDialect, rt::RtDialect, func::FuncDialect>();
  MLIRContext mlir(registry);
  mlir.loadAllAvailableDialects();
  std::string text = "module attributes {para.microbatches = " + std::to_string(microbatches) + " : i64" + attributes + "} {\n" + function + "\n}\n";
  auto module = parseSourceString<ModuleOp>(text, &mlir);
  PassManager pm(&mlir);
  buildLowerPipeline(pm);
  llvm::SmallString<128> path;
  llvm::sys::fs::createTemporaryFile("para-lower-test", "so", path);
  EmitOptions options;
  options.kind = "shared";
  options.output = path.str().str();
  if (!module || failed(pm.run(*module)) || failed(emitProgram(*module, options)))
    return;
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  llvm::sys::fs::remove(path);
  if (!library) {
    ADD_FAILURE() << dlerror();
    return;
  }
  program = static_cast<const para_program *>(dlsym(library, "para_main_program"));
  manifest = llvm::cantFail(llvm::json::parse({program->manifest, program->manifest_bytes}));
  const llvm::json::Object &stage = *manifest.getAsObject()->getArray("stages")->front().getAsObject();
  context = test_context(*stage.getInteger("arena_bytes"));
}

char *para::Program::address(const std::string &name) {
  for (const llvm::json::Value &value : *manifest.getAsObject()->getArray("stages")->front().getAsObject()->getArray("tensors"))
    if (value.getAsObject()->getString("name") == llvm::StringRef(name))
      return static_cast<char *>(para_arena(context)) + *value.getAsObject()->getInteger("offset");
  ADD_FAILURE() << "no tensor " << name;
  return nullptr;
}

void para::Program::step() {
  for (const llvm::json::Value &value : *manifest.getAsObject()->getArray("stages")->front().getAsObject()->getArray("actions")) {
    const llvm::json::Object &action = *value.getAsObject();
    for (uint32_t i = 0; i < program->num_segments; ++i)
      if (*action.getString("segment") == program->segments[i].name)
        ASSERT_EQ(program->segments[i].run(context, *action.getInteger("microbatch"), *action.getInteger("slot")), PARA_OK);
  }
}

std::vector<float> para::numbers(size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<float> values(count);
  for (float &v : values)
    v = static_cast<float>(engine()) / 2147483648.0f - 1.0f;
  return values;
}

void para::expectNear(const std::vector<float> &have, const std::vector<double> &want, double tolerance) {
  ASSERT_EQ(have.size(), want.size());
  double scale = 1;
  for (double v : want)
    scale = std::max(scale, std::abs(v));
  for (size_t i = 0; i < want.size(); ++i)
    ASSERT_NEAR(have[i], want[i], tolerance * scale) << "element " << i;
}
