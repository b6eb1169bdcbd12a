#include "para/Support/Output.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>

using namespace llvm;
using namespace para;

namespace {
Error cannotWrite(StringRef path, std::error_code cause) {
  return createStringError(inconvertibleErrorCode(), "cannot write '" + path + "': " + cause.message());
}

/// A stream that is destroyed with an error ends the process, so the error is taken from it.
std::error_code finish(raw_fd_ostream &stream) {
  stream.flush();
  std::error_code error = stream.error();
  stream.clear_error();
  return error;
}

std::error_code writeAll(StringRef path, StringRef bytes) {
  std::error_code error;
  raw_fd_ostream stream(path, error);
  if (error)
    return error;
  stream << bytes;
  error = finish(stream);
  stream.close();
  std::error_code closing = stream.error();
  stream.clear_error();
  return error ? error : closing;
}

/// What `path` is: a name to be renamed to, or something that can only be written into.
struct Target {
  std::string path; ///< behind symbolic links
  bool isDirect = false;
};

Expected<Target> resolve(StringRef path) {
  sys::fs::file_status status;
  std::error_code error = sys::fs::status(path, status);
  if (error == std::errc::no_such_file_or_directory && !path.empty())
    return Target{path.str(), false};
  if (error)
    return cannotWrite(path, error);
  if (status.type() == sys::fs::file_type::directory_file)
    return cannotWrite(path, std::make_error_code(std::errc::is_a_directory));
  SmallString<128> real;
  if (status.type() != sys::fs::file_type::regular_file || sys::fs::real_path(path, real))
    return Target{path.str(), true};
  return Target{real.str().str(), false};
}
} // namespace

PendingFile::PendingFile(PendingFile &&other)
    : shown(std::move(other.shown)), target(std::move(other.target)), temporary(std::exchange(other.temporary, {})), renames(other.renames) {}

PendingFile::~PendingFile() {
  if (temporary.empty())
    return;
  sys::fs::remove(temporary);
  sys::DontRemoveFileOnSignal(temporary);
}

Expected<PendingFile> PendingFile::create(StringRef path) {
  Expected<Target> target = resolve(path);
  if (!target)
    return target.takeError();
  PendingFile file;
  file.shown = path.str();
  file.target = target->path;
  file.renames = !target->isDirect;
  SmallString<128> temporary;
  std::error_code error;
  if (file.renames) {
    error = sys::fs::createUniqueFile(file.target + ".tmp-%%%%%%%%", temporary);
    // A folder that takes no new files may hold one that can be written.
    file.renames = !(error == std::errc::permission_denied && sys::fs::can_write(file.target));
  }
  if (!file.renames)
    error = sys::fs::createTemporaryFile("para", "out", temporary);
  if (error)
    return cannotWrite(path, error);
  file.temporary = temporary.str().str();
  sys::RemoveFileOnSignal(file.temporary);
  return std::move(file);
}

Error PendingFile::commit() {
  std::error_code error;
  if (renames) {
    // A file that is replaced keeps its permissions, and is as executable as the new one.
    auto old = sys::fs::getPermissions(target), made = sys::fs::getPermissions(temporary);
    if (old && made)
      (void)sys::fs::setPermissions(temporary, *old | (*made & sys::fs::all_exe));
    error = sys::fs::rename(temporary, target);
    if (!error) {
      sys::DontRemoveFileOnSignal(temporary);
      temporary.clear();
    }
  } else {
    auto bytes = MemoryBuffer::getFile(temporary, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    error = bytes ? writeAll(target, (*bytes)->getBuffer()) : bytes.getError();
  }
  return error ? cannotWrite(shown, error) : Error::success();
}

Error para::writeOutput(StringRef path, StringRef bytes) {
  if (path == "-") {
    outs() << bytes;
    return flushStandardOutput();
  }
  Expected<Target> target = resolve(path);
  if (!target)
    return target.takeError();
  if (target->isDirect) {
    std::error_code error = writeAll(path, bytes);
    return error ? cannotWrite(path, error) : Error::success();
  }
  Expected<PendingFile> file = PendingFile::create(path);
  if (!file)
    return file.takeError();
  if (std::error_code error = writeAll(file->getPath(), bytes))
    return cannotWrite(path, error);
  return file->commit();
}

void para::outliveReaders() {
  struct sigaction action = {};
  action.sa_handler = [](int) {}; // not SIG_IGN, which programs that are started would inherit
  action.sa_flags = SA_RESTART;
  (void)sigaction(SIGPIPE, &action, nullptr);
}

Error para::flushStandardOutput() {
  errs().clear_error(); // who read it may have gone, and its destructor would end the program
  std::error_code error = finish(outs());
  if (error == std::errc::broken_pipe)
    return Error::success(); // who reads has enough
  return error ? createStringError(inconvertibleErrorCode(), "cannot write to standard output: " + error.message()) : Error::success();
}
