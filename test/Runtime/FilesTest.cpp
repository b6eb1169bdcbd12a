//===- FilesTest.cpp - Reading and writing files of arrays --------------------===//
//
// What is written reads back; what numpy and ONNX write is read; what is damaged, at every length, is an error.
//
//===----------------------------------------------------------------------===//
#include "TestSupport.h"

#include "core/Npy.h"
#include "core/Safetensors.h"

#include <sys/stat.h>
#include <zlib.h>

using namespace para::runtime;

static ArrayMap sampleArrays() {
  return {{"f", makeArray<float>(PARA_F32, {2, 3}, {1, 2, 3, 4, 5, 6.5f})},
          {"d", makeArray<double>(PARA_F64, {}, {0.1})},
          {"i", makeArray<int64_t>(PARA_I64, {3}, {-1, 0, int64_t(1) << 40})},
          {"flags", makeArray<uint8_t>(PARA_BOOL, {4}, {1, 0, 0, 1})},
          {"none", makeArray<int32_t>(PARA_I32, {0, 7}, {})}};
}

static void expectEqual(const ArrayMap &found, const ArrayMap &expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (auto &[name, array] : expected) {
    auto at = found.find(name);
    ASSERT_NE(at, found.end()) << name;
    EXPECT_EQ(at->second.dtype, array.dtype) << name;
    EXPECT_EQ(at->second.shape, array.shape) << name;
    EXPECT_EQ(std::string(at->second.data, size_t(at->second.bytes())), std::string(array.data, size_t(array.bytes())));
  }
}

TEST(Npz, RoundTrips) {
  TemporaryFolder folder;
  ASSERT_OK(writeNpz(folder / "a.npz", sampleArrays()));
  ArrayMap arrays;
  ASSERT_OK(readNpz(folder / "a.npz", arrays));
  expectEqual(arrays, sampleArrays());
}

TEST(Npz, WritesWhatOtherZipReadersAccept) {
  TemporaryFolder folder;
  ASSERT_OK(writeNpz(folder / "a.npz", sampleArrays()));
  Outcome outcome = runCommand("python3 -c \"import zipfile; z = zipfile.ZipFile('" + (folder / "a.npz") +
                               "'); assert z.testzip() is None; print(sorted(z.namelist()))\"");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "['d.npy', 'f.npy', 'flags.npy', 'i.npy', 'none.npy']\n");
}

TEST(Npz, ReadsDeflatedMembers) {
  TemporaryFolder folder;
  ASSERT_OK(writeNpz(folder / "a.npz", sampleArrays()));
  Outcome outcome = runCommand("python3 -c \"import zipfile; a = zipfile.ZipFile('" + (folder / "a.npz") +
                               "'); b = zipfile.ZipFile('" + (folder / "b.npz") +
                               "', 'w', zipfile.ZIP_DEFLATED); [b.writestr(n, a.read(n)) for n in a.namelist()]; b.close()\"");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  ArrayMap arrays;
  ASSERT_OK(readNpz(folder / "b.npz", arrays));
  expectEqual(arrays, sampleArrays());
}

TEST(Npz, RefusesEveryTruncation) {
  TemporaryFolder folder;
  ASSERT_OK(writeNpz(folder / "a.npz", sampleArrays()));
  std::string whole = readText(folder / "a.npz");
  for (size_t bytes = 0; bytes < whole.size(); bytes += 7) {
    writeText(folder / "cut.npz", whole.substr(0, bytes));
    ArrayMap arrays;
    EXPECT_TRUE(readNpz(folder / "cut.npz", arrays).failed()) << bytes;
  }
}

TEST(Npz, SurvivesEveryDamagedByte) {
  TemporaryFolder folder;
  ASSERT_OK(writeNpz(folder / "a.npz", {{"x", makeArray<float>(PARA_F32, {2, 2}, {1, 2, 3, 4})}}));
  std::string whole = readText(folder / "a.npz");
  int refused = 0;
  for (size_t at = 0; at < whole.size(); ++at)
    for (char damage : {'\x00', '\xff', '\x41'}) {
      std::string bad = whole;
      bad[at] = damage;
      writeText(folder / "bad.npz", bad);
      ArrayMap arrays;
      refused += readNpz(folder / "bad.npz", arrays).failed();
    }
  EXPECT_GT(refused, 100);
}

static std::string npy(const std::string &dict, const std::string &data) {
  std::string header = dict + std::string(118 - dict.size(), ' ');
  return std::string("\x93NUMPY\x01\x00", 8) + char(header.size()) + '\0' + header + data;
}

TEST(Npy, ReadsColumnMajor) {
  float values[] = {1, 4, 2, 5, 3, 6};
  std::string file = npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
                         std::string(reinterpret_cast<char *>(values), sizeof(values)));
  Array array;
  ASSERT_OK(readNpy(file.data(), file.size(), nullptr, "x", array));
  EXPECT_EQ(valuesOf<float>(array), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, WidensUnsignedIntegers) {
  std::string file = npy("{'descr': '<u2', 'fortran_order': False, 'shape': (2,), }", std::string("\xff\xff\x01\x00", 4));
  Array array;
  ASSERT_OK(readNpy(file.data(), file.size(), nullptr, "x", array));
  EXPECT_EQ(array.dtype, PARA_I32);
  EXPECT_EQ(valuesOf<int32_t>(array), (std::vector<int32_t>{65535, 1}));
}

TEST(Npy, NamesTheTypeItCannotRead) {
  std::string file = npy("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "0000");
  Array array;
  Status status = readNpy(file.data(), file.size(), nullptr, "'a.npy'", array);
  EXPECT_TRUE(has(status.message(), "'a.npy' has the type '>f4'"));
}

TEST(Npy, RefusesShapesBeyondTheFile) {
  std::string file = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", "0000");
  Array array;
  EXPECT_TRUE(readNpy(file.data(), file.size(), nullptr, "x", array).failed());
}

TEST(TensorProto, ReadsRawAndTypedData) {
  TemporaryFolder folder;
  // dims 2, float, raw_data; dims packed [1, 2], int64, int64_data packed -1 and 300, name "ids".
  writeText(folder / "input_0.pb", std::string("\x08\x02\x10\x01\x4a\x08\x00\x00\x80\x3f\x00\x00\x00\x40", 14));
  writeText(folder / "input_1.pb",
            std::string("\x0a\x02\x01\x02\x10\x07\x3a\x0c\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xac\x02\x42\x03ids", 25));
  ArrayMap arrays;
  ASSERT_OK(readArrays(folder.path, {"x", "ids"}, arrays));
  EXPECT_EQ(valuesOf<float>(arrays["x"]), (std::vector<float>{1, 2}));
  EXPECT_EQ(valuesOf<int64_t>(arrays["ids"]), (std::vector<int64_t>{-1, 300}));
  EXPECT_EQ(arrays["ids"].shape, (std::vector<int64_t>{1, 2}));
}

TEST(TensorProto, RefusesEveryTruncation) {
  TemporaryFolder folder;
  std::string whole("\x08\x02\x10\x01\x4a\x08\x00\x00\x80\x3f\x00\x00\x00\x40", 14);
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    writeText(folder / "t.pb", whole.substr(0, bytes));
    Array array;
    std::string name;
    EXPECT_TRUE(readTensorProto(folder / "t.pb", array, name).failed()) << bytes;
  }
}

TEST(TensorProto, NamesAFileBeyondTheInputs) {
  TemporaryFolder folder;
  writeText(folder / "input_3.pb", std::string("\x08\x02\x10\x01\x4a\x08\x00\x00\x80\x3f\x00\x00\x00\x40", 14));
  ArrayMap arrays;
  EXPECT_TRUE(has(readArrays(folder.path, {"x"}, arrays).message(), "input_3.pb' belongs to no input"));
}

static Status writeSample(const std::string &path, const ArrayMap &arrays) {
  std::vector<SafetensorsEntry> entries;
  std::vector<const char *> data;
  for (auto &[name, array] : arrays) {
    entries.push_back({name, array.dtype, array.shape});
    data.push_back(array.data);
  }
  return writeSafetensors(path, entries, [&](size_t i, const char *&bytes) {
    bytes = data[i];
    return Status::success();
  });
}

TEST(Safetensors, RoundTrips) {
  TemporaryFolder folder;
  ASSERT_OK(writeSample(folder / "a.safetensors", sampleArrays()));
  ArrayMap arrays;
  ASSERT_OK(readSafetensors(folder / "a.safetensors", arrays));
  expectEqual(arrays, sampleArrays());
}

TEST(Safetensors, RefusesEveryTruncation) {
  TemporaryFolder folder;
  ASSERT_OK(writeSample(folder / "a.safetensors", sampleArrays()));
  std::string whole = readText(folder / "a.safetensors");
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    writeText(folder / "cut", whole.substr(0, bytes));
    ArrayMap arrays;
    EXPECT_TRUE(readSafetensors(folder / "cut", arrays).failed()) << bytes;
  }
}

TEST(Files, NamesWhatIsMissing) {
  ArrayMap arrays;
  EXPECT_TRUE(has(readArrays("/nowhere/x.npz", {"x"}, arrays).message(), "cannot open '/nowhere/x.npz': No such file"));
}

// A file is there whole or as it was; devices and links are what they are.
TEST(Files, AreWrittenWholeOrNotAtAll) {
  TemporaryFolder folder;
  std::string text = "after";
  std::vector<std::pair<const void *, size_t>> parts = {{text.data(), text.size()}};
  ASSERT_OK(writeFile(folder / "new", parts));
  EXPECT_EQ(readText(folder / "new"), "after");
  writeText(folder / "old", "before");
  ASSERT_EQ(symlink((folder / "old").c_str(), (folder / "link").c_str()), 0);
  ASSERT_OK(writeFile(folder / "link", parts));
  EXPECT_EQ(readText(folder / "old"), "after");
  char target[4096];
  EXPECT_GT(readlink((folder / "link").c_str(), target, sizeof(target)), 0) << "the link stays one";
  ASSERT_OK(writeFile("/dev/null", parts));
  EXPECT_EQ(writeFile("/dev/full", parts).message(), "cannot write '/dev/full': No space left on device");
  EXPECT_EQ(writeFile(folder.path, parts).message(), "cannot write '" + folder.path + "': Is a directory");
  EXPECT_TRUE(has(writeFile(folder / "none/x", parts).message(), "/none/x': No such file or directory"));
  EXPECT_EQ(runCommand("ls " + folder.path).out, "link\nnew\nold\n");
}

// Asked before a run: nothing is made, changed or waited for.
TEST(Files, ToldWhetherTheyCanBeWritten) {
  TemporaryFolder folder;
  ASSERT_OK(checkWritable(folder / "new"));
  writeText(folder / "old", "before");
  ASSERT_OK(checkWritable(folder / "old"));
  EXPECT_EQ(readText(folder / "old"), "before");
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  ASSERT_OK(checkWritable(folder / "pipe"));
  ASSERT_OK(checkWritable("/dev/null"));
  EXPECT_EQ(checkWritable(folder.path).message(), "cannot write '" + folder.path + "': Is a directory");
  EXPECT_EQ(checkWritable(folder / "none/x").message(), "cannot write '" + (folder / "none/x") + "': No such file or directory");
  EXPECT_EQ(checkWritable(folder / "old/x").message(), "cannot write '" + (folder / "old/x") + "': Not a directory");
  EXPECT_EQ(runCommand("ls " + folder.path).out, "old\npipe\n");
}

TEST(Safetensors, ToldTheCauseOfAFullDisk) {
  EXPECT_EQ(writeSample("/dev/full", sampleArrays()).message(), "cannot write '/dev/full': No space left on device");
}
