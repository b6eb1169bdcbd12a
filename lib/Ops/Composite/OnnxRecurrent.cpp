//===- OnnxRecurrent.cpp - ONNX LSTM, GRU and RNN, unrolled over time -----===//

#include "para/Import/OnnxOp.h"

using namespace mlir;
using namespace para;

using V = ImportValue;
using B = ImportBuilder;

namespace {
/// One direction: state [batch, hidden] from gates that the input has already been multiplied into.
struct Cell {
  OnnxOp &op;
  V weight, bias; // [gates * hidden, hidden], [gates * hidden]; the bias of the recurrence
  int64_t hidden;
  StringRef activation; // of RNN

  V gate(V all, int64_t i) { return op.b.sliceDim(all, 1, i * hidden, hidden); }
  V recur(V h) {
    V y = op.b.dot(h, weight, {}, {}, {1}, {1});
    return bias ? op.b.add(y, bias) : y;
  }

  void lstm(V x, V &h, V &c) { // gates i, o, f, c
    B &b = op.b;
    V all = b.add(x, recur(h));
    V kept = b.mul(b.sigmoid(gate(all, 2)), c), added = b.mul(b.sigmoid(gate(all, 0)), b.tanh(gate(all, 3)));
    c = b.add(kept, added);
    h = b.mul(b.sigmoid(gate(all, 1)), b.tanh(c));
  }
  void gru(V x, V &h, bool linearBefore) { // gates z, r, h
    B &b = op.b;
    V hidden3 = recur(h), z = b.sigmoid(b.add(gate(x, 0), gate(hidden3, 0))), r = b.sigmoid(b.add(gate(x, 1), gate(hidden3, 1)));
    V inner;
    if (linearBefore) {
      inner = b.mul(r, gate(hidden3, 2));
    } else {
      inner = b.dot(b.mul(r, h), b.sliceDim(weight, 0, 2 * hidden, hidden), {}, {}, {1}, {1});
      if (bias)
        inner = b.add(inner, b.sliceDim(bias, 0, 2 * hidden, hidden));
    }
    V fresh = b.tanh(b.add(gate(x, 2), inner));
    h = b.add(b.mul(b.sub(b.scalar(z, 1), z), fresh), b.mul(z, h));
  }
  void rnn(V x, V &h) {
    V sum = op.b.add(x, recur(h));
    h = activation == "Relu" ? op.b.relu(sum) : op.b.tanh(sum);
  }
};
} // namespace

static void importRecurrent(OnnxOp &op) {
  B &b = op.b;
  StringRef type = op.type();
  int64_t gates = type == "LSTM" ? 4 : type == "GRU" ? 3 : 1;
  V x = op.input(0), w = op.input(1), r = op.input(2), bias = op.optional(3), start = op.optional(5), startCell = op.optional(6);
  if (!x || !w || !r)
    return;
  bool batchFirst = op.getInt("layout", 0);
  std::string direction = op.getString("direction", "forward");
  int64_t directions = direction == "bidirectional" ? 2 : 1, hidden = op.getInt("hidden_size", r.rank() == 3 ? r.dim(2) : 0);
  bool fits = x.rank() == 3 && x.isFloat() && w.rank() == 3 && r.rank() == 3 && w.dim(0) == directions && r.dim(0) == directions &&
              hidden > 0 && w.dim(1) == gates * hidden && r.dim(1) == gates * hidden && r.dim(2) == hidden && w.dim(2) == x.dim(2) &&
              (!bias || (bias.rank() == 2 && bias.dim(1) == 2 * gates * hidden));
  if (!fits)
    return void(op.error() << type << " of " << x.type() << " with weights " << w.type() << " and " << r.type());
  if (op.has(7) || op.hasAttribute("clip") || op.getInt("input_forget", 0))
    return void(op.error() << type << " with peepholes, clip or input_forget is not supported");
  std::string activation = "Tanh";
  for (const std::string &name : op.getStrings("activations")) {
    bool usual = name == "Sigmoid" || name == "Tanh" || (type == "RNN" && name == "Relu");
    if (!usual)
      return void(op.error() << type << " with the activation " << name << " is not supported");
    activation = name;
  }
  if (batchFirst)
    x = b.transpose(x, {1, 0, 2});
  int64_t steps = x.dim(0), batch = x.dim(1);
  if (op.has(4)) {
    std::optional<SmallVector<int64_t>> lengths = op.optional(4).known ? op.ints(4) : std::nullopt;
    if (!lengths || llvm::any_of(*lengths, [&](int64_t length) { return length != steps; }))
      return void(op.error() << type << " with sequences of different lengths is not supported");
  }
  if (steps > 4096 || steps == 0)
    return void(op.error() << type << " over " << steps << " steps is not supported");
  auto initial = [&](V given, int64_t d) {
    if (!given)
      return b.splat(x.element(), {batch, hidden}, 0);
    return b.reshape(b.sliceDim(batchFirst ? b.transpose(given, {1, 0, 2}) : given, 0, d, 1), {batch, hidden});
  };

  SmallVector<V> sequences, lastStates, lastCells;
  for (int64_t d = 0; d < directions; ++d) {
    auto direct = [&](V value) { return b.squeeze(b.sliceDim(value, 0, d, 1), 0); };
    V both = bias ? direct(bias) : V();
    Cell cell{op, direct(r), both ? b.sliceDim(both, 0, gates * hidden, gates * hidden) : V(), hidden, activation};
    V projected = b.dot(x, direct(w), {}, {}, {2}, {1});
    if (both)
      projected = b.add(projected, b.sliceDim(both, 0, 0, gates * hidden));
    V h = initial(start, d), c = initial(startCell, d);
    bool backward = direction == "reverse" || d == 1;
    SmallVector<V> states(steps);
    for (int64_t i = 0; i < steps && projected && h && c; ++i) {
      int64_t step = backward ? steps - 1 - i : i;
      V now = b.squeeze(b.sliceDim(projected, 0, step, 1), 0);
      if (type == "LSTM")
        cell.lstm(now, h, c);
      else if (type == "GRU")
        cell.gru(now, h, op.getInt("linear_before_reset", 0));
      else
        cell.rnn(now, h);
      states[step] = h ? b.reshape(h, {1, 1, batch, hidden}) : V();
    }
    if (!h || !c || b.hasFailed())
      return;
    sequences.push_back(b.concat(states, 0));
    lastStates.push_back(b.unsqueeze(h, 0));
    lastCells.push_back(b.unsqueeze(c, 0));
  }
  V y = b.concat(sequences, 1), last = b.concat(lastStates, 0), cells = b.concat(lastCells, 0);
  op.result(batchFirst ? b.transpose(y, {2, 0, 1, 3}) : y);
  op.result(batchFirst ? b.transpose(last, {1, 0, 2}) : last, 1);
  op.result(batchFirst ? b.transpose(cells, {1, 0, 2}) : cells, 2);
}

void registerRecurrentOnnx(OnnxRegistry &r);
void registerRecurrentOnnx(OnnxRegistry &r) { r.add({"LSTM", "GRU", "RNN"}, 7, importRecurrent); }
