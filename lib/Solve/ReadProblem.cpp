//===- ReadProblem.cpp - Problems from JSON -------------------------------===//
//
// Files have millions of numbers: they are read as they come, without a tree of values.
//
//===----------------------------------------------------------------------===//
#include "para/Solve/Problem.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MemoryBuffer.h"

#include <charconv>
#include <zlib.h>

using namespace llvm;
using namespace para;

namespace {
Error fail(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

/// Walks JSON; the first fault is kept and ends all walking.
class Reader {
public:
  explicit Reader(StringRef text) : text(text), rest(text) {}

  std::string fault;

  void object(function_ref<void(StringRef)> member) {
    list('{', '}', [&] {
      StringRef key = string();
      expect(':');
      if (fault.empty())
        member(key);
    });
  }
  void array(function_ref<void()> element) { list('[', ']', element); }

  int64_t integer() {
    skipSpace();
    int64_t value = 0;
    auto [end, error] = std::from_chars(rest.begin(), rest.end(), value);
    // A number that is written as a fraction, or too large, is no integer.
    if (error != std::errc() || (end != rest.end() && StringRef(".eE").contains(*end)))
      refuse("an integer");
    else
      rest = rest.drop_front(end - rest.begin());
    return value;
  }
  StringRef string() {
    expect('"');
    size_t end = rest.find_first_of("\"\\");
    if (!fault.empty() || end == StringRef::npos || rest[end] == '\\') {
      refuse("a plain string");
      return {};
    }
    StringRef value = rest.take_front(end);
    rest = rest.drop_front(end + 1);
    return value;
  }
  void skip(int depth = 0) {
    skipSpace();
    if (depth > 64)
      refuse("less nesting");
    else if (rest.starts_with("{"))
      object([&](StringRef) { skip(depth + 1); });
    else if (rest.starts_with("["))
      array([&] { skip(depth + 1); });
    else if (rest.starts_with("\""))
      string();
    else if (size_t end = rest.find_first_of(",]} \n\r\t"); end == 0 || end == StringRef::npos)
      refuse("a value");
    else
      rest = rest.drop_front(end);
  }
  void finish() {
    skipSpace();
    if (!rest.empty())
      refuse("the end of the file");
  }
  void refuse(const Twine &wanted) {
    if (fault.empty())
      fault = ("line " + Twine(text.drop_back(rest.size()).count('\n') + 1) + ": expected " + wanted).str();
    rest = {};
  }

private:
  void list(char open, char close, function_ref<void()> element) {
    expect(open);
    skipSpace();
    if (rest.consume_front(StringRef(&close, 1)))
      return;
    while (fault.empty()) {
      element();
      skipSpace();
      if (rest.consume_front(StringRef(&close, 1)))
        return;
      expect(',');
    }
  }
  void expect(char c) {
    skipSpace();
    if (!rest.consume_front(StringRef(&c, 1)))
      refuse("'" + Twine(c) + "'");
  }
  void skipSpace() { rest = rest.ltrim(" \n\r\t"); }

  StringRef text, rest;
};

void readIntegers(Reader &reader, std::vector<int64_t> &values) {
  reader.array([&] { values.push_back(reader.integer()); });
}

void readNodes(Reader &reader, Problem &problem) {
  size_t counts[3] = {0, 0, 0};
  auto at = [&](size_t number) -> Problem::Node & {
    if (number >= problem.nodes.size())
      problem.nodes.resize(number + 1);
    return problem.nodes[number];
  };
  reader.object([&](StringRef key) {
    if (key == "intervals")
      reader.array([&] {
        std::vector<int64_t> ends;
        readIntegers(reader, ends);
        if (ends.size() != 2)
          return reader.refuse("two ends of an interval");
        Problem::Node &node = at(counts[0]++);
        node.begin = ends[0];
        node.end = ends[1];
      });
    else if (key == "costs")
      reader.array([&] { readIntegers(reader, at(counts[1]++).costs); });
    else if (key == "usages")
      reader.array([&] { readIntegers(reader, at(counts[2]++).usages); });
    else
      reader.skip();
  });
  if (counts[0] != counts[1] || counts[0] != counts[2])
    reader.refuse("as many intervals as costs and usages of nodes");
}

void readEdges(Reader &reader, Problem &problem) {
  size_t counts[2] = {0, 0};
  auto at = [&](size_t number) -> Problem::Edge & {
    if (number >= problem.edges.size())
      problem.edges.resize(number + 1);
    return problem.edges[number];
  };
  reader.object([&](StringRef key) {
    if (key == "nodes")
      reader.array([&] {
        std::vector<int64_t> ends;
        readIntegers(reader, ends);
        if (ends.size() != 2 || ends[0] != int32_t(ends[0]) || ends[1] != int32_t(ends[1]))
          return reader.refuse("the two nodes of an edge");
        Problem::Edge &edge = at(counts[0]++);
        edge.from = int32_t(ends[0]);
        edge.to = int32_t(ends[1]);
      });
    else if (key == "costs")
      reader.array([&] { readIntegers(reader, at(counts[1]++).costs); });
    else
      reader.skip();
  });
  if (counts[0] != counts[1])
    reader.refuse("as many pairs of nodes as costs of edges");
}

Expected<std::string> inflateGzip(StringRef bytes) {
  constexpr size_t most = size_t(8) << 30;
  z_stream stream = {};
  if (inflateInit2(&stream, 15 + 16) != Z_OK)
    return fail("zlib cannot start");
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data()));
  stream.avail_in = uInt(bytes.size());
  std::string text;
  int result = Z_OK;
  while (result == Z_OK && text.size() < most) {
    size_t before = text.size(), more = std::max<size_t>(size_t(1) << 20, before);
    text.resize(before + more);
    stream.next_out = reinterpret_cast<Bytef *>(text.data() + before);
    stream.avail_out = uInt(std::min<size_t>(more, size_t(1) << 30));
    size_t given = stream.avail_out;
    result = inflate(&stream, Z_NO_FLUSH);
    text.resize(before + given - stream.avail_out);
  }
  inflateEnd(&stream);
  if (result != Z_STREAM_END)
    return fail("is damaged: the compressed data does not end well");
  return text;
}
} // namespace

Expected<Problem> para::parseProblem(StringRef subject, StringRef bytes) {
  std::string inflated;
  if (bytes.starts_with("\x1f\x8b")) {
    Expected<std::string> text = inflateGzip(bytes);
    if (!text)
      return fail("'" + subject + "' " + toString(text.takeError()));
    inflated = std::move(*text);
    bytes = inflated;
  }
  Problem problem;
  Reader reader(bytes);
  bool found = false, limited = false;
  reader.object([&](StringRef key) {
    if (key != "problem")
      return reader.skip();
    found = true;
    reader.object([&](StringRef part) {
      if (part == "name")
        problem.name = reader.string().str();
      else if (part == "nodes")
        readNodes(reader, problem);
      else if (part == "edges")
        readEdges(reader, problem);
      else if (part == "usage_limit")
        problem.usageLimit = reader.integer(), limited = true;
      else
        reader.skip();
    });
  });
  reader.finish();
  if (!reader.fault.empty())
    return fail("'" + subject + "' is no problem in the contest's format: " + reader.fault);
  if (!found)
    return fail("'" + subject + "' has no member \"problem\"");
  if (!limited)
    problem.usageLimit = INT64_MAX;
  if (Error error = problem.check())
    return fail("'" + subject + "': " + toString(std::move(error)));
  return problem;
}

Expected<Problem> para::readProblem(StringRef path) {
  auto buffer = MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail("cannot read '" + path + "': " + buffer.getError().message());
  return parseProblem(path, (*buffer)->getBuffer());
}
