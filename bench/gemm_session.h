// What a child process of device_bench does with products: compiling, running, checking, racing.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "bench/gemm_protocol.h"

namespace tilewright::bench {

/// Does jobs one after the other. Keeps the data of the last row, and of the device what it needs.
class GemmSession {
 public:
  GemmSession();
  ~GemmSession();

  /// Does a job and says what happens; never throws. After a failure that left the device's context
  /// unusable it ends the process, so that the rest is done by another.
  void run(const Job& job, const std::function<void(const Message&)>& say);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A child's life: jobs from the standard input, messages to the file of answers.
void serve_gemm();

}  // namespace tilewright::bench
