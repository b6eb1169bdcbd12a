//===- Graph.cpp - Streams that are captured ----------------------------------===//
#include "Graph.h"
#include "Rehearsal.h"

#include <algorithm>

namespace para::runtime::rehearsal {

namespace {
int strictCaptures = 0;

/// All nodes that are before one of these.
std::vector<char> allBefore(const Graph &graph, const std::set<size_t> &ends) {
  std::vector<char> isBefore(graph.nodes.size());
  for (size_t node : ends)
    isBefore[node] = 1;
  for (size_t i = graph.nodes.size(); i-- > 0;) // edges lead from lower numbers to higher ones
    if (isBefore[i])
      for (size_t node : graph.nodes[i].behind)
        isBefore[node] = 1;
  return isBefore;
}
} // namespace

void forbidInCapture(const char *call) {
  if (strictCaptures)
    fail(rankOf().op(), std::string(call) + ": this call is not allowed while a stream is captured");
}

void beginCapture(Stream *origin, bool isStrict) {
  if (origin->capture)
    fail(rankOf().op(), text("cuStreamBeginCapture: stream %u is captured already", origin->number));
  auto capture = std::make_shared<Capture>();
  capture->origin = origin;
  origin->capture = capture;
  origin->isStrict = isStrict;
  strictCaptures += isStrict;
  capture->streams.push_back(origin);
  capture->graph.lines.push_back(origin->number);
}

std::unique_ptr<Graph> endCapture(Stream *origin) {
  std::shared_ptr<Capture> capture = origin->capture;
  if (!capture || capture->origin != origin)
    fail(rankOf().op(), text("cuStreamEndCapture: no capture began on stream %u", origin->number));
  std::vector<char> isJoined = allBefore(capture->graph, origin->frontier);
  for (size_t i = 0; i < isJoined.size(); ++i)
    if (!isJoined[i])
      fail(capture->graph.nodes[i].name.op, "cuStreamEndCapture: the capture's first stream does not wait for " + describe(capture->graph.nodes[i].name));
  strictCaptures -= origin->isStrict;
  for (Stream *stream : capture->streams) {
    stream->capture = nullptr;
    stream->frontier.clear();
  }
  return std::make_unique<Graph>(std::move(capture->graph));
}

std::unique_ptr<Executable> instantiate(const Graph &graph) {
  auto made = std::make_unique<Executable>();
  made->graph = graph;
  for (size_t i = 0; i < graph.lines.size(); ++i)
    made->lines.push_back(machine().createStream());
  return made;
}

void destroy(std::unique_ptr<Executable> executable) {
  for (Stream *line : executable->lines)
    machine().destroyStream(line);
}

void launch(Executable &executable, Stream *stream) {
  if (stream->capture)
    fail(rankOf().op(), "cuGraphLaunch: graphs in graphs are not rehearsed");
  const Graph &graph = executable.graph;
  Machine &m = machine();
  std::shared_ptr<Recording> begin = m.record(stream);
  for (Stream *line : executable.lines)
    m.wait(line, begin);
  std::vector<std::shared_ptr<Recording>> done(graph.nodes.size());
  std::vector<char> isAwaited(graph.nodes.size());
  for (const Node &node : graph.nodes)
    for (size_t before : node.behind)
      isAwaited[before] |= graph.nodes[before].line != node.line;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node &node = graph.nodes[i];
    Stream *line = executable.lines[node.line];
    for (size_t before : node.behind)
      if (graph.nodes[before].line != node.line) // on its own line it is behind by its place
        m.wait(line, done[before]);
    m.push(line, node.name, node.make());
    if (isAwaited[i])
      done[i] = m.record(line);
  }
  for (Stream *line : executable.lines)
    m.wait(stream, m.record(line));
}

} // namespace para::runtime::rehearsal
