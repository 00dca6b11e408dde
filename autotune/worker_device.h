// Where a worker runs candidates: a GPU, or an emulated one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "tilewright/autotune/worker_protocol.h"
#include "tilewright/codegen/plan.h"
#include "tilewright/runtime/executable.h"

namespace tilewright::tune {

/// What a candidate did that no right kernel does.
struct CandidateMistake : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A candidate that is ready to run.
class LoadedPlan {
 public:
  virtual ~LoadedPlan() = default;
};

/// One set of inputs and outputs: a value for each parameter.
using ParamValues = std::vector<runtime::ParamValue>;

/// What a race is run with.
struct RaceSettings {
  std::span<const ParamValues> sets;  ///< rotated through, so that data is not in the caches
  int rounds = 3;
  double replay_us = 2000;
  std::function<void()> restore = {};  ///< makes the data what it was; empty: nothing changes
};

/// Memory and launches of one device. Errors of the device come as exceptions.
class WorkerDevice {
 public:
  virtual ~WorkerDevice() = default;

  /// At a multiple of 256 bytes, freed with the device.
  virtual std::byte* allocate(int64_t bytes) = 0;
  virtual void release_all() = 0;
  virtual void upload(std::byte* to, const std::byte* from, int64_t bytes) = 0;
  virtual void download(std::byte* to, const std::byte* from, int64_t bytes) = 0;
  virtual void copy(std::byte* to, const std::byte* from, int64_t bytes) = 0;  ///< enqueues

  virtual std::unique_ptr<LoadedPlan> load(const codegen::Plan& plan,
                                           std::span<const WorkerBinary> binaries,
                                           std::span<const WorkerParam> params) = 0;
  /// Runs once and waits.
  virtual void run(LoadedPlan& plan, const ParamValues& values) = 0;
  /// Microseconds of one call, `rounds` for each plan, in turns.
  virtual std::vector<std::vector<double>> race(std::span<LoadedPlan* const> plans,
                                                const RaceSettings& settings) = 0;

  /// How much memory of it data may take, bytes.
  virtual int64_t memory_limit() const = 0;
  virtual int64_t l2_bytes() const = 0;
  /// Whether it still works, after a failure.
  virtual bool healthy() = 0;
};

/// "cuda:1" or "emulate:sm_80". Raises the errors of devices.
std::unique_ptr<WorkerDevice> open_worker_device(const std::string& device);

// Those that open_worker_device chooses from.
std::unique_ptr<WorkerDevice> make_cuda_device(int index);
std::unique_ptr<WorkerDevice> make_emulated_device();

}  // namespace tilewright::tune
