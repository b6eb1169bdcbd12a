//===- Socket.cpp - A connection between two ranks ----------------------------===//
#include "Socket.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace para::runtime {

namespace {
constexpr int napMilliseconds = 50;

Status failure(const std::string &what) { return Status::error(what + ": " + std::strerror(errno)); }

void quicken(int descriptor) { // Control messages are small, and somebody waits for each.
  int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}
} // namespace

void Socket::close() {
  if (descriptor >= 0)
    ::close(descriptor);
  descriptor = -1;
}

bool Socket::wait(short what, const std::function<bool()> &isOver) {
  pollfd ask{descriptor, what, 0};
  while (descriptor >= 0) {
    int ready = poll(&ask, 1, napMilliseconds);
    if (ready > 0)
      return true;
    if ((ready < 0 && errno != EINTR) || isOver())
      return false;
  }
  return false;
}

/// `move` takes a place and a number of bytes, and tells how many it has moved; as often as it takes, and `wait` between.
template <typename Byte, typename Move>
static bool moveAll(Byte *at, size_t bytes, Move move, const std::function<bool()> &wait) {
  while (bytes > 0) {
    ssize_t done = move(at, bytes);
    if (done < 0 && (errno == EAGAIN || errno == EINTR)) {
      if (!wait())
        return false;
      continue;
    }
    if (done <= 0)
      return false;
    at += done;
    bytes -= size_t(done);
  }
  return true;
}

bool Socket::send(const void *data, size_t bytes, const std::function<bool()> &isOver) {
  auto move = [&](const char *at, size_t rest) { return ::send(descriptor, at, rest, MSG_NOSIGNAL | MSG_DONTWAIT); };
  return moveAll(static_cast<const char *>(data), bytes, move, [&] { return wait(POLLOUT, isOver); });
}

bool Socket::receive(void *data, size_t bytes, const std::function<bool()> &isOver) {
  auto move = [&](char *at, size_t rest) { return ::recv(descriptor, at, rest, MSG_DONTWAIT); };
  return moveAll(static_cast<char *>(data), bytes, move, [&] { return wait(POLLIN, isOver); });
}

Status Socket::listen(int port, Socket &made) {
  Socket socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  bool isSix = socket.isOpen();
  if (!isSix)
    socket = Socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.isOpen())
    return failure("cannot make a socket");
  int on = 1, off = 0, result;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)); // Connections of a job before may linger; a listener is told still.
  if (isSix) {
    setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    sockaddr_in6 at{};
    at.sin6_family = AF_INET6, at.sin6_addr = in6addr_any, at.sin6_port = htons(uint16_t(port));
    result = bind(socket.get(), reinterpret_cast<sockaddr *>(&at), sizeof(at));
  } else {
    sockaddr_in at{};
    at.sin_family = AF_INET, at.sin_addr.s_addr = htonl(INADDR_ANY), at.sin_port = htons(uint16_t(port));
    result = bind(socket.get(), reinterpret_cast<sockaddr *>(&at), sizeof(at));
  }
  if (result != 0 || ::listen(socket.get(), SOMAXCONN) != 0)
    return failure("cannot listen at port " + std::to_string(port));
  made = std::move(socket);
  return Status::success();
}

void Socket::endSending() { shutdown(descriptor, SHUT_WR); }

Status Socket::accept(Socket &made, std::string &from) {
  pollfd ask{descriptor, POLLIN, 0};
  if (poll(&ask, 1, napMilliseconds) <= 0)
    return Status::success();
  sockaddr_storage address{};
  socklen_t bytes = sizeof(address);
  Socket socket(accept4(descriptor, reinterpret_cast<sockaddr *>(&address), &bytes, SOCK_CLOEXEC));
  if (!socket.isOpen()) {
    // Others are the connection's own: it was given up before it was taken.
    bool isFull = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    return isFull ? failure("cannot take another connection") : Status::success();
  }
  char host[NI_MAXHOST] = {};
  getnameinfo(reinterpret_cast<sockaddr *>(&address), bytes, host, sizeof(host), nullptr, 0, NI_NUMERICHOST);
  from = host;
  quicken(socket.get());
  made = std::move(socket);
  return Status::success();
}

/// 0 when the connection stands, else why it does not.
static int connectWithin(int descriptor, const addrinfo &at, double seconds) {
  if (::connect(descriptor, at.ai_addr, at.ai_addrlen) == 0)
    return 0;
  if (errno != EINPROGRESS)
    return errno;
  pollfd ask{descriptor, POLLOUT, 0};
  for (double until = nowSeconds() + seconds, left = seconds; left > 0; left = until - nowSeconds()) {
    int ready = poll(&ask, 1, int(left * 1000) + 1);
    if (ready < 0 && errno != EINTR)
      return errno;
    int found = 0;
    socklen_t bytes = sizeof(found);
    if (ready > 0)
      return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &found, &bytes) == 0 ? found : errno;
  }
  return ETIMEDOUT;
}

Status Socket::connect(const std::string &host, int port, double seconds, Socket &made) {
  double until = nowSeconds() + seconds;
  addrinfo hints{}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (int result = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list))
    return Status::error(std::string("the host is not known: ") + gai_strerror(result));
  Status status = Status::error("the host has no address");
  int addresses = 0;
  for (addrinfo *at = list; at; at = at->ai_next)
    ++addresses;
  for (addrinfo *at = list; at; at = at->ai_next) {
    Socket socket(::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at->ai_protocol));
    // One that does not answer leaves the others their part of the time.
    int cause = socket.isOpen() ? connectWithin(socket.get(), *at, std::max(0.1, (until - nowSeconds()) / addresses--)) : errno;
    if (cause == 0) {
      quicken(socket.get());
      made = std::move(socket);
      status = Status::success();
      break;
    }
    status = Status::error(std::strerror(cause));
  }
  freeaddrinfo(list);
  return status;
}

} // namespace para::runtime
