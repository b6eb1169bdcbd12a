//===- Socket.h - A connection between two ranks ----------------*- C++ -*-===//
#ifndef PARA_RUNTIME_CORE_SOCKET_H
#define PARA_RUNTIME_CORE_SOCKET_H

#include "Status.h"

#include <functional>

namespace para::runtime {

/// Owns a descriptor.
class Socket {
public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor(descriptor) {}
  Socket(Socket &&other) noexcept : descriptor(std::exchange(other.descriptor, -1)) {}
  Socket &operator=(Socket &&other) noexcept {
    std::swap(descriptor, other.descriptor);
    return *this;
  }
  ~Socket() { close(); }
  void close();
  int get() const { return descriptor; }
  bool isOpen() const { return descriptor >= 0; }

  /// All of the bytes, or false: the other end is gone, or `isOver` holds, which is asked now and then.
  bool send(const void *data, size_t bytes, const std::function<bool()> &isOver);
  bool receive(void *data, size_t bytes, const std::function<bool()> &isOver);

  /// On all addresses of this host. Fails where the port is taken.
  static Status listen(int port, Socket &made);
  /// The next one that comes; `made` stays closed if none does within some milliseconds. Fails where this process or host can take no more.
  Status accept(Socket &made, std::string &from);
  /// Fails at once where nobody listens there, and after so many seconds where nobody answers.
  static Status connect(const std::string &host, int port, double seconds, Socket &made);
  /// The other end reads what was sent, and then that it was all. What comes from there can be received still.
  void endSending();

private:
  bool wait(short what, const std::function<bool()> &isOver);
  int descriptor = -1;
};

} // namespace para::runtime

#endif
