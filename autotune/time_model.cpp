#include "tilewright/autotune/time_model.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tilewright/autotune/count_traffic.h"
#include "tilewright/autotune/occupancy.h"
#include "tilewright/autotune/program_time.h"
#include "tilewright/autotune/work.h"
#include "tilewright/codegen/config_needs.h"
#include "tilewright/codegen/passes.h"
#include "tilewright/codegen/repitch.h"
#include "tilewright/codegen/roll_rows.h"

namespace tilewright::tune {
namespace {

constexpr double kCopySlowness = 2;    // of copies of rows that are no whole 16 bytes
constexpr double kMemoryBegin = 1;     // microseconds until memory is at its full rate
constexpr double kForNothing = 1.02;   // persistent blocks that load nothing ahead
constexpr double kAtomics = 1.5e5;     // elements of a microsecond that atomics change
constexpr double kAtomicsOfOne = 460;  // of them, of one and the same element
constexpr double kOverlap = 5;         // how sharply the slower of two things that overlap counts

/// The share of multiprocessors that clusters of so many blocks can use: a cluster stays within one
/// of the groups in which multiprocessors come.
double reachable(int blocks) { return blocks <= 2 ? 1 : blocks == 4 ? 0.9 : 0.8; }

/// Of two things that go on at the same time.
double together(double x, double y) {
  const double most = std::max(x, y);
  if (most <= 0) return 0;
  return most * std::pow(std::pow(x / most, kOverlap) + std::pow(y / most, kOverlap), 1 / kOverlap);
}

/// All programs on the device, memory aside.
double on_multiprocessors(const ProgramTime& program, double programs, double slots,
                          const Config& config, int resident) {
  const auto wave = [&](double blocks) {
    return blocks > 1 ? together(program.alone(), program.busy(blocks)) : program.alone();
  };
  const double waves = programs / slots;
  if (config.persistent) {
    // The next tile's loads begin while this one is stored.
    const double steady = program.chain + program.end;
    const double each = resident > 1 ? together(steady, program.busy(resident)) : steady;
    return program.begin + std::ceil(waves) * each;
  }
  const double full = std::floor(waves);
  const double left = programs - full * slots;
  double time = full * wave(resident);
  if (left > 0.5) time += wave(std::ceil(left / slots * resident));
  return time;
}

/// What atomics take, those of all programs to the same elements one after the other.
double atomics_us(const Work& work) {
  double time = 0;
  for (const OpWork& one : work.ops) {
    if (!ir::is_atomic(one.op->kind)) continue;
    const bool apart = std::ranges::find(one.grid_axes, true) != one.grid_axes.end();
    time += std::max(one.elements / kAtomics, apart ? 0 : one.runs / kAtomicsOfOne);
  }
  return time;
}

/// Programs, with those that only fill clusters up.
double launched_programs(const Work& work, const Config& config) {
  if (config.cluster == 1 || work.grid.empty()) return work.programs;
  const size_t along = config.order.empty() ? 0 : static_cast<size_t>(config.order[0]);
  if (along >= work.grid.size() || work.grid[along] == 0) return work.programs;
  const auto tiles = static_cast<double>(work.grid[along]);
  return work.programs / tiles * std::ceil(tiles / config.cluster) * config.cluster;
}

}  // namespace

struct TimeModel::State {
  State(const ir::Function& traced, const Target& on, const Calibration& with)
      : fn(traced), target(on), calibration(with) {
    for (const int param : codegen::params_to_repitch(fn, codegen::written_params(fn)))
      copied_bytes += static_cast<double>(fn.params[static_cast<size_t>(param)].spec.elements()) *
                      size_of(fn.params[static_cast<size_t>(param)].spec.dtype) * 2;
  }

  /// What is counted where long rows are walked in chunks of so many elements (0: whole).
  struct Rolled {
    explicit Rolled(const ir::Function& fn) : counter(fn) {}
    WorkCounter counter;
    std::map<std::vector<int64_t>, Work> works;  // by tile sizes

    const Work& work(const std::vector<int64_t>& blocks) {
      const auto [at, is_new] = works.try_emplace(blocks);
      if (is_new) at->second = counter.count(blocks);
      return at->second;
    }
  };

  Rolled& rolled(const Config& config) {
    std::unique_ptr<Rolled>& found = by_chunk[config.reduction_loop];
    if (!found)
      found = std::make_unique<Rolled>(codegen::roll_rows(fn, config, codegen::written_params(fn)));
    return *found;
  }

  /// What the copies of tensors whose rows are no whole 16 bytes take.
  double copies_us() const {
    if (copied_bytes == 0) return 0;
    return 2 * calibration.launch_us + kCopySlowness * copied_bytes / calibration.copy_bytes_per_us;
  }

  const ir::Function& fn;
  Target target;
  Calibration calibration;
  double copied_bytes = 0;
  std::map<int, std::unique_ptr<Rolled>> by_chunk;
};

TimeModel::TimeModel(const ir::Function& fn, const Target& target, const Calibration& calibration)
    : state_(std::make_unique<State>(fn, target, calibration)) {}
TimeModel::~TimeModel() = default;

namespace {

struct Bound {
  const char* name;
  double us;
};

/// What takes longest, where something takes most of the time.
const char* bound_of(const Prediction& prediction, double all) {
  const Bound bounds[] = {{"tensor cores", prediction.matrix_us},
                          {"CUDA cores", prediction.cores_us},
                          {"shared memory", prediction.shared_us},
                          {"L2", prediction.l2_us},
                          {"memory", prediction.memory_us}};
  const Bound* most = std::ranges::max_element(bounds, {}, &Bound::us);
  return most->us < 0.5 * all ? "latency" : most->name;
}

}  // namespace

Prediction TimeModel::predict(const Config& config) const {
  State& state = *state_;
  State::Rolled& rolled = state.rolled(config);
  const ir::Function& counted = rolled.counter.function();
  const std::vector<int64_t> blocks = codegen::bind_axes(config, counted);
  const Work& work = rolled.work(blocks);
  Occupancy occupancy = occupancy_of(state.fn, config, state.target);
  // A persistent kernel is launched with so many.
  if (config.persistent) occupancy.resident = std::min(occupancy.resident, config.blocks_per_sm);
  const int together_blocks = config.cluster * config.split_k;
  const double slots = std::max(1.0, state.target.multiprocessors * occupancy.resident *
                                         reachable(together_blocks) / config.split_k);
  const Traffic traffic = count_traffic(work, counted, config, state.target,
                                        {slots, state.calibration.l2_bytes, false});
  const ProgramTime program = program_time(counted, work, traffic, blocks, config, state.target,
                                           state.calibration, occupancy);
  Prediction result;
  const double programs = launched_programs(work, config);
  const double multiprocessors = state.target.multiprocessors;
  const double computing = on_multiprocessors(program, programs, slots, config, occupancy.resident);
  const auto device = [&](double each) {
    return each * work.programs * config.split_k / multiprocessors;
  };
  result.matrix_us = device(program.matrix);
  result.cores_us = device(program.cores);
  result.shared_us = device(program.shared);
  result.l2_us = device(program.l2);
  result.memory_us = kMemoryBegin + static_cast<double>(traffic.memory_bytes()) /
                                        state.calibration.copy_bytes_per_us;
  result.latency_us = computing;
  result.waves = programs / slots;
  const double blocks_at_once = config.persistent ? std::min(programs, slots) : programs;
  result.blocks = static_cast<int64_t>(blocks_at_once) * config.split_k;
  result.resident = occupancy.resident;
  result.occupancy = occupancy.occupancy;
  result.registers = occupancy.registers;
  result.shared_bytes = occupancy.shared_bytes;
  result.memory_us += atomics_us(work);
  const double all = programs == 0 ? 0 : together(computing, result.memory_us);
  result.bound = bound_of(result, all);
  const bool for_nothing = config.persistent && occupancy.threads == 32 * config.warps;
  result.microseconds = state.calibration.launch_us + all * (for_nothing ? kForNothing : 1) +
                        (config.repitch ? state.copies_us() : 0);
  return result;
}

Prediction predict(const ir::Function& fn, const Config& config, const Target& target,
                   const Calibration& calibration) {
  return TimeModel(fn, target, calibration).predict(config);
}

}  // namespace tilewright::tune
