#include "tilewright/autotune/tune.h"

#include <algorithm>

#include "tilewright/autotune/simulated_device.h"
#include "tilewright/autotune/tune_key.h"
#include "tilewright/autotune/worker_evaluator.h"
#include "tilewright/codegen/plan.h"
#include "tilewright/ir/error.h"
#include "tilewright/ir/log.h"

namespace tilewright::tune {
namespace {

std::unique_ptr<Evaluator> make_evaluator(const TuneRequest& request) {
  if (request.simulated)
    return std::make_unique<SimulatedDevice>(*request.fn, request.target, request.calibration,
                                             SimulationOptions{.seed = *request.simulated});
  return std::make_unique<WorkerEvaluator>(
      request, WorkerOptions{.compile_threads = request.compile_threads});
}

}  // namespace

SearchResult tune_kernel(const TuneRequest& request) {
  const SearchSpace space = SearchSpace::of(*request.fn, request.target);
  const std::unique_ptr<Evaluator> evaluator = make_evaluator(request);
  SearchResult result = search(space, request.calibration, *evaluator, request.search);
  // Nothing a user writes makes a config wrong.
  for (const Trial& trial : result.trials)
    if (trial.status == Trial::Status::wrong && !request.simulated)
      log(LogLevel::warning, "a config gave a wrong result, which is a bug in Tilewright: {}\n{}",
          trial.message, reproducer(*request.fn, request.target, trial));
  return result;
}

Config tuned_config(const TuneRequest& request) {
  const SearchResult result = tune_kernel(request);
  if (result.best >= 0) return result.winner().config;
  const std::string problem =
      result.trials.empty() ? "there was no time" : result.trials.front().message;
  raise(ErrorId::tune_failed, request.fn->loc, request.fn->name, result.trials.size(),
        result.device, problem);
}

std::string reproducer(const ir::Function& fn, const Target& target, const Trial& trial) {
  std::string command = fmt::format("tilewright run {}", fn.name);
  for (const ir::Param& param : fn.params)
    if (!param.allocated)
      command += param.is_tensor()
                     ? fmt::format(" '{}'", tilewright::to_string(param.spec))
                     : fmt::format(" {}=1", tilewright::to_string(param.value->type.dtype));
  return fmt::format("{} --config '{}' --check  # for {}", command, to_json(trial.config),
                     target.name());
}

}  // namespace tilewright::tune
