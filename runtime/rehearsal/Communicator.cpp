//===- Communicator.cpp - Collectives and messages of a rehearsal -------------===//
#include "Communicator.h"
#include "Rehearsal.h"

#include "core/DType.h"

#include <cstring>

namespace para::runtime::rehearsal {

namespace {
/// nccl.h's types.
constexpr size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
constexpr const char *typeNames[] = {"i8", "bytes", "i32", "u32", "i64", "u64", "f16", "f32", "f64", "bf16"};
constexpr const char *reductionNames[] = {"sum", "product", "maximum", "minimum"};

bool isCollective(Kind kind) { return kind != Kind::Send && kind != Kind::Receive; }
bool reduces(Kind kind) { return kind == Kind::AllReduce || kind == Kind::ReduceScatter; }

std::string describeOffer(Kind kind, uint64_t count, int type, int reduction, int sequence, const char *op) {
  std::string said = text("%s of %llu %s", nameOf(kind), (unsigned long long)count, typeNames[type]);
  if (reduces(kind))
    said += text(" (%s)", reductionNames[reduction]);
  if (isCollective(kind))
    said += text(", sequence %d,", sequence);
  return said + " of '" + op + "'";
}
std::string describeOffer(const Offer &offer) {
  return describeOffer(Kind(offer.kind), offer.count, offer.type, offer.reduction, offer.sequence, std::string(offer.op, strnlen(offer.op, sizeof(offer.op))).c_str());
}

void note(Offer &offer, const Operation &operation, uint64_t bytes) {
  offer = {int32_t(operation.kind), operation.type, operation.reduction, operation.sequence, operation.count, operation.offset, bytes, operation.clock, {}};
  std::strncpy(offer.op, operation.op, sizeof(offer.op) - 1);
}

/// The clock that goes with an operation. Who receives a message knows that all of it was read; of other operations, that they have begun.
uint64_t offerClock(Exchange &exchange, bool isRead) {
  Clock clock = machine().clock();
  const TaskName &task = *memory().running;
  if (!isRead)
    clock.set(task.stream, task.position - 1);
  std::vector<uint32_t> packed = clock.pack(size_t(exchange.rank), size_t(exchange.size));
  packed.insert(packed.begin(), uint32_t(packed.size()));
  return exchange.offer(packed.data(), packed.size() * 4);
}

template <typename T, typename Sum> void reduceInto(T *to, const T *from, size_t count, int reduction) {
  for (size_t i = 0; i < count; ++i) {
    T mine = to[i], other = from[i];
    switch (reduction) {
    case 0: to[i] = T(Sum(mine) + Sum(other)); break;
    case 1: to[i] = T(Sum(mine) * Sum(other)); break;
    case 2: to[i] = Sum(other) > Sum(mine) || Sum(other) != Sum(other) ? other : mine; break;
    case 3: to[i] = Sum(other) < Sum(mine) || Sum(other) != Sum(other) ? other : mine; break;
    }
  }
}
void reduceAny(int type, char *to, const char *from, size_t count, int reduction) {
  auto as = [&](auto one, auto sum) {
    using T = decltype(one);
    reduceInto<T, decltype(sum)>(reinterpret_cast<T *>(to), reinterpret_cast<const T *>(from), count, reduction);
  };
  switch (type) {
  case 0: return as(int8_t(), int8_t());
  case 1: return as(uint8_t(), uint8_t());
  case 2: return as(int32_t(), int32_t());
  case 3: return as(uint32_t(), uint32_t());
  case 4: return as(int64_t(), int64_t());
  case 5: return as(uint64_t(), uint64_t());
  case 6: return as(Float16(), float());
  case 7: return as(float(), float());
  case 8: return as(double(), double());
  case 9: return as(BFloat16(), float());
  }
}

/// Groups that have come to the head of their streams and are not done.
std::vector<const std::vector<Operation> *> active;
} // namespace

const char *nameOf(Kind kind) {
  switch (kind) {
  case Kind::AllReduce: return "all-reduce";
  case Kind::AllGather: return "all-gather";
  case Kind::ReduceScatter: return "reduce-scatter";
  case Kind::Send: return "send";
  case Kind::Receive: return "receive";
  }
  return "operation";
}

Communicator::Communicator(Exchange &exchange, size_t number, std::vector<int> members)
    : exchange(exchange), index(number), ranks(std::move(members)), sent(ranks.size()), received(ranks.size()) {
  for (size_t i = 0; i < ranks.size(); ++i)
    if (ranks[i] == exchange.rank)
      mine = int(i);
}

void Communicator::learn(int member, const Offer &offer) {
  int rank = ranks[size_t(member)];
  uint32_t words;
  std::memcpy(&words, exchange.data(rank, offer.clock, 4), 4);
  std::vector<uint32_t> packed(words + 1);
  std::memcpy(packed.data(), exchange.data(rank, offer.clock, packed.size() * 4), packed.size() * 4);
  machine().clock().joinPacked(packed.data() + 1, size_t(exchange.rank), size_t(exchange.size));
}

std::string Communicator::name() const {
  std::string said = "the communicator of ranks ";
  for (size_t i = 0; i < ranks.size(); ++i)
    said += (i ? ", " : "") + std::to_string(ranks[i]);
  return said;
}

std::string Communicator::describe(const Operation &operation) const {
  std::string said = describeOffer(operation.kind, operation.count, operation.type, operation.reduction, operation.sequence, operation.op);
  if (isCollective(operation.kind))
    return said + text(", number %llu of ", (unsigned long long)operation.number) + name();
  return said + text(", number %llu %s rank %d", (unsigned long long)operation.number, operation.kind == Kind::Send ? "to" : "from", ranks[size_t(operation.peer)]);
}

bool Communicator::remove(uintptr_t begin) {
  if (!isIdle())
    fail(rankOf().op(), "ncclCommDeregister: operations of " + name() + " are not done");
  for (Registered &memory : registered)
    if (memory.begin == begin && !memory.isOver)
      return memory.isOver = true;
  return false;
}

bool Communicator::registers(uintptr_t address, size_t bytes) const {
  return std::any_of(registered.begin(), registered.end(),
                     [&](const Registered &memory) { return !memory.isOver && address < memory.begin + memory.bytes && memory.begin < address + bytes; });
}

bool Communicator::hasRegistered() const {
  return std::any_of(registered.begin(), registered.end(), [](const Registered &memory) { return !memory.isOver; });
}

void Communicator::checkRegistered(const Operation &operation) const {
  for (uintptr_t address : {operation.in, operation.out})
    for (const Registered &memory : registered)
      if (memory.isOver && address - memory.begin < memory.bytes && !registers(address, 1))
        fail(operation.op, "rehearsed NCCL: " + describe(operation) + ", uses memory that was registered with it and was deregistered");
}

std::string describeWaiting() {
  std::string said;
  for (const std::vector<Operation> *group : active)
    for (const Operation &operation : *group)
      if (!operation.isDone)
        said += (said.empty() ? "waits in " : " and in ") + operation.communicator->describe(operation);
  return said.empty() ? "waits for the other ranks' host programs" : said;
}

void Communicator::startCollective(Operation &operation) {
  size_t part = operation.count * sizes[operation.type], whole = part * ranks.size();
  size_t inBytes = operation.kind == Kind::ReduceScatter ? whole : part, outBytes = operation.kind == Kind::AllGather ? whole : part;
  // In place means one thing for each kind; other overlaps are errors.
  uintptr_t inPlace = operation.kind == Kind::AllGather       ? operation.out + size_t(mine) * part
                      : operation.kind == Kind::ReduceScatter ? operation.in + size_t(mine) * part
                                                              : operation.out;
  bool isInPlace = operation.kind == Kind::ReduceScatter ? operation.out == inPlace : operation.in == inPlace;
  if (!isInPlace && operation.in < operation.out + outBytes && operation.out < operation.in + inBytes)
    fail(operation.op, "rehearsed NCCL: in and out overlap in " + describe(operation));
  // Both are the operation's until it is done.
  const char *from = memory().read(operation.in, inBytes);
  memory().write(operation.out, outBytes);
  operation.offset = exchange.offer(from, inBytes);
  operation.clock = offerClock(exchange, false);
  Slot &slot = exchange.slot(index, mine);
  note(slot.offers[operation.number % 2], operation, inBytes);
  slot.started.store(operation.number);
}

bool Communicator::finishCollective(Operation &operation) {
  bool areHere = true;
  for (int member = 0; member < size(); ++member) {
    Slot &slot = exchange.slot(index, member);
    if (slot.started.load() < operation.number) {
      areHere = false;
      continue;
    }
    const Offer &theirs = slot.offers[operation.number % 2];
    if (theirs.kind != int(operation.kind) || theirs.type != operation.type || theirs.count != operation.count || theirs.reduction != operation.reduction ||
        theirs.sequence != operation.sequence)
      fail(operation.op, "rehearsed NCCL: " + describe(operation) + ", where rank " + std::to_string(ranks[size_t(member)]) + " has the " + describeOffer(theirs));
  }
  if (!areHere)
    return false;
  for (int member = 0; member < size(); ++member)
    if (member != mine)
      learn(member, exchange.slot(index, member).offers[operation.number % 2]);
  size_t part = operation.count * sizes[operation.type];
  char *out = memory().write(operation.out, operation.kind == Kind::AllGather ? part * ranks.size() : part);
  for (int member = 0; member < size() && part; ++member) {
    const Offer &theirs = exchange.slot(index, member).offers[operation.number % 2];
    const char *from = exchange.data(ranks[size_t(member)], theirs.offset, theirs.bytes);
    if (operation.kind == Kind::AllGather) {
      std::memcpy(out + size_t(member) * part, from, part);
      continue;
    }
    from += operation.kind == Kind::ReduceScatter ? size_t(mine) * part : 0;
    if (member == 0)
      std::memcpy(out, from, part);
    else
      reduceAny(operation.type, out, from, operation.count, operation.reduction);
  }
  // All have started this one, and so are done with the one before.
  if (hasLast) {
    exchange.withdraw(lastOffset);
    exchange.withdraw(lastClock);
  }
  lastOffset = operation.offset;
  lastClock = operation.clock;
  hasLast = true;
  return true;
}

bool Communicator::send(Operation &operation, bool &moves) {
  Line &line = exchange.line(index, mine, operation.peer);
  if (!operation.isStarted) {
    if (line.sent.load() + 1 != operation.number || line.taken.load() + 1 != operation.number)
      return false; // one of this group goes before
    size_t bytes = operation.count * sizes[operation.type];
    operation.offset = exchange.offer(memory().read(operation.in, bytes), bytes);
    operation.clock = offerClock(exchange, operation.isAlone);
    note(line.offer, operation, bytes);
    line.sent.store(operation.number);
    operation.isStarted = moves = true;
  }
  // Nobody may rely on room in between: it is done when the other end has it.
  if (line.taken.load() < operation.number)
    return false;
  exchange.withdraw(operation.offset);
  exchange.withdraw(operation.clock);
  return true;
}

bool Communicator::receive(Operation &operation) {
  Line &line = exchange.line(index, operation.peer, mine);
  size_t bytes = operation.count * sizes[operation.type];
  if (!operation.isStarted)
    memory().write(operation.out, bytes);
  operation.isStarted = true;
  if (line.sent.load() < operation.number || line.taken.load() + 1 != operation.number)
    return false;
  if (line.offer.bytes != bytes)
    fail(operation.op, "rehearsed NCCL: " + describe(operation) + ", which has the " + describeOffer(line.offer));
  if (bytes)
    std::memcpy(memory().write(operation.out, bytes), exchange.data(ranks[size_t(operation.peer)], line.offer.offset, bytes), bytes);
  if (operation.peer != mine)
    learn(operation.peer, line.offer);
  line.taken.store(operation.number);
  return true;
}

Step Communicator::advance(Operation &operation) {
  bool moves = false;
  if (isCollective(operation.kind)) {
    if (!operation.isStarted) {
      startCollective(operation);
      operation.isStarted = moves = true;
    }
    operation.isDone = finishCollective(operation);
  } else if (operation.kind == Kind::Send) {
    operation.isDone = send(operation, moves);
  } else {
    operation.isDone = receive(operation);
  }
  return operation.isDone ? Step::Done : moves ? Step::Moved : Step::Waits;
}

void Communicator::enqueue(Stream *stream, std::vector<Operation> operations) {
  const char *what = operations.size() == 1 ? nameOf(operations[0].kind) : "group of messages";
  machine().enqueue(stream, what, nullptr, std::function<std::function<Step()>()>([operations = std::move(operations)] { return prepare(operations); }));
}

std::function<Step()> Communicator::prepare(std::vector<Operation> operations) {
  // A communicator's turn comes when all that was enqueued for it before is done, on whichever stream.
  std::vector<std::pair<Communicator *, uint64_t>> turns;
  for (Operation &operation : operations) {
    operation.isAlone = operations.size() == 1;
    Communicator &of = *operation.communicator;
    of.checkRegistered(operation);
    operation.number = operation.kind == Kind::Send      ? ++of.sent[size_t(operation.peer)]
                       : operation.kind == Kind::Receive ? ++of.received[size_t(operation.peer)]
                                                         : ++of.collectives;
    if (std::none_of(turns.begin(), turns.end(), [&](auto &turn) { return turn.first == &of; }))
      turns.push_back({&of, of.turns++});
  }
  auto list = std::make_shared<std::vector<Operation>>(std::move(operations));
  auto isActive = std::make_shared<bool>(false);
  return [=] {
    for (auto [communicator, turn] : turns)
      if (communicator->turnsDone != turn)
        return Step::Waits;
    if (!*isActive) {
      active.push_back(list.get());
      *isActive = true;
    }
    bool moves = false, areDone = true;
    for (Operation &operation : *list)
      if (!operation.isDone) {
        moves |= operation.communicator->advance(operation) != Step::Waits;
        areDone &= operation.isDone;
      }
    if (!areDone)
      return moves ? Step::Moved : Step::Waits;
    for (auto [communicator, turn] : turns)
      ++communicator->turnsDone;
    active.erase(std::find(active.begin(), active.end(), list.get()));
    return Step::Done;
  };
}

} // namespace para::runtime::rehearsal
