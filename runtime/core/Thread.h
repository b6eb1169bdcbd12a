//===- Thread.h - Threads beside the main one -------------------*- C++ -*-===//
#ifndef PARA_RUNTIME_CORE_THREAD_H
#define PARA_RUNTIME_CORE_THREAD_H

#include <csignal>
#include <pthread.h>
#include <thread>

namespace para::runtime {

/// A thread that takes no signals: they are the main thread's.
template <typename Run> std::thread startThread(Run run) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(run));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

} // namespace para::runtime

#endif
