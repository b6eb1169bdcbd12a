//===- Launcher.cpp - Starting and finding the ranks --------------------------===//
#include "Launcher.h"
#include "Environment.h"
#include "Rendezvous.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace para::runtime {

static volatile sig_atomic_t stopSignal = 0, stopCount = 0;
static double lastStopSeconds = -10;

static void onStop(int signal) {
  stopSignal = signal == SIGUSR1 ? SIGINT : signal == SIGUSR2 ? SIGTERM : signal;
  // A terminal and a wrapper such as timeout both deliver one keystroke: only a later signal is a second one.
  double now = nowSeconds();
  if (now - lastStopSeconds > 0.5)
    stopCount = stopCount + 1;
  lastStopSeconds = now;
}

static void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigaction(signal, &action, nullptr);
}

static sigset_t stopSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2})
    sigaddset(&set, signal);
  return set;
}

void installStopHandlers() {
  for (int signal : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2})
    handle(signal, onStop);
  sigset_t set = stopSignals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

int stopRequested() { return stopSignal; }

static int64_t variable(const char *name) {
  const char *text = std::getenv(name);
  int64_t value;
  return text && parseInteger(text, value) ? value : -1;
}

LaunchKind detectLaunch(int64_t ranks) {
  if (variable("PARA_RANK") >= 0)
    return LaunchKind::Child;
  for (const char *name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (variable(name) >= 0)
      return LaunchKind::Mpi;
  // Of one task of many ranks it is a shell of srun's, in which a program starts its ranks itself.
  if (LaunchVariables told = readLaunchVariables(); told.rank >= 0 && (told.size > 1 || std::getenv("RANK")))
    return LaunchKind::Variables;
  return ranks == 1 ? LaunchKind::Single : LaunchKind::Parent;
}

/// By its real path where that still is this program: /proc/self/exe would be the process's name.
static void startSelfAgain(char **argv) {
  char path[4096];
  ssize_t bytes = readlink("/proc/self/exe", path, sizeof(path) - 1);
  struct stat here, self;
  if (bytes > 0) {
    path[bytes] = 0;
    if (stat(path, &here) == 0 && stat("/proc/self/exe", &self) == 0 && here.st_ino == self.st_ino &&
        here.st_dev == self.st_dev)
      execv(path, argv);
  }
  execv("/proc/self/exe", argv);
}

/// Some tens of microseconds.
static void limitSpinning() { setenv("GOMP_SPINCOUNT", "20000", 0); }

void limitThreadSpinning(char **argv) {
  if (std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY") || availableCores() == 1)
    return;
  limitSpinning();
  startSelfAgain(argv);
}

static void runChild(int64_t rank, int descriptor, int64_t ranks, int64_t threads, pid_t parent, char **argv) {
  // A parent that is killed takes its ranks along.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(1);
  setenv("PARA_RANK", std::to_string(rank).c_str(), 1);
  setenv("PARA_CONTROL", std::to_string(descriptor).c_str(), 1);
  // Worker threads that spin between kernels would steal the cores of other ranks.
  if (ranks * std::max<int64_t>(threads, 1) > availableCores())
    setenv("OMP_WAIT_POLICY", "passive", 0);
  else
    limitSpinning();
  sigset_t ended;
  sigemptyset(&ended);
  sigaddset(&ended, SIGCHLD);
  sigprocmask(SIG_UNBLOCK, &ended, nullptr);
  startSelfAgain(argv);
  std::fprintf(stderr, "para: rank %lld cannot start: %s\n", (long long)rank, std::strerror(errno));
  _exit(1);
}

static void reportEnd(const ControlBlock &block, int64_t rank, int wait) {
  std::string how = WIFSIGNALED(wait)
                        ? format("was killed by signal %d (%s)", WTERMSIG(wait), strsignal(WTERMSIG(wait)))
                        : format("ended with status %d", WEXITSTATUS(wait));
  block.failure().tell(rank, format("rank %lld %s %s; the other ranks are stopped", (long long)rank, how.c_str(), whereIs(block, rank).c_str()));
}

namespace {
/// Ranks that are all stopped by a signal have nobody who tells of it but their parent.
class StoppedRanks {
public:
  explicit StoppedRanks(size_t ranks) : isStopped(ranks) {}
  void note(size_t rank, bool stopped) {
    isStopped[rank] = stopped;
    since = nowSeconds();
    wasTold &= stopped;
  }
  bool areAll(const std::vector<pid_t> &children) const {
    for (size_t i = 0; i < children.size(); ++i)
      if (children[i] > 0 && !isStopped[i])
        return false;
    return true;
  }
  bool mayTell(const std::vector<pid_t> &children) const { return !wasTold && limitSeconds > 0 && areAll(children); }
  void tell(const std::vector<pid_t> &children) {
    if (!mayTell(children) || nowSeconds() - since < limitSeconds)
      return;
    wasTold = true;
    std::string list;
    constexpr size_t most = 8;
    size_t count = 0;
    for (pid_t child : children)
      if (child > 0 && ++count <= most)
        list += " " + std::to_string(child);
    std::fprintf(stderr, "para: all ranks have been stopped by a signal for %.0f s; the job goes on when they are continued: kill -CONT%s%s\n", nowSeconds() - since, list.c_str(),
                 count > most ? " ..." : "");
  }

private:
  std::vector<bool> isStopped;
  double since = 0, limitSeconds = numberOf(Setting::CommunicationTimeout);
  bool wasTold = false;
};
} // namespace

int superviseRanks(int64_t ranks, int64_t communicators, int64_t threads, char **argv) {
  int descriptor = ControlBlock::createDescriptor("para-control");
  ControlBlock block;
  Status status = descriptor < 0 ? Status::error(std::string("cannot create shared memory: ") + std::strerror(errno))
                                 : ControlBlock::map(descriptor, ranks, communicators, true, block);
  if (status.failed()) {
    std::fprintf(stderr, "para: %s\n", status.message().c_str());
    return 1;
  }
  for (int signal : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2})
    handle(signal, onStop);
  handle(SIGCHLD, [](int) {}); // ends the nap below
  // Signals come in naps only, so that none is missed between a look and a nap. What a rank is sent while it starts is kept until it has handlers.
  sigset_t kept = stopSignals(), before;
  sigaddset(&kept, SIGCHLD);
  sigprocmask(SIG_BLOCK, &kept, &before);
  pid_t parent = getpid();
  std::vector<pid_t> children;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    pid_t child = fork();
    if (child == 0)
      runChild(rank, descriptor, ranks, threads, parent, argv);
    if (child < 0) {
      std::fprintf(stderr, "para: cannot start rank %lld: %s\n", (long long)rank, std::strerror(errno));
      block.failure().claim(rank);
      break;
    }
    children.push_back(child);
  }
  int exitCode = children.size() == size_t(ranks) ? 0 : 1;
  size_t running = children.size();
  double failedAt = 0;
  int forwarded = 0;
  bool wasUrgent = false;
  StoppedRanks stopped(children.size());
  while (running > 0) {
    int wait = 0;
    pid_t ended = waitpid(-1, &wait, WUNTRACED | WCONTINUED | WNOHANG);
    if (stopSignal && !forwarded) {
      forwarded = stopSignal;
      block.requestStop(forwarded);
    }
    if (ended > 0) {
      auto at = std::find(children.begin(), children.end(), ended);
      if (at == children.end())
        continue;
      int64_t rank = at - children.begin();
      if (WIFSTOPPED(wait) || WIFCONTINUED(wait)) {
        stopped.note(size_t(rank), WIFSTOPPED(wait));
        continue;
      }
      *at = 0;
      --running;
      bool isClean = WIFEXITED(wait) && RankState(block.rank(rank).state.load()) == RankState::Finished;
      if (!isClean && !(WIFEXITED(wait) && block.failedRank() >= 0))
        reportEnd(block, rank, wait);
      int code = WIFEXITED(wait) ? WEXITSTATUS(wait) : 1;
      // Rank 0 speaks for the job unless another rank has a failure to tell of.
      if (exitCode == 0 || (rank == block.failedRank() && code != 0))
        exitCode = code;
      continue;
    }
    bool isUrgent = stopCount > 1;
    if (block.failedRank() >= 0 || isUrgent) {
      // Claimed so that nobody reports the ranks which are killed now.
      wasUrgent |= isUrgent && block.failure().claim(0);
      if (failedAt == 0)
        failedAt = nowSeconds();
      if (isUrgent || nowSeconds() - failedAt > 3)
        for (pid_t child : children)
          if (child > 0)
            kill(child, SIGKILL);
    }
    stopped.tell(children);
    bool isCalm = block.failedRank() < 0 && !stopCount && !stopped.mayTell(children);
    timespec nap = isCalm ? timespec{1, 0} : timespec{0, 5000000};
    pselect(0, nullptr, nullptr, nullptr, &nap, &before);
  }
  return wasUrgent ? 128 + stopSignal : exitCode;
}

/// Of the whole executable (FNV-1a by 8 bytes): ranks of a job run the same one.
static uint64_t hashOfProgram() {
  constexpr uint64_t start = 0xcbf29ce484222325ull, factor = 0x100000001b3ull;
  uint64_t hash = start, words[1024] = {};
  std::FILE *file = std::fopen("/proc/self/exe", "re");
  for (size_t bytes; file && (bytes = std::fread(words, 1, sizeof(words), file)) > 0; std::memset(words, 0, sizeof(words)))
    for (size_t i = 0; i < (bytes + 7) / 8; ++i)
      hash = (hash ^ words[i]) * factor;
  if (file)
    std::fclose(file);
  return hash ? hash : 1;
}

/// Until all ranks are there.
static Status awaitAll(const ControlBlock &block, int64_t rank, double limitSeconds) {
  double began = nowSeconds();
  while (true) {
    std::string missing;
    for (int64_t i = 0; i < block.ranks(); ++i)
      if (RankState(block.rank(i).state.load()) == RankState::Absent)
        missing += (missing.empty() ? "" : ", ") + std::to_string(i);
    if (missing.empty())
      return Status::success();
    if (block.failedRank() >= 0)
      return Status::error("");
    if (nowSeconds() - began > limitSeconds)
      return Status::error(!block.failure().claim(rank) ? ""
                                                     : format("rank %lld has waited %.0f s for these ranks, which have not come: %s (%s sets how many seconds)",
                                                              (long long)rank, limitSeconds, missing.c_str(), nameOf(Setting::RendezvousTimeout)));
    usleep(5000);
  }
}

/// A rank that others started without telling it of shared memory. On one host rank 0 creates a named block and the others wait for it; on several
/// they meet over TCP.
static Status joinByVariables(const JoinOptions &options, std::unique_ptr<World> &world) {
  LaunchVariables told = readLaunchVariables();
  int64_t rank = told.rank, size = told.size, ranks = options.ranks, lines = options.lines;
  if (size != ranks)
    return Status::error(format("%s is %lld but this program is compiled for %lld ranks: start that many, or compile with --ranks %lld", told.sizeName,
                                (long long)size, (long long)ranks, (long long)size));
  if (rank >= size)
    return Status::error(format("%s is %lld with %s %lld", told.rankName, (long long)rank, told.sizeName, (long long)size));
  uint64_t hash = hashOfProgram();
  if (size > 1 && told.localSize != size) {
    if (options.needsSharedMemory)
      return Status::error("RANK and WORLD_SIZE are set, but LOCAL_WORLD_SIZE does not say that all ranks are on this host: a program compiled for the "
                           "host moves its data by MPI there, so across hosts this program is started by mpirun or srun --mpi");
    return joinByTcp(told, hash, world);
  }
  double limitSeconds = numberOf(Setting::RendezvousTimeout);
  const std::string &port = told.port;
  std::string name = format("/para-%d-%s", int(getuid()), port.empty() ? "0" : port.c_str());
  if (name.find('/', 1) != std::string::npos)
    return Status::error("MASTER_PORT is not a number");
  ControlBlock block;
  if (rank == 0) {
    shm_unlink(name.c_str());
    int descriptor = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    if (descriptor < 0)
      return Status::error("cannot create shared memory " + name + ": " + std::strerror(errno));
    Status mapped = ControlBlock::map(descriptor, ranks, lines, true, block);
    close(descriptor);
    PARA_TRY(mapped);
    block.programHash() = hash;
  } else {
    double began = nowSeconds();
    while (true) {
      int descriptor = shm_open(name.c_str(), O_RDWR, 0600);
      struct stat info;
      bool isThere = descriptor >= 0 && fstat(descriptor, &info) == 0 && info.st_size == ControlBlock::bytesFor(ranks, lines);
      Status mapped = isThere ? ControlBlock::map(descriptor, ranks, lines, false, block) : Status::success();
      if (descriptor >= 0)
        close(descriptor);
      PARA_TRY(mapped);
      // A block of a job that died while starting has a dead creator.
      if (isThere && block.isReady() && block.programHash() && !hasEnded(block.creator()))
        break;
      if (isThere)
        block.unmap();
      if (nowSeconds() - began > limitSeconds)
        return Status::error(format("rank %lld has waited %.0f seconds for rank 0 (%s sets how many)", (long long)rank, limitSeconds,
                                    nameOf(Setting::RendezvousTimeout)));
      usleep(20000);
    }
    if (block.programHash() != hash && block.failure().claim(rank))
      return Status::error(format("rank %lld runs another program than rank 0: all ranks need the same executable", (long long)rank));
  }
  world = std::make_unique<SharedWorld>(block, rank);
  Status status = awaitAll(block, rank, limitSeconds);
  if (rank == 0)
    shm_unlink(name.c_str());
  PARA_TRY(status);
  return world->barrier();
}

Status joinShared(LaunchKind kind, const JoinOptions &options, std::unique_ptr<World> &world) {
  if (kind == LaunchKind::Variables)
    return joinByVariables(options, world);
  int64_t ranks = options.ranks;
  bool isChild = kind == LaunchKind::Child;
  int64_t rank = isChild ? variable("PARA_RANK") : 0;
  int descriptor = isChild ? int(variable("PARA_CONTROL")) : ControlBlock::createDescriptor("para-control");
  if (descriptor < 0 || rank >= ranks)
    return Status::error("cannot open shared memory");
  ControlBlock block;
  Status mapped = ControlBlock::map(descriptor, ranks, options.lines, !isChild, block);
  close(descriptor);
  PARA_TRY(mapped);
  world = std::make_unique<SharedWorld>(block, rank);
  return Status::success();
}

} // namespace para::runtime
