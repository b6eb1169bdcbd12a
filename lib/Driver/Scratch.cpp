#include "Scratch.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace para;

namespace {
/// Signals wait until they are asked for; those that the user has told us to ignore are left alone.
class HeldSignals {
public:
  HeldSignals() {
    sigemptyset(&held);
    sigaddset(&held, SIGCHLD);
    for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction action;
      if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN)
        sigaddset(&held, signal);
    }
    sigprocmask(SIG_BLOCK, &held, &before);
  }
  ~HeldSignals() { release(); }
  void release() { sigprocmask(SIG_SETMASK, &before, nullptr); }
  /// The next one, or SIGCHLD after so long.
  int next(long milliseconds) {
    timespec limit = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    int signal = sigtimedwait(&held, nullptr, &limit);
    return signal > 0 ? signal : SIGCHLD;
  }

private:
  sigset_t held, before;
};

/// Ends what is left of a group of processes: kindly, for programs finish a step and give shared memory back, and then for certain.
void endGroup(pid_t group, HeldSignals &signals) {
  constexpr int patience = 40, last = 80; // times 50 ms
  for (int i = 0; i < last && kill(-group, i == 0 ? SIGTERM : i == patience ? SIGKILL : 0) == 0; ++i) {
    signals.next(50);
    waitpid(-group, nullptr, WNOHANG);
  }
}

int fail(llvm::StringRef flag, const llvm::Twine &message) {
  llvm::errs() << "para-opt: error: " << flag << ": " << message << "\n";
  return 1;
}
} // namespace

int para::runInScratch(llvm::StringRef flag, llvm::function_ref<int(llvm::StringRef folder)> work) {
  llvm::SmallString<128> folder;
  if (std::error_code error = llvm::sys::fs::createUniqueDirectory("para", folder)) {
    llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, folder);
    return fail(flag, "cannot make a folder in '" + folder + "' (TMPDIR names another): " + error.message());
  }
  llvm::outs().flush(); // or the other process would say it again
  HeldSignals signals;
  pid_t parent = getpid(), child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);
    signals.release();
    setenv("TMPDIR", folder.c_str(), 1); // what a compilation leaves when it is ended goes, too
    int status = getppid() == parent ? work(folder) : 1;
    llvm::outs().flush();
    _exit(status);
  }
  if (child < 0) {
    std::string cause = std::strerror(errno);
    (void)llvm::sys::fs::remove_directories(folder);
    return fail(flag, "cannot start a process: " + cause);
  }
  setpgid(child, child); // by whoever comes first
  int wait = 0, stop = 0;
  pid_t ended = 0;
  while (!stop && (ended = waitpid(child, &wait, WNOHANG)) == 0)
    if (int signal = signals.next(1000); signal != SIGCHLD)
      stop = signal;
  endGroup(child, signals);
  (void)llvm::sys::fs::remove_directories(folder);
  if (stop) {
    std::raise(stop); // comes when it is released
    signals.release();
    return 128 + stop;
  }
  if (ended < 0)
    return fail(flag, llvm::Twine("how its process ended is not known: ") + std::strerror(errno));
  if (WIFSIGNALED(wait))
    return fail(flag, llvm::Twine("ended by signal ") + llvm::Twine(WTERMSIG(wait)) + " (" + strsignal(WTERMSIG(wait)) + ")" +
                          (WTERMSIG(wait) == SIGKILL ? "; the system may be short of memory" : ""));
  return WEXITSTATUS(wait);
}
