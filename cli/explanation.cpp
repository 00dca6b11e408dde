#include "cli/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tilewright/autotune/space.h"
#include "tilewright/codegen/passes.h"
#include "tilewright/codegen/repitch.h"
#include "tilewright/ir/builder.h"
#include "tilewright/ir/dce.h"
#include "tilewright/ir/error.h"

namespace tilewright::cli {
namespace {

using tune::TensorTraffic;
using tune::WorkingTile;

constexpr const char* kUnmodelled =
    "Not modelled: bank conflicts, instructions that only address, what the compiler spills, how\n"
    "evenly tiles of unequal work are spread, and data that is in the L2 cache before the launch.\n"
    "Bytes are counted, latencies are not: fewer bytes need not be less time, as loads overlap "
    "with\n"
    "one another and with arithmetic. The time is a prediction; 'tilewright tune' measures.\n";

/// "1 KiB", "576 KiB", "37.5 MiB".
std::string bytes_text(double bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  return bytes == std::floor(bytes) ? fmt::format("{:.0f} {}", bytes, units[unit])
                                    : fmt::format("{:.1f} {}", bytes, units[unit]);
}

/// "4,194,304".
std::string count_text(double count) {
  std::string digits = fmt::format("{:.0f}", count), text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

/// "read 8 times", "written once".
std::string times_text(double times, const char* verb) {
  if (std::fabs(times - 1) < 0.005) return fmt::format("{} once", verb);
  if (std::fabs(times - std::round(times)) < 0.005)
    return fmt::format("{} {:.0f} times", verb, times);
  return fmt::format("{} {:.2f} times", verb, times);
}

std::string row(const std::string& name, const std::string& what, double bytes,
                const std::string& note) {
  std::string line = fmt::format("  {:<16} {:<20} {:>12}  {}", name, what, bytes_text(bytes), note);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string working_text(const Explanation& e) {
  std::string text = "working set of a block\n";
  for (const WorkingTile& tile : e.traffic.working) {
    std::string note = tile.accumulator ? "accumulator, in registers"
                       : tile.staged    ? "in shared memory"
                                        : "in registers";
    if (tile.edge_bytes != tile.bytes)
      note +=
          fmt::format("; {} in the last tile", bytes_text(static_cast<double>(tile.edge_bytes)));
    text += row(tile.name, tile.shape, static_cast<double>(tile.bytes), note);
  }
  text += row("in all", "", static_cast<double>(e.traffic.working_bytes()), "");
  text += "beside it\n";
  text += row("further stages", "", static_cast<double>(e.traffic.further_stage_bytes()),
              fmt::format("{} in all", e.config.stages));
  text += row("padding", "", static_cast<double>(e.padding_bytes),
              "of staged rows, and slots that edge tiles leave unused");
  text += row("scratch", "", static_cast<double>(e.scratch_bytes),
              "reductions, results on their way out, barriers");
  text += row("shared memory", "", static_cast<double>(e.shared_bytes),
              "that a block is launched with");
  return text;
}

std::string traffic_text(const Explanation& e) {
  std::string text = "traffic of a launch\n";
  for (const TensorTraffic& tensor : e.traffic.tensors) {
    if (tensor.read_bytes > 0)
      text += row(tensor.name, tensor.spec, static_cast<double>(tensor.read_bytes),
                  times_text(tensor.times_read(), "read"));
    if (tensor.written_bytes > 0)
      text += row(tensor.name, tensor.spec, static_cast<double>(tensor.written_bytes),
                  times_text(tensor.times_written(), "written"));
  }
  text += row("in all", "", static_cast<double>(e.traffic.bytes()), "that blocks ask for");
  if (e.traffic.l2_bytes() != e.traffic.bytes())
    text += row("from L2", "", static_cast<double>(e.traffic.l2_bytes()),
                "with what a cluster shares counted once");
  text += row("from memory", "", static_cast<double>(e.traffic.memory_bytes()),
              fmt::format("estimated, with {} of L2", bytes_text(e.calibration.l2_bytes)));
  return text;
}

std::string time_text(const Explanation& e) {
  const tune::Prediction& p = e.prediction;
  std::string text;
  const auto line = [&](const char* name, const std::string& value) {
    text += fmt::format("{:<16} {}\n", name, value);
  };
  std::string operations = count_text(e.traffic.operations());
  if (e.traffic.dot_operations > 0 && e.traffic.other_operations > 0)
    operations += fmt::format(", {} of them in products", count_text(e.traffic.dot_operations));
  line("operations", operations);
  line("intensity", fmt::format("{:.2f} operations a byte", e.traffic.intensity()));
  line("blocks", fmt::format("{} of {} threads, for {} tiles", p.blocks, e.threads,
                             count_text(static_cast<double>(e.traffic.programs))));
  line("waves", fmt::format("{:.2f}, {} at a time on each of {} multiprocessors", p.waves,
                            p.resident, e.target.multiprocessors));
  line("occupancy", fmt::format("{:.0f}% of the warps a multiprocessor holds ({} registers a "
                                "thread, estimated)",
                                100 * p.occupancy, p.registers));
  line("predicted time", fmt::format("{:.2f} us, bound by {}", p.microseconds, p.bound));
  for (const auto& [name, us] : {std::pair{"tensor cores", p.matrix_us},
                                 {"CUDA cores", p.cores_us},
                                 {"shared memory", p.shared_us},
                                 {"L2", p.l2_us},
                                 {"memory", p.memory_us}})
    text += fmt::format("  {:<14} {:>9.2f} us alone\n", name, us);
  text += fmt::format("  {:<14} {:>9.2f} us with waiting, on all multiprocessors\n",
                      "all but memory", p.latency_us);
  line("search space",
       fmt::format("{} configs pass the checks, of {} combinations",
                   count_text(static_cast<double>(e.space)), count_text(e.combinations)));
  text += fmt::format("figures of {}, {}\n", e.calibration.device,
                      e.calibration.measured ? "measured" : "typical of the architecture");
  return text;
}

using Json = nlohmann::ordered_json;

Json working_json(const Explanation& e) {
  Json list = Json::array();
  for (const WorkingTile& tile : e.traffic.working)
    list.push_back({{"name", tile.name},
                    {"tile", tile.shape},
                    {"bytes", tile.bytes},
                    {"last_tile_bytes", tile.edge_bytes},
                    {"accumulator", tile.accumulator},
                    {"staged", tile.staged},
                    {"further_stages_bytes", tile.further_stages}});
  return list;
}

Json traffic_json(const Explanation& e) {
  Json list = Json::array();
  for (const TensorTraffic& tensor : e.traffic.tensors)
    list.push_back({{"name", tensor.name},
                    {"tensor", tensor.spec},
                    {"unique_bytes", tensor.unique_bytes},
                    {"read_bytes", tensor.read_bytes},
                    {"written_bytes", tensor.written_bytes},
                    {"l2_bytes", tensor.l2_bytes},
                    {"memory_bytes", tensor.memory_bytes}});
  return list;
}

/// Sizes of what a block has in shared memory besides the tiles themselves.
void measure_shared(const ir::Function& fn, Explanation& e) {
  const codegen::Lowered lowered = codegen::lower_to_kernel_ir(fn, e.config, e.target);
  int64_t rings = 0, tiles = 0;
  ir::for_each_op(lowered.laid_out.fn.body(), [&](const ir::Op& op) {
    if (op.kind != ir::OpKind::ring) return;
    const ir::Type& type = op.result()->type;
    const codegen::SharedLayout& layout = lowered.laid_out.shared.at(op.result());
    rings += layout.size() * size_of(type.dtype) * type.stages;
  });
  for (const WorkingTile& tile : e.traffic.working)
    if (tile.staged) tiles += tile.bytes + tile.further_stages;
  e.threads = lowered.kernel.threads;
  e.shared_bytes = lowered.kernel.shared_bytes;
  e.padding_bytes = std::max<int64_t>(0, rings - tiles);
  e.scratch_bytes = std::max<int64_t>(0, e.shared_bytes - rings);
}

}  // namespace

Explanation explain(const ir::Function& fn, const std::optional<Config>& config,
                    const Target& target, const tune::Calibration& calibration) {
  Explanation result;
  result.kernel = fn.name;
  result.target = target;
  result.calibration = calibration;
  result.picked = !config;
  const tune::SearchSpace space = tune::SearchSpace::of(fn, target);
  result.space = space.size();
  result.combinations = space.combinations();
  result.config = config ? *config : tune::model_pick(fn, target, calibration);
  check_config(result.config, fn, target);
  result.traffic = tune::traffic_of(fn, result.config, target);
  result.prediction = tune::predict(fn, result.config, target, calibration);
  if (!result.config.repitch) {
    measure_shared(fn, result);
    return result;
  }
  const codegen::Repitched padded = codegen::repitch(fn, codegen::written_params(fn));
  measure_shared(padded.fn, result);
  int64_t copied = 0;
  for (const codegen::PaddingCopy& copy : padded.copies) copied += copy.bytes;
  result.traffic.notes.push_back(
      fmt::format("copies with padded rows are made first: {} are written, and not counted here",
                  bytes_text(static_cast<double>(copied))));
  return result;
}

std::string to_text(const Explanation& e) {
  std::string text =
      fmt::format("{} for {}, config {}{}\n\n", e.kernel, e.target.name(),
                  tilewright::to_json(e.config), e.picked ? " (the model's pick)" : "");
  text += working_text(e) + "\n" + traffic_text(e) + "\n" + time_text(e) + "\n";
  for (const std::string& note : e.traffic.notes) text += fmt::format("Note: {}.\n", note);
  return text + kUnmodelled;
}

std::string to_json(const Explanation& e) {
  const tune::Prediction& p = e.prediction;
  Json json = {{"kernel", e.kernel},
               {"target", e.target.name()},
               {"config", Json::parse(tilewright::to_json(e.config))},
               {"picked_by_model", e.picked},
               {"working_set", working_json(e)},
               {"working_set_bytes", e.traffic.working_bytes()},
               {"further_stages_bytes", e.traffic.further_stage_bytes()},
               {"padding_bytes", e.padding_bytes},
               {"scratch_bytes", e.scratch_bytes},
               {"shared_bytes", e.shared_bytes},
               {"traffic", traffic_json(e)},
               {"traffic_bytes", e.traffic.bytes()},
               {"l2_bytes", e.traffic.l2_bytes()},
               {"memory_bytes", e.traffic.memory_bytes()},
               {"operations", static_cast<int64_t>(e.traffic.operations())},
               {"product_operations", static_cast<int64_t>(e.traffic.dot_operations)},
               {"intensity", e.traffic.intensity()},
               {"programs", e.traffic.programs},
               {"blocks", p.blocks},
               {"threads", e.threads},
               {"waves", p.waves},
               {"blocks_per_multiprocessor", p.resident},
               {"occupancy", p.occupancy},
               {"registers", p.registers},
               {"predicted_us", p.microseconds},
               {"bound", p.bound},
               {"tensor_cores_us", p.matrix_us},
               {"cuda_cores_us", p.cores_us},
               {"shared_memory_us", p.shared_us},
               {"l2_us", p.l2_us},
               {"memory_us", p.memory_us},
               {"all_but_memory_us", p.latency_us},
               {"space", e.space},
               {"calibration", Json::parse(tune::to_json(e.calibration))},
               {"notes", e.traffic.notes}};
  return json.dump(2);
}

ir::Function with_result_dtype(const ir::Function& fn, DType dtype) {
  const auto refuse = [&](std::string_view why) {
    raise(ErrorId::argument_syntax, fn.loc, fmt::format("--out {}", to_string(dtype)), why);
  };
  const auto is_result = [&](const ir::Value* tensor) {
    const ir::Param* param = fn.param_of(tensor);
    const int index = param == nullptr ? -1 : static_cast<int>(param - fn.params.data());
    return index >= 0 && param->allocated &&
           std::ranges::find(fn.results, index) != fn.results.end();
  };
  bool changed = false;
  const ir::Function converted =
      ir::Rewriter::run(fn, [&](ir::Rewriter& rewriter, const ir::Op& op) {
        if (!changed) {
          for (ir::Param& param : rewriter.target().params)
            for (const ir::Param& source : fn.params)
              if (is_result(source.value) && rewriter(source.value) == param.value) {
                param.spec.dtype = dtype;
                const_cast<ir::Value*>(param.value)->type.dtype = dtype;
              }
          changed = true;
        }
        if (op.operands.empty() || !is_result(op.operand(0)) || op.kind == ir::OpKind::dim)
          return false;
        if (op.kind != ir::OpKind::store)
          refuse(fmt::format("kernel {} reads its result", fn.name));
        // A conversion to the dtype that the kernel asked for is what is replaced.
        const ir::Value* value = op.operand(1);
        if (value->def != nullptr && value->def->kind == ir::OpKind::cast &&
            is_float(value->def->operand(0)->type.dtype) == is_float(value->type.dtype))
          value = value->def->operand(0);
        if (is_float(value->type.dtype) && !is_float(dtype))
          refuse(fmt::format("kernel {} stores {}, which would be cut", fn.name,
                             to_string(value->type.dtype)));
        std::vector<const ir::Value*> operands = rewriter(op.operands);
        operands[1] = rewriter.builder().cast(rewriter(value), dtype);
        rewriter.builder().create(op.kind, std::move(operands), op.attributes);
        return true;
      });
  return ir::eliminate_dead_code(converted);
}

}  // namespace tilewright::cli
