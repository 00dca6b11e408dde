// What a worker does with its jobs: loading, running, comparing and timing candidates on data of
// its own.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tilewright/autotune/worker_device.h"
#include "tilewright/autotune/worker_protocol.h"

namespace tilewright::tune {

/// Does jobs one after the other.
class WorkerSession {
 public:
  /// `data` is the data file as it is when a setup comes.
  explicit WorkerSession(std::function<std::span<const std::byte>()> data)
      : data_(std::move(data)) {}

  /// Never throws; a failure is in the answer.
  WorkerAnswer answer(const WorkerJob& job);
  /// Whether a failure left the device unusable, so that another process must go on.
  bool must_end() const { return must_end_; }

 private:
  using Bytes = std::vector<std::byte>;
  /// Where tensors lie in the memory of one set, with guards around each.
  struct Layout {
    std::vector<int64_t> offsets;  ///< by parameter; -1 for scalars
    int64_t bytes = 0;
  };
  /// Results that were left by some candidates while none is verified.
  struct Claim {
    std::vector<Bytes> results;
    std::vector<int> ids;
  };

  void setup(const WorkerJob& job);
  void attempt(const WorkerJob& job, WorkerAnswer& answer);
  void race(const WorkerJob& job, WorkerAnswer& answer);
  void recheck(const WorkerJob& job, WorkerAnswer& answer);
  void keep(const WorkerJob& job);

  Layout lay_out() const;
  Bytes make_image(int number) const;
  ParamValues values_in(std::byte* memory) const;
  std::vector<Bytes> run_on(int image, LoadedPlan& plan, std::string& broken_guard);
  std::string compare_with(const std::vector<Bytes>& expected,
                           const std::vector<Bytes>& results) const;
  void settle(int id, std::vector<Bytes> results, WorkerAnswer& answer);

  std::function<std::span<const std::byte>()> data_;
  std::string device_name_;
  std::unique_ptr<WorkerDevice> device_;
  std::vector<WorkerParam> params_;
  double replay_us_ = 0;
  Layout layout_;
  std::vector<std::byte*> images_;    // two sets as candidates find them, never run on
  std::vector<ParamValues> sets_;     // that are run on
  std::vector<std::byte*> memories_;  // of the sets
  bool restores_ = false;             // the kernel reads what it writes
  std::vector<Bytes> expected_;       // by parameter, of the first image; empty: not verified yet
  std::vector<Bytes> expected_of_second_;  // image, by the reference; empty: not asked for yet
  std::vector<Claim> claims_;
  std::map<int, std::unique_ptr<LoadedPlan>> loaded_;
  bool must_end_ = false;
};

}  // namespace tilewright::tune
