// What a process that tunes and the worker that runs its candidates say to each other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/autotune/compare.h"
#include "tilewright/autotune/store.h"
#include "tilewright/ir/type.h"

namespace tilewright::tune {

/// A parameter of the kernel, and what it holds.
struct WorkerParam {
  std::string name = {};
  bool tensor = true;
  DType dtype = DType::f32;
  uint64_t bits = 0;      ///< of a scalar
  TensorSpec spec = {};   ///< of a tensor
  bool written = false;   ///< by the kernel
  bool poisoned = false;  ///< begins as poison: a result
  int same_as = -1;       ///< an earlier parameter whose memory this is
  int64_t offset = -1;    ///< of its contents in the data file; -1: random
  uint64_t seed = 0;      ///< of random contents
  int64_t expected = -1;  ///< of the verified result in the data file; -1: not known beforehand
  Tolerance tolerance = {};
};

/// Machine code of one kernel step.
struct WorkerBinary {
  std::string cubin = {}, ptx = {};
  int compiler = 0;
};

struct WorkerJob {
  enum class Kind {
    setup,    ///< take device and params; everything loaded before is dropped
    attempt,  ///< load `plan` as ids[0], run and compare it
    race,     ///< time `ids`
    recheck,  ///< run and compare `ids` again, with ids[0] as the reference
    keep,     ///< unload all but `ids`
  };
  Kind kind = Kind::setup;
  std::string device = {};  ///< "cuda:1", "emulate:sm_80"
  std::vector<WorkerParam> params = {};
  double replay_us = 2000;  ///< least length of a timed replay
  std::vector<int> ids = {};
  std::string plan = {};  ///< encode_plan
  std::vector<WorkerBinary> binaries = {};
  bool trusted = false;  ///< attempt: what it leaves is the verified result
  int rounds = 0;
};

struct WorkerAnswer {
  std::string problem = {};  ///< the job could not be done at all
  Trial::Status status = Trial::Status::ok;
  std::string message = {};
  std::vector<int> disproved = {};  ///< ids that passed before and turned out to be wrong
  bool verified = false;            ///< a verified result is known now
  bool ends = false;                ///< the device is unusable: the worker ends behind this
  std::vector<std::vector<double>> times = {};
  std::vector<std::string> messages = {};  ///< recheck: one for each id, empty when it is right
};

/// As a whole message: eight bytes of length, then the contents.
std::string to_message(const WorkerJob& job);
std::string to_message(const WorkerAnswer& answer);
/// Read those; throw std::exception when they are something else.
WorkerJob parse_job(std::string_view message);
WorkerAnswer parse_answer(std::string_view message);
/// The length of the first whole message in a text; 0 while there is none.
size_t message_length(std::string_view received);

}  // namespace tilewright::tune
