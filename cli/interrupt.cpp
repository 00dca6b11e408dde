#include "cli/interrupt.h"

#include <pthread.h>

#include <cstdlib>

namespace tilewright::cli {

InterruptWatch::InterruptWatch() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  thread_ = std::jthread([this](const std::stop_token& ended) {
    while (!ended.stop_requested()) {
      const timespec wait{0, 100'000'000};
      const int signal = sigtimedwait(&signals_, nullptr, &wait);
      if (signal < 0) continue;
      if (source_.stop_requested()) std::_Exit(128 + signal);
      source_.request_stop();
    }
  });
}

InterruptWatch::~InterruptWatch() {
  thread_.request_stop();
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace tilewright::cli
