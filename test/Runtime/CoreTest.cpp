//===- CoreTest.cpp - Manifest, shards, schedules, flags, data -----------------===//
#include "TestSupport.h"

#include "core/Data.h"
#include "core/Environment.h"
#include "core/Flags.h"
#include "core/Hyper.h"
#include "core/Init.h"

#include <cmath>
#include <set>

using namespace para::runtime;

static Manifest meshManifest(std::vector<MeshAxis> mesh, int64_t microbatches = 1) {
  Manifest manifest;
  manifest.mode = "train";
  manifest.mesh = std::move(mesh);
  manifest.batch = 4;
  manifest.microbatches = microbatches;
  manifest.hyper = {{"lr", 1e-3}, {"beta1", 0.9}, {"weight_decay", 0.1}};
  return manifest;
}

static Tensor cutTensor(const Manifest &manifest, std::vector<int64_t> shape, std::vector<std::vector<std::string>> dims,
                        std::vector<int64_t> units = {}, std::vector<int64_t> blocks = {}) {
  Tensor tensor{};
  tensor.name = "t";
  tensor.shape = shape;
  tensor.dims = dims;
  tensor.units = units.empty() ? std::vector<int64_t>(shape.size(), 1) : units;
  tensor.blocks = blocks.empty() ? std::vector<int64_t>(shape.size(), 1) : blocks;
  for (size_t d = 0; d < shape.size(); ++d)
    tensor.local.push_back(paddedSize(manifest, tensor, d));
  return tensor;
}

/// The box of a tensor that does not fall into blocks.
static Box shardBox(const Manifest &manifest, const Tensor &tensor, const std::vector<int64_t> &coordinates, int64_t microbatch) {
  std::vector<Box> boxes = shardBoxes(manifest, tensor, coordinates, microbatch);
  EXPECT_EQ(boxes.size(), 1u);
  return boxes[0];
}

// A fused [3 blocks, 4 heads of 2] cut between heads over 3 ranks: 2, 2 and 0 heads of each block, side by side locally.
TEST(Shard, UnitsAndBlocks) {
  Manifest manifest = meshManifest({{"tensor", 3}});
  Tensor tensor = cutTensor(manifest, {24}, {{"tensor"}}, {2}, {3});
  EXPECT_EQ(tensor.local[0], 12);
  std::vector<std::vector<int64_t>> found, expected = {{0, 4, 0}, {8, 4, 4}, {16, 4, 8}, {4, 4, 0}, {12, 4, 4}, {20, 4, 8},
                                                       {8, 0, 0}, {16, 0, 4}, {24, 0, 8}};
  for (int64_t rank = 0; rank < 3; ++rank)
    for (const Box &box : shardBoxes(manifest, tensor, manifest.coordinates(rank), 0))
      found.push_back({box.begin[0], box.size[0], box.local[0]});
  EXPECT_EQ(found, expected);
}

// Every element of a tensor belongs to exactly one rank per replica, for sizes that divide and sizes that do not.
TEST(Shard, PartsCoverTheTensorOnce) {
  Manifest manifest = meshManifest({{"data", 3}, {"tensor", 2}}, 2);
  for (int64_t size = 0; size < 20; ++size)
    for (auto dims : std::vector<std::vector<std::string>>{{}, {"data"}, {"data", "tensor"}, {"tensor", "data"}, {"microbatch", "data"}}) {
      Tensor tensor = cutTensor(manifest, {size}, {dims});
      std::vector<int> count(size_t(size), 0);
      int64_t blocks = !dims.empty() && dims[0] == "microbatch" ? 2 : 1;
      for (int64_t rank = 0; rank < manifest.ranks(); ++rank)
        for (int64_t block = 0; block < blocks && isFirstReplica(manifest, tensor, rank); ++block) {
          Box box = shardBox(manifest, tensor, manifest.coordinates(rank), block);
          EXPECT_LE(box.size[0], tensor.local[0]);
          for (int64_t i = 0; i < box.size[0]; ++i)
            ++count[size_t(box.begin[0] + i)];
        }
      for (int at : count)
        EXPECT_EQ(at, 1) << size;
    }
}

// Size 5 over 2 x 2: pieces of 3 cut into 2, so that gathering over the inner axis gives the outer piece.
TEST(Shard, InnerCutsAreOfPaddedPieces) {
  Manifest manifest = meshManifest({{"a", 2}, {"b", 2}});
  Tensor tensor = cutTensor(manifest, {5}, {{"a", "b"}});
  EXPECT_EQ(tensor.local[0], 2);
  std::vector<std::pair<int64_t, int64_t>> found, expected = {{0, 2}, {2, 1}, {3, 2}, {5, 0}};
  for (int64_t rank = 0; rank < 4; ++rank) {
    Box box = shardBox(manifest, tensor, manifest.coordinates(rank), 0);
    found.emplace_back(box.begin[0], box.size[0]);
  }
  EXPECT_EQ(found, expected);
}

TEST(Shard, CopiesBoxes) {
  std::vector<int32_t> from(4 * 5 * 6), to(2 * 3 * 4, -1);
  for (size_t i = 0; i < from.size(); ++i)
    from[i] = int32_t(i);
  copyBox(from.data(), {4, 5, 6}, {1, 2, 3}, to.data(), {2, 3, 4}, {0, 1, 1}, {2, 2, 3}, 4);
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t j = 0; j < 3; ++j)
      for (int64_t k = 0; k < 4; ++k) {
        bool isCopied = j >= 1 && k >= 1;
        int32_t expected = isCopied ? int32_t(((i + 1) * 5 + j - 1 + 2) * 6 + k - 1 + 3) : -1;
        EXPECT_EQ(to[size_t((i * 3 + j) * 4 + k)], expected);
      }
}

TEST(Manifest, OrdersMembersOfACommunicator) {
  Manifest manifest = meshManifest({{"a", 2}, {"b", 3}});
  manifest.communicators = {{"a"}, {"b"}, {"a", "b"}};
  EXPECT_EQ(manifest.members(0, 4), (std::vector<int64_t>{1, 4}));
  EXPECT_EQ(manifest.members(1, 4), (std::vector<int64_t>{3, 4, 5}));
  EXPECT_EQ(manifest.members(2, 4), (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
}

TEST(Manifest, SaysWhatIsWrong) {
  auto message = [](const std::string &stage) {
    std::string text = "{\"version\":1,\"model\":\"m\",\"mode\":\"infer\",\"mesh\":[{\"name\":\"data\",\"size\":2}],\"stages\":[" +
                       stage + "]}";
    Manifest manifest;
    return parseManifest(text.data(), text.size(), manifest).message();
  };
  auto tensor = [](const std::string &fields) {
    return "{\"arena_bytes\":64,\"actions\":[],\"tensors\":[{\"name\":\"w\",\"kind\":\"parameter\",\"dtype\":\"f32\"," + fields + "}]}";
  };
  EXPECT_EQ(message(tensor("\"shape\":[5],\"dims\":[[\"data\"]],\"local\":[3],\"offset\":0")), "");
  EXPECT_TRUE(has(message("{\"actions\":[],\"tensors\":[]}"), "lacks 'arena_bytes'"));
  EXPECT_TRUE(has(message(tensor("\"shape\":[5],\"dims\":[[\"data\"]],\"local\":[2],\"offset\":0")),
                  "tensor 'w' has local size 2 in dimension 0 where its cuts give 3"));
  EXPECT_TRUE(has(message(tensor("\"shape\":[5],\"dims\":[[\"tensor\"]],\"local\":[5],\"offset\":0")), "an axis that the mesh lacks"));
  EXPECT_TRUE(has(message(tensor("\"shape\":[5],\"dims\":[[\"data\"]],\"local\":[3],\"offset\":60")), "outside of the arena"));
  EXPECT_TRUE(has(message(tensor("\"shape\":\"x\",\"dims\":[],\"local\":[],\"offset\":0")), "'shape' is not a list"));
  Manifest manifest;
  EXPECT_EQ(parseManifest("{", 1, manifest).message(), "manifest: not JSON");
}

TEST(Manifest, ReadsWhichStagesExchangeMessages) {
  auto read = [](const std::string &messages, Manifest &manifest) {
    std::string stage = "{\"arena_bytes\":64,\"actions\":[],\"tensors\":[]}";
    std::string text = "{\"version\":1,\"model\":\"m\",\"mode\":\"infer\",\"mesh\":[{\"name\":\"pipeline\",\"size\":2}],\"communicators\":[{\"axes\":[]}],"
                       "\"messages\":" + messages + ",\"stages\":[" + stage + "," + stage + "]}";
    return parseManifest(text.data(), text.size(), manifest).message();
  };
  Manifest manifest;
  EXPECT_EQ(read("[[0,1],[1,0],[0,1,4,7]]", manifest), "");
  ASSERT_EQ(manifest.channels.size(), 3u);
  EXPECT_EQ(std::pair(manifest.channels[1].from, manifest.channels[1].to), std::pair(int64_t(1), int64_t(0)));
  EXPECT_TRUE(manifest.channels[0].tags.empty());
  EXPECT_EQ(manifest.channels[2].tags, (std::set<int64_t>{4, 7}));
  EXPECT_EQ(manifest.lines(), 4); // the communicator's before them
  for (const char *wrong : {"[[0]]", "[[0,2]]", "[[1,1]]", "[[-1,0]]", "[0,1]", "[[0,1,\"a\"]]"}) {
    Manifest other;
    EXPECT_EQ(read(wrong, other), "manifest: 'messages' holds something other than pairs of stages") << wrong;
  }
}

TEST(Environment, IsWhatItCanBe) {
  unsetenv("PARA_REHEARSE_SEED");
  EXPECT_EQ(numberOf(Setting::RendezvousTimeout), 60);
  EXPECT_EQ(seedOf(Setting::RehearseSeed), 1u);
  EXPECT_OK(checkEnvironment());
  for (auto [name, value, needed] : {std::tuple{"PARA_RENDEZVOUS_TIMEOUT", "0", "seconds from 0.1 to 1000000 are needed"},
                                     {"PARA_BIND", "yes", "1 binds ranks to the cores next to their GPUs, 0 does not"},
                                     {"PARA_REGISTER_BUFFERS", "2", "1 registers the arena with NCCL where that is possible, 0 does not"}}) {
    setenv(name, value, 1);
    EXPECT_EQ(checkEnvironment().message(), std::string(name) + "=" + value + ": " + needed);
    unsetenv(name);
  }
  setenv("PARA_REHEARSE_SEED", "9007199254740993", 1); // more than a double holds
  EXPECT_EQ(seedOf(Setting::RehearseSeed), 9007199254740993u);
  unsetenv("PARA_REHEARSE_SEED");
  EXPECT_FALSE(isOn(Setting::Rehearse));
}

TEST(Schedule, FollowsTheFormulas) {
  Schedule cosine{"cosine", 10, 110, 1e-4}, linear{"linear", 10, 110, 1e-4}, root{"inverse-sqrt", 10, 0, 0};
  for (const Schedule &schedule : {cosine, linear, root}) {
    EXPECT_DOUBLE_EQ(learningRate(schedule, 1e-3, 0), 1e-4);
    EXPECT_DOUBLE_EQ(learningRate(schedule, 1e-3, 9), 1e-3);
  }
  EXPECT_DOUBLE_EQ(learningRate(cosine, 1e-3, 10), 1e-3);
  EXPECT_DOUBLE_EQ(learningRate(cosine, 1e-3, 60), (1e-3 + 1e-4) / 2);
  EXPECT_DOUBLE_EQ(learningRate(cosine, 1e-3, 35), 1e-4 + 9e-4 * (1 + std::cos(M_PI / 4)) / 2);
  EXPECT_DOUBLE_EQ(learningRate(cosine, 1e-3, 110), 1e-4);
  EXPECT_DOUBLE_EQ(learningRate(cosine, 1e-3, 500), 1e-4);
  EXPECT_DOUBLE_EQ(learningRate(linear, 1e-3, 35), 1e-3 - 9e-4 / 4);
  EXPECT_DOUBLE_EQ(learningRate(linear, 1e-3, 110), 1e-4);
  EXPECT_DOUBLE_EQ(learningRate(root, 1e-3, 39), 1e-3 * std::sqrt(10.0 / 40));
  EXPECT_DOUBLE_EQ(learningRate(Schedule(), 1e-3, 1000), 1e-3);
}

TEST(Hyper, CorrectsBiasAndTakesOverrides) {
  Hyper hyper(meshManifest({}), {{"lr", 0.5}}, 7);
  double value;
  ASSERT_TRUE(hyper.valueAt("bias_correction1", 2, value));
  EXPECT_DOUBLE_EQ(value, 1 - 0.9 * 0.9 * 0.9);
  ASSERT_TRUE(hyper.valueAt("lr", 0, value));
  EXPECT_DOUBLE_EQ(value, 0.5);
  ASSERT_TRUE(hyper.valueAt("seed", 0, value));
  EXPECT_DOUBLE_EQ(value, 7);
  EXPECT_FALSE(hyper.valueAt("bias_correction2", 0, value)) << "there is no beta2";
  EXPECT_FALSE(hyper.valueAt("eps", 0, value));
}

static Status parse(std::vector<std::string> words, Flags &flags) {
  words.insert(words.begin(), "model");
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  return parseFlags(int(argv.size()), argv.data(), meshManifest({{"data", 2}}), flags);
}

TEST(Flags, TakesBothForms) {
  Flags flags;
  ASSERT_OK(parse({"--data", "a.npz", "--steps=12", "--lr", "0.5", "--weight-decay=0", "--shuffle", "3", "--json"}, flags));
  EXPECT_EQ(flags.data, "a.npz");
  EXPECT_EQ(flags.steps, 12);
  EXPECT_EQ(flags.shuffleSeed, 3);
  EXPECT_TRUE(flags.json);
  EXPECT_EQ(flags.hyper, (std::vector<std::pair<std::string, double>>{{"lr", 0.5}, {"weight_decay", 0}}));
}

TEST(Flags, RefusesWithTheReason) {
  auto refuse = [](std::vector<std::string> words) {
    Flags flags;
    Status status = parse(words, flags);
    EXPECT_EQ(status.exitCode(), 2);
    return status.message();
  };
  EXPECT_TRUE(has(refuse({"--step", "3"}), "unknown flag --step; did you mean --steps?"));
  EXPECT_TRUE(has(refuse({"--steps", "x"}), "--steps x: a whole number from 0 to 1000000000000 is possible"));
  EXPECT_TRUE(has(refuse({"--steps"}), "--steps needs a value"));
  EXPECT_TRUE(has(refuse({"--ranks", "4"}), "compiled for 2 ranks (mesh data=2); compile with --ranks 4"));
  EXPECT_TRUE(has(refuse({"--batch", "8"}), "compiled for a batch of 4; compile with --dim batch=8"));
  EXPECT_TRUE(has(refuse({"--outputs", "y.npz"}), "--outputs belongs to inference"));
  EXPECT_TRUE(has(refuse({"--lr", "fast"}), "--lr fast: not a number"));
  EXPECT_TRUE(has(refuse({"--init=normal"}), "--init=normal: one of"));
  EXPECT_TRUE(has(refuse({"--save-every", "3"}), "--save-every needs --save"));
  EXPECT_TRUE(has(refuse({"data.npz"}), "unexpected argument 'data.npz'"));
  // A near miss only is a suggestion.
  EXPECT_FALSE(has(refuse({"--foo"}), "did you mean"));
  EXPECT_FALSE(has(refuse({"--xy"}), "did you mean"));
}

TEST(Flags, RefusesAbsurdNumbers) {
  auto refuse = [](std::vector<std::string> words) {
    Flags flags;
    Status status = parse(words, flags);
    EXPECT_EQ(status.exitCode(), 2) << words[0] << " " << words.back();
    return status.message();
  };
  for (const char *flag : {"--threads", "--ranks", "--batch", "--steps", "--epochs", "--repeat", "--warmup", "--save-every", "--validate-every"})
    for (const char *value : {"-1", "1.5", "nan", "1e3", "99999999999999999999", "9223372036854775807", "", " 1", "0x10"})
      EXPECT_TRUE(has(refuse({flag, value}), std::string(flag) + " " + value + ": a whole number from ")) << value;
  for (const char *flag : {"--threads", "--ranks", "--batch", "--repeat", "--save-every", "--validate-every"})
    EXPECT_TRUE(has(refuse({flag, "0"}), "a whole number from 1 to "));
  EXPECT_TRUE(has(refuse({"--threads", "999999"}), "--threads 999999: a whole number from 1 to "));
  for (const char *flag : {"--seed", "--shuffle"})
    for (const char *value : {"x", "1.5", "nan", "99999999999999999999"})
      EXPECT_TRUE(has(refuse({flag, value}), "a whole number of 64 bits"));
  for (const char *flag : {"--lr", "--beta1", "--weight_decay", "--weight-decay"})
    for (const char *value : {"nan", "inf", "-inf", "x", "", "1e999"})
      EXPECT_TRUE(has(refuse({flag, value}), "not a number"));
  EXPECT_TRUE(has(refuse({"--lr", "-1"}), "--lr -1: a number from 0 on"));
  EXPECT_TRUE(has(refuse({"--lr", "1e300"}), "--lr 1e300: a number from 0 on that 32 bits can hold"));
  EXPECT_TRUE(has(refuse({"--beta1", "1"}), "--beta1 1: from 0 on and less than 1"));
  for (const char *value : {"normal:-1", "normal:nan", "normal:1e30", "normal:x"})
    EXPECT_TRUE(has(refuse({std::string("--init=") + value}), "a deviation from 0 to 1e+06 is possible"));
}

// Numbers that the runtime computes are nobody's to set.
TEST(Flags, HidesDerivedNumbers) {
  Manifest manifest = meshManifest({});
  manifest.mode = "train";
  manifest.hyper = {{"lr", 1e-3}, {"beta1", 0.9}, {"bias_correction1", 0}};
  std::string help = helpText(manifest, "model");
  EXPECT_TRUE(has(help, "--beta1"));
  EXPECT_FALSE(has(help, "bias_correction"));
  std::string words[] = {"model", "--bias_correction1", "0.5"};
  char *argv[] = {words[0].data(), words[1].data(), words[2].data()};
  Flags flags;
  Status status = parseFlags(3, argv, manifest, flags);
  EXPECT_EQ(status.exitCode(), 2);
  EXPECT_TRUE(has(status.message(), "--bias_correction1: this number follows from the betas"));
}

TEST(Init, DependsOnGlobalIndicesOnly) {
  Manifest whole = meshManifest({}), cut = meshManifest({{"a", 3}, {"b", 2}});
  Tensor one = cutTensor(whole, {7, 5}, {{}, {}}), parts = cutTensor(cut, {7, 5}, {{"b"}, {"a"}});
  Initializer normal = initializerFor("normal:0.5", one);
  std::vector<float> expected(35);
  initialize(normal, one, shardBox(whole, one, {}, 0), 3, expected.data());
  for (int64_t rank = 0; rank < 6; ++rank) {
    std::vector<float> local(size_t(parts.localElements()), 0.f);
    Box box = shardBox(cut, parts, cut.coordinates(rank), 0);
    initialize(normal, parts, box, 3, local.data());
    for (int64_t i = 0; i < box.size[0]; ++i)
      for (int64_t j = 0; j < box.size[1]; ++j)
        EXPECT_EQ(local[size_t(i * parts.local[1] + j)], expected[size_t((box.begin[0] + i) * 5 + box.begin[1] + j)]);
  }
}

TEST(Init, HasTheAskedDistribution) {
  Manifest manifest = meshManifest({});
  Tensor tensor = cutTensor(manifest, {400, 100}, {{}, {}});
  for (auto [kind, deviation] : {std::pair{"normal:0.5", 0.5}, {"kaiming", std::sqrt(2.0 / 100)}, {"xavier", std::sqrt(2.0 / 500)}}) {
    std::vector<float> values(40000);
    initialize(initializerFor(kind, tensor), tensor, shardBox(manifest, tensor, {}, 0), 1, values.data());
    double sum = 0, squares = 0;
    for (float value : values)
      sum += value, squares += double(value) * value;
    EXPECT_NEAR(sum / 40000, 0, deviation * 0.02) << kind;
    EXPECT_NEAR(std::sqrt(squares / 40000), deviation, deviation * 0.02) << kind;
  }
}

TEST(Init, StartsScalesAtOneAndBiasesAtZero) {
  Manifest manifest = meshManifest({});
  Tensor tensor = cutTensor(manifest, {3}, {{}});
  tensor.name = "norm.weight";
  EXPECT_EQ(initializerFor("normal:0.02", tensor).kind, Initializer::Ones);
  tensor.name = "fc.bias";
  EXPECT_EQ(initializerFor("normal:0.02", tensor).kind, Initializer::Zeros);
}

TEST(Data, ShufflesEveryEpochAnew) {
  SampleOrder order(10, true, 5), again(10, true, 5);
  std::vector<int64_t> epochs[2];
  for (int64_t p = 0; p < 20; ++p)
    epochs[p / 10].push_back(order.sampleAt(p));
  for (auto &epoch : epochs)
    EXPECT_EQ(std::set<int64_t>(epoch.begin(), epoch.end()).size(), 10u);
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_EQ(again.sampleAt(13), epochs[1][3]) << "a position means the same sample without what came before";
}

TEST(Data, CutsTokenFiles) {
  TemporaryFolder folder;
  uint16_t tokens[14];
  for (uint16_t i = 0; i < 14; ++i)
    tokens[i] = uint16_t(100 + i);
  writeText(folder / "tokens.u16", std::string(reinterpret_cast<char *>(tokens), sizeof(tokens)));
  Manifest manifest = meshManifest({});
  manifest.batch = 2;
  manifest.inputs = {{"input_ids", PARA_I64, {2, 4}, false}, {"labels", PARA_I64, {2, 4}, false}};
  Dataset data;
  ASSERT_OK(data.open(folder / "tokens.u16", manifest, false));
  EXPECT_EQ(data.samples(), 3);
  Tensor tensor = cutTensor(manifest, {2, 4}, {{}, {}});
  tensor.dtype = PARA_I64;
  Box box = shardBox(manifest, tensor, {}, 0);
  std::vector<int64_t> local(8);
  tensor.name = "input_ids";
  data.fill(tensor, box, 2, local.data()); // the third sample, then round to the first
  EXPECT_EQ(local, (std::vector<int64_t>{108, 109, 110, 111, 100, 101, 102, 103}));
  tensor.name = "labels";
  data.fill(tensor, box, 2, local.data());
  EXPECT_EQ(local, (std::vector<int64_t>{109, 110, 111, 112, 101, 102, 103, 104}));
  manifest.inputs[0].shape = manifest.inputs[1].shape = {2, 14};
  EXPECT_TRUE(has(data.open(folder / "tokens.u16", manifest, false).message(), "fewer than one sample of 14"));
}

TEST(Data, NamesTheInputAndWhatWasExpected) {
  TemporaryFolder folder;
  Manifest manifest = meshManifest({});
  manifest.inputs = {{"x", PARA_F32, {4, 3}, false}};
  auto complaint = [&](const Array &array, bool exact) {
    EXPECT_OK(writeNpz(folder / "x.npz", {{"x", array}}));
    Dataset data;
    return data.open(folder / "x.npz", manifest, exact).message();
  };
  EXPECT_EQ(complaint(makeArray<float>(PARA_F32, {5, 3}, std::vector<float>(15)), false), "");
  EXPECT_TRUE(has(complaint(makeArray<int64_t>(PARA_I64, {5, 3}, std::vector<int64_t>(15)), false),
                  "input 'x' is i64[5, 3], expected f32[samples, 3]: the types differ"));
  EXPECT_TRUE(has(complaint(makeArray<float>(PARA_F32, {5, 2}, std::vector<float>(10)), false), "expected f32[samples, 3]"));
  EXPECT_TRUE(has(complaint(makeArray<float>(PARA_F32, {5, 3}, std::vector<float>(15)), true),
                  "expected f32[4, 3]; for this batch compile with --dim batch=5"));
  manifest.inputs[0].name = "image";
  EXPECT_TRUE(has(complaint(makeArray<float>(PARA_F32, {5, 3}, std::vector<float>(15)), false),
                  "lacks the input 'image' (f32[samples, 3]); it has: x"));
}

// Floats become floats and integers integers, where every value fits; what loses digits is told.
TEST(Data, ConvertsWhatFits) {
  TemporaryFolder folder;
  auto open = [&](const Array &array, DType to, Dataset &data) {
    Manifest manifest = meshManifest({});
    manifest.batch = 2;
    manifest.inputs = {{"x", to, {2}, false}};
    EXPECT_OK(writeNpz(folder / "x.npz", {{"x", array}}));
    return data.open(folder / "x.npz", manifest, false).message();
  };
  auto read = [&](Dataset &data, DType to, void *local) {
    Manifest manifest = meshManifest({});
    Tensor tensor = cutTensor(manifest, {2}, {{}});
    tensor.name = "x";
    tensor.dtype = to;
    data.fill(tensor, shardBox(manifest, tensor, {}, 0), 0, local);
  };
  Dataset data;
  EXPECT_EQ(open(makeArray<double>(PARA_F64, {2}, {0.1, -2.5}), PARA_F32, data), "");
  ASSERT_EQ(data.notes().size(), 1u);
  EXPECT_TRUE(has(data.notes()[0], "input 'x' is f64[2] and is rounded to f32"));
  float floats[2];
  read(data, PARA_F32, floats);
  EXPECT_EQ(floats[0], 0.1f);
  EXPECT_EQ(floats[1], -2.5f);
  EXPECT_EQ(open(makeArray<float>(PARA_F32, {2}, {0.1f, 3}), PARA_F64, data), "");
  EXPECT_TRUE(data.notes().empty());
  double doubles[2];
  read(data, PARA_F64, doubles);
  EXPECT_EQ(doubles[0], double(0.1f));
  EXPECT_EQ(open(makeArray<Float16>(PARA_F16, {2}, {Float16(0.5f), Float16(3.f)}), PARA_F32, data), "");
  EXPECT_TRUE(data.notes().empty());
  EXPECT_EQ(open(makeArray<int64_t>(PARA_I64, {2}, {-2147483648, 2147483647}), PARA_I32, data), "");
  EXPECT_TRUE(data.notes().empty());
  int32_t ints[2];
  read(data, PARA_I32, ints);
  EXPECT_EQ(ints[0], INT32_MIN);
  EXPECT_EQ(ints[1], INT32_MAX);
  EXPECT_EQ(open(makeArray<int32_t>(PARA_I32, {2}, {0, 1}), PARA_BOOL, data), "");
  // What does not fit is named with its place.
  EXPECT_TRUE(has(open(makeArray<int64_t>(PARA_I64, {2}, {0, 2147483648}), PARA_I32, data),
                  "input 'x' is i64[2], expected i32[samples]: its element 1 is 2147483648, which i32 does not hold"));
  EXPECT_TRUE(has(open(makeArray<int32_t>(PARA_I32, {2}, {0, 2}), PARA_BOOL, data), "its element 1 is 2, which bool does not hold"));
  EXPECT_TRUE(has(open(makeArray<double>(PARA_F64, {2}, {1e300, 0}), PARA_F32, data), "its element 0 is 1e+300, which f32 does not hold"));
  EXPECT_EQ(open(makeArray<double>(PARA_F64, {2}, {INFINITY, 0}), PARA_F32, data), "") << "an infinity is one in every float type";
  EXPECT_TRUE(has(open(makeArray<float>(PARA_F32, {2}, {1, 2}), PARA_I64, data), "expected i64[samples]: the types differ"));
  EXPECT_TRUE(has(open(makeArray<int64_t>(PARA_I64, {2}, {1, 2}), PARA_F32, data), "expected f32[samples]: the types differ"));
}

TEST(Text, NumbersReadBack) {
  for (double value : {0.1, 1.0 / 3, 1e-300, 123456789.125})
    EXPECT_EQ(std::strtod(roundTrip(value).c_str(), nullptr), value);
  EXPECT_EQ(roundTrip(0.1f), "0.1");
  EXPECT_EQ(roundTrip(double(INFINITY)), "null");
}
