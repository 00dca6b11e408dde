#include "tilewright/autotune/program_time.h"

#include <algorithm>
#include <cmath>

#include "tilewright/codegen/dot_operands.h"
#include "tilewright/codegen/matrix_layouts.h"
#include "tilewright/codegen/matrix_unit.h"
#include "tilewright/codegen/orient_dots.h"
#include "tilewright/ir/builder.h"
#include "tilewright/ir/precision.h"

namespace tilewright::tune {
namespace {

using ir::Op;
using ir::OpKind;

// Clocks of a multiprocessor, fitted to times measured on an H200 (bench/data).
constexpr double kLatency = 700;          // of a load, from its issue to its use
constexpr double kBegin = 600;            // of a block, before its first load
constexpr double kBeginRoles = 500;       // more, where barriers and maps are made ready
constexpr double kBeginCluster = 1200;    // more, where blocks wait for each other, at both ends
constexpr double kBarrier = 30;           // of a block, at each step
constexpr double kBarrierOfWarp = 1;      // more, for each warp
constexpr double kReduce = 250;           // of a reduction over a block's threads
constexpr double kStoreBytes = 22;        // of results, a clock
constexpr double kSharedBytes = 128;      // of shared memory, a clock
constexpr double kExchange = 600;         // adding up the parts of a cluster
constexpr double kExchangeBytes = 32;     // of those parts, a clock
constexpr double kIssue = 6;              // of a product by a warpgroup, unless another one works
constexpr double kComputed = 600;         // from shared memory by way of registers to a product
constexpr double kCopyInstructions = 8;   // of a thread's copy to shared memory, address included
constexpr double kStepInstructions = 40;  // of a warp that copies for itself, at each step
constexpr double kCrowded = 1.5;          // how much slower threads are for each register missing
constexpr double kSpillAccesses = 12;     // of memory, for each register of a tile that is missing
constexpr double kFunctionWeight = 8;     // of exp, division and the like, in additions
constexpr double kIdleIssue = 0.25;       // of a scheduler with one warp, the share it waits
// How sharply the slowest of things that overlap counts: within a block, and between blocks.
constexpr double kOverlap = 8, kOverlapOfBlocks = 4;
constexpr double kOneReader = 2;  // what a multiprocessor can read, over its share of L2's rate

/// Of things that go on at the same time, each of which now and then waits for another.
double together(std::initializer_list<double> times, double sharpness) {
  const double most = std::max(times);
  if (most <= 0) return 0;
  double sum = 0;
  for (const double time : times) sum += std::pow(time / most, sharpness);
  return most * std::pow(sum, 1 / sharpness);
}

/// Schedulers issue to the warp that is ready; with few warps none may be.
double issue_factor(double warps) { return 1 + kIdleIssue / std::max(0.25, warps / 4); }

bool in_sequential_loop(const Op& op) {
  for (const ir::Region* region = op.parent; region != nullptr && region->parent != nullptr;
       region = region->parent->parent)
    if (region->parent->kind == OpKind::tile_loop &&
        region->parent->integer(ir::AttrKey::parallel) == 0)
      return true;
  return false;
}

int64_t extent(const ir::Dim& dim, const std::vector<int64_t>& blocks) {
  return dim.is_block() ? blocks.at(static_cast<size_t>(dim.axis)) : dim.extent;
}

/// How a rate's type is called in a calibration.
std::string_view type_of(const Op& dot) {
  const DType dtype = dot.operand(0)->type.dtype;
  if (is_f8(dtype)) return "f8";
  if (dtype == DType::f32) return "tf32";
  return dtype == DType::u8 ? "i8" : to_string(dtype);
}

/// Additions that one element of an elementwise operation costs.
double weight_of(const Op& op) {
  if (op.kind == OpKind::unary || op.kind == OpKind::binary) {
    constexpr ir::Fn slow[] = {ir::Fn::exp,   ir::Fn::exp2, ir::Fn::log, ir::Fn::log2, ir::Fn::sqrt,
                               ir::Fn::rsqrt, ir::Fn::sin,  ir::Fn::cos, ir::Fn::tanh, ir::Fn::erf,
                               ir::Fn::div,   ir::Fn::rem,  ir::Fn::pow};
    if (std::ranges::find(slow, op.fn()) != std::end(slow)) return kFunctionWeight;
  }
  return 1;
}

/// Clocks of shared memory and of arithmetic for one dot of a tile.
struct DotClocks {
  double matrix = 0, shared = 0;
};

class ProgramClocks {
 public:
  ProgramClocks(const ir::Function& fn, const Work& work, const std::vector<int64_t>& blocks,
                const Config& config, const Target& target, const Calibration& calibration)
      : fn_(fn),
        work_(work),
        blocks_(blocks),
        config_(config),
        target_(target),
        calibration_(calibration) {
    // Two operations a clock and lane are one multiplication and addition.
    lanes = rate(MatrixUnit::fma, "f32") / 2;
    for (const OpWork& one : work.ops) add(one);
  }

  // Clocks of one program.
  double matrix = 0, shared = 0, cores_in_loops = 0, cores_outside = 0, reductions = 0;
  double lanes = 128;   // additions a clock
  double results = 0;   // elements of the largest dot's tile
  double computed = 0;  // steps in which operands of dots are computed
  bool has_dots = false, matrix_unit = false;

 private:
  double per_program(double total) const { return total / std::max(1.0, work_.programs); }
  /// A device's rate, in operations a clock of one multiprocessor.
  double rate(MatrixUnit unit, std::string_view type) const {
    return calibration_.rate(unit, type) / target_.multiprocessors / calibration_.clocks_per_us;
  }

  void add(const OpWork& one) {
    if (one.op->kind == OpKind::dot) return add_dot(one);
    if (one.param >= 0) return;
    const double clocks = per_program(one.elements) * weight_of(*one.op) / lanes;
    (in_sequential_loop(*one.op) ? cores_in_loops : cores_outside) += clocks;
    if (one.op->kind == OpKind::reduce) reductions += per_program(one.runs) * kReduce;
  }

  void add_dot(const OpWork& one) {
    const Op& dot = *one.op;
    const ir::Shape& shape = dot.result()->type.shape;
    const int64_t m = extent(shape[0], blocks_), n = extent(shape[1], blocks_),
                  k = extent(dot.operand(0)->type.shape[1], blocks_);
    has_dots = true;
    const double runs = per_program(one.runs);
    const MatrixUnit unit = codegen::unit_of(dot, config_, target_);
    const DotClocks clocks = unit == MatrixUnit::wgmma ? by_warpgroups(dot, m, n, k)
                             : unit == MatrixUnit::mma ? by_warps(dot, m, n, k)
                                                       : by_threads(dot, m, n, k);
    matrix_unit |= unit != MatrixUnit::fma;
    if (unit != MatrixUnit::fma && is_computed(dot)) computed = std::max(computed, runs);
    matrix += runs * clocks.matrix;
    shared += runs * clocks.shared;
    results = std::max(results, static_cast<double>(m * n));
  }

  /// Whether an operand goes through registers on its way.
  bool is_computed(const Op& dot) const {
    return codegen::operand_home(fn_, dot, 0, config_, target_) != codegen::OperandHome::copied ||
           codegen::operand_home(fn_, dot, 1, config_, target_) != codegen::OperandHome::copied;
  }

  /// 64 rows by up to 256 columns at a time, both operands from shared memory.
  DotClocks by_warpgroups(const Op& dot, int64_t m, int64_t n, int64_t k) const {
    if (codegen::is_transposed_for_wgmma(fn_, dot, m, n)) std::swap(m, n);
    const int64_t along_rows = codegen::wgmma_groups_along_rows(m, config_.warps);
    const auto columns =
        static_cast<double>(n) / std::max<int64_t>(1, config_.warps / 4 / along_rows);
    const auto volume = static_cast<double>(m * n * k);
    const double bytes = size_of(dot.operand(0)->type.dtype);
    const double instructions = volume / (64 * columns);  // 64 by columns by 1
    const double issue = instructions * bytes / 32 * kIssue * 4 / config_.warps;
    return {2 * volume / rate(MatrixUnit::wgmma, type_of(dot)) + issue,
            instructions * (64 + columns) * bytes / kSharedBytes};
  }

  /// Each warp reads its rows and columns of the operands.
  DotClocks by_warps(const Op& dot, int64_t m, int64_t n, int64_t k) const {
    const int copies = ir::precision_of(dot) == DotPrecision::tf32x3 ? 3 : 1;
    const auto volume = static_cast<double>(m * n * k);
    double rows = static_cast<double>(m), columns = static_cast<double>(n);
    for (int warps = config_.warps; warps > 1; warps /= 2)
      (rows > 16 && (rows >= columns || columns <= 8) ? rows : columns) /= 2;
    rows = std::max(16.0, rows);
    columns = std::max(8.0, columns);
    const double bytes = size_of(dot.operand(0)->type.dtype);
    return {copies * 2 * volume / rate(MatrixUnit::mma, type_of(dot)),
            config_.warps * (rows + columns) * static_cast<double>(k) * bytes / kSharedBytes};
  }

  /// Each thread multiplies a square of elements, of which it reads a row and a column.
  DotClocks by_threads(const Op& dot, int64_t m, int64_t n, int64_t k) const {
    const bool wide = dot.result()->type.dtype == DType::f64;
    const char* type = wide ? "f64" : is_float(dot.result()->type.dtype) ? "f32" : "i32";
    const double threads = 32.0 * config_.warps;
    const double side = std::sqrt(std::max(1.0, static_cast<double>(m * n) / threads));
    const double width = wide ? 2 : 1;
    const double loads = 2 * side / 4 * width;  // of 16 bytes, for each step of k
    const double instructions = side * side + loads + 1;
    const double waves = 1.5 * loads * config_.warps * static_cast<double>(k);
    return {2 * instructions * threads * static_cast<double>(k) / rate(MatrixUnit::fma, type),
            waves};
  }

  const ir::Function& fn_;
  const Work& work_;
  const std::vector<int64_t>& blocks_;
  const Config& config_;
  const Target& target_;
  const Calibration& calibration_;
};

/// Additions that reading, or writing, by threads costs: each access moves up to 16 bytes, fewer
/// where rows are not aligned to that.
double access_instructions(const Traffic& traffic, const ir::Function& fn, const Config& config,
                           int64_t TensorTraffic::*bytes) {
  double instructions = 0;
  for (const TensorTraffic& tensor : traffic.tensors) {
    const TensorSpec& spec = fn.params.at(static_cast<size_t>(tensor.param)).spec;
    int64_t width = std::min<int64_t>(spec.alignment, config.vector);
    for (size_t d = 0; d < spec.strides.size(); ++d)
      if (spec.strides[d] != 1 && spec.sizes[d] != 1)
        while (spec.strides[d] * size_of(spec.dtype) % width != 0) width /= 2;
    instructions += kCopyInstructions * static_cast<double>(tensor.*bytes) /
                    static_cast<double>(std::max<int64_t>(width, size_of(spec.dtype)));
  }
  return instructions;
}

/// Clocks of one step of the loops around dots.
double step_clocks(const ProgramClocks& program, const Config& config, double steps, double l2) {
  double multiply = program.matrix / steps;
  if (!program.matrix_unit) multiply *= issue_factor(config.warps);
  const double computed = program.computed / steps * kComputed + program.cores_in_loops / steps;
  const double shared = program.shared / steps, load = l2 / steps;
  const double barrier = kBarrier + kBarrierOfWarp * config.warps;
  if (config.copy == CopyKind::sync || config.stages == 1) {
    const double hidden = config.copy == CopyKind::sync && config.stages > 1 ? 0.5 : 1;
    return multiply + computed + shared + hidden * (kLatency + load) + 2 * barrier;
  }
  // The slot of a product in flight is not free yet.
  const double ahead = config.matrix == MatrixUnit::wgmma ? config.stages - 1.5 : config.stages - 1;
  const double waiting = (kLatency + load) / ahead;
  // Warps that multiply with mma or on CUDA cores also wait for what they read.
  const double reading = config.matrix == MatrixUnit::wgmma ? 0 : 0.2 * std::min(multiply, shared);
  return together({multiply, shared, load, waiting}, kOverlap) + computed + reading + barrier;
}

}  // namespace

double ProgramTime::busy(double blocks) const {
  return blocks *
         together({matrix, cores * issue_factor(blocks * warps), shared, l2}, kOverlapOfBlocks);
}

ProgramTime program_time(const ir::Function& fn, const Work& work, const Traffic& traffic,
                         const std::vector<int64_t>& blocks, const Config& config,
                         const Target& target, const Calibration& calibration,
                         const Occupancy& occupancy) {
  ProgramClocks program(fn, work, blocks, config, target, calibration);
  const double clock = calibration.clocks_per_us;
  const double parts = config.split_k;
  const double programs = std::max(1.0, work.programs);
  const double l2_rate = kOneReader * calibration.l2_bytes_per_us / target.multiprocessors / clock;
  const double written = static_cast<double>(traffic.written_bytes()) / programs;
  double l2 = 0;
  for (const TensorTraffic& tensor : traffic.tensors)
    l2 += static_cast<double>(tensor.l2_bytes) * tensor.lines / programs / l2_rate;
  const double steps = std::max(1.0, work.steps / programs / parts);
  const bool roles = occupancy.threads > 32 * config.warps;
  if (program.has_dots && config.copy != CopyKind::tma)
    program.cores_in_loops +=
        (access_instructions(traffic, fn, config, &TensorTraffic::read_bytes) / programs +
         32 * kStepInstructions * config.warps * work.steps / programs) /
        program.lanes;
  if (!program.matrix_unit) program.matrix *= 1 + kCrowded * occupancy.crowded;
  if (!program.has_dots)
    for (int64_t TensorTraffic::*bytes :
         {&TensorTraffic::read_bytes, &TensorTraffic::written_bytes})
      (work.steps > 0 ? program.cores_in_loops : program.cores_outside) +=
          access_instructions(traffic, fn, config, bytes) / programs / program.lanes;
  double chain = 0, end = written / kStoreBytes / parts + program.cores_outside;
  if (program.has_dots) {
    chain = steps * step_clocks(program, config, steps * parts, l2);
    if (config.split_k > 1)
      end += kExchange + program.results * 4 * (parts - 1) / parts / kExchangeBytes;
  } else {
    const double waits = work.steps > 0 ? steps : 1;
    l2 += waits * kSpillAccesses * static_cast<double>(occupancy.spilled * occupancy.threads) * 4 /
          l2_rate;
    chain = waits * kLatency + l2 + program.cores_in_loops + program.reductions;
  }
  ProgramTime time;
  time.matrix = program.matrix / parts / clock;
  time.shared = program.shared / parts / clock;
  time.cores = (program.cores_in_loops / parts + program.cores_outside) / clock;
  if (!program.matrix_unit) {
    time.cores += time.matrix;
    time.matrix = 0;
  }
  time.l2 = l2 / parts / clock;
  time.begin = (kBegin + (program.has_dots ? kLatency : 0) + (roles ? kBeginRoles : 0) +
                (config.cluster * config.split_k > 1 ? kBeginCluster : 0)) /
               clock;
  time.chain = chain / clock;
  time.end = end / clock;
  time.warps = config.warps;
  return time;
}

}  // namespace tilewright::tune
