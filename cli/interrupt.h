// Ctrl-C as a request to stop.
#pragma once

#include <signal.h>

#include <stop_token>
#include <thread>

namespace tilewright::cli {

/// While alive, the first SIGINT or SIGTERM requests a stop, and the second ends the process as
/// usual. Must be made before other threads are started, so that they leave the signals to it.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;

  std::stop_token token() const { return source_.get_token(); }

 private:
  sigset_t signals_{}, before_{};
  std::stop_source source_;
  std::jthread thread_;
};

}  // namespace tilewright::cli
