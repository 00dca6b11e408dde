// `tilewright tune`: searches for the best config, and remembers it.
#include <CLI/CLI.hpp>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <fstream>
#include <memory>
#include <mutex>
#include <thread>

#include "cli/bind.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/tune_options.h"
#include "cli/tune_progress.h"
#include "tilewright/autotune/choose_config.h"
#include "tilewright/autotune/registry.h"
#include "tilewright/autotune/report.h"
#include "tilewright/autotune/store.h"
#include "tilewright/autotune/tune.h"
#include "tilewright/autotune/tune_key.h"
#include "tilewright/ir/error.h"
#include "tilewright/runtime/driver.h"

namespace tilewright::cli {
namespace {

struct TuneCommand {
  KernelOptions kernel;
  std::string effort = "quick", budget, gpus, shapes, shard, device, report;
  uint64_t seed = 1;
};

// One search, before and after.
struct Search {
  TuneShape shape;
  std::shared_ptr<const ir::Function> fn;
  tune::SearchResult result;
  std::string problem;  // why there is no result
  bool stored = false;
  bool done = false;
};

// What all searches of a run share.
struct Session {
  const TuneCommand& command;
  KernelHandle kernel;
  TuneDevice device;
  std::vector<int> gpus;  // one of them for a simulated device
  std::stop_token stop;
  TuneProgress progress;
  std::mutex printing = {};
};

tune::Machine machine_for(const TuneDevice& device) {
  if (device.simulated) return {"simulated " + device.target.name(), "", ""};
  return tune::machine_of(device.device, device.target);
}

// Contents of the parameters: of files, of the kernel's own function, else random.
struct Contents {
  std::deque<TensorMemory> tensors;
  std::vector<Array> made;
  std::vector<tune::TuneData> data;
};

// What the kernel's own function makes, checked against what it was asked for.
std::vector<Array> own_inputs(const KernelHandle& kernel, const TuneShape& shape) {
  const TuneInputs make = kernel.tune_inputs();
  if (!make) return {};
  std::vector<TensorSpec> specs;
  for (const Argument& argument : shape.arguments)
    if (const auto* tensor = std::get_if<TensorArgument>(&argument)) specs.push_back(tensor->spec);
  std::vector<Array> made = make(specs);
  bool fit = made.size() == specs.size();
  for (size_t i = 0; fit && i < specs.size(); ++i)
    fit = made[i].dtype() == specs[i].dtype && std::ranges::equal(made[i].sizes(), specs[i].sizes);
  if (!fit)
    raise(ErrorId::argument_syntax, kernel.loc(), shape.text,
          fmt::format("tune_inputs of kernel {} made other tensors than these", kernel.name()));
  return made;
}

Contents contents_of(const KernelHandle& kernel, const TuneShape& shape, const ir::Function& fn) {
  Contents contents;
  contents.made = own_inputs(kernel, shape);
  size_t next = 0;  // tensor
  for (size_t i = 0; i < shape.arguments.size(); ++i) {
    if (kernel.params()[i].kind == ParamKind::constant) continue;
    tune::TuneData& data = contents.data.emplace_back();
    if (const auto* tensor = std::get_if<TensorArgument>(&shape.arguments[i])) {
      const size_t at = next++;
      if (!tensor->path.empty()) {
        contents.tensors.push_back(make_tensor(*tensor, Device::cpu(), 1));
        data.view = &contents.tensors.back().view;
      } else if (!contents.made.empty()) {
        data.view = &contents.made[at].view();
      }
    } else {
      data.bits = scalar_argument(kernel.params()[i], std::get<ScalarArgument>(shape.arguments[i]))
                      .argument.bits;
    }
  }
  contents.data.resize(fn.params.size());  // results
  return contents;
}

tune::Calibration calibration_for(const TuneDevice& device) {
  const tune::Machine machine = machine_for(device);
  tune::Calibration known = device.simulated ? tune::Calibration::typical(device.target)
                                             : tune::known_calibration(machine, device.target);
  if (known.measured || device.simulated || !device.device.is_cuda()) return known;
  known = tune::measure_calibration(device.device.index);
  tune::Store::user().set_calibration(machine.device, machine.driver, tune::to_json(known));
  return known;
}

void search_one(Session& session, Search& search, const TuneDevice& device,
                const tune::Calibration& calibration, const std::string& name) {
  const TuneCommand& command = session.command;
  const Contents contents = contents_of(session.kernel, search.shape, *search.fn);
  const tune::TuneKey key = tune::tune_key(*search.fn, machine_for(device));
  tune::Store& store = tune::Store::user();
  tune::TuneRequest request;
  request.fn = search.fn.get();
  request.target = device.target;
  request.device = device.device;
  request.data = contents.data;
  request.calibration = calibration;
  request.compile_threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()) /
                                            static_cast<int>(session.gpus.size()));
  if (device.simulated) request.simulated = command.seed;
  request.search.effort = command.effort == "full" ? tune::Effort::full : tune::Effort::quick;
  if (!command.budget.empty()) request.search.budget = parse_duration(command.budget);
  request.search.seed = command.seed;
  request.search.stop = session.stop;
  request.search.progress = [&](const tune::Progress& progress) {
    session.progress.update(name, progress);
  };
  // A simulated search starts from nothing, so that it gives the same result every time.
  if (!device.simulated)
    for (const tune::Best& best : store.nearest(key)) request.search.first.push_back(best.config);
  search.result = tune::tune_kernel(request);
  const bool whole = search.result.ending != tune::Ending::stopped &&
                     search.result.ending != tune::Ending::nothing;
  search.stored =
      store.add(key, search.result.trials, whole ? tune::to_string(search.result.effort) : "");
  search.done = true;
}

void print_summary(Session& session, const Search& search) {
  std::lock_guard lock(session.printing);
  session.progress.finish();
  const tune::SearchResult& result = search.result;
  fmt::print("{} {}", session.kernel.name(), search.shape.text);
  if (!search.done) {
    fmt::print(": {}\n", search.problem);
    return;
  }
  fmt::print(" on {}\n", result.device);
  const std::string failures = tune::failures_text(result.trials);
  fmt::print("  tried    {} of {} configs in {:.1f} s ({}, seed {}){}\n", result.trials.size(),
             result.space, result.seconds, tune::to_string(result.effort), result.seed,
             failures.empty() ? "" : "; failed: " + failures);
  if (result.best < 0) {
    const std::string reason = result.trials.empty() ? "" : ": " + result.trials[0].message;
    fmt::print("  nothing ran{}\n", reason);
    return;
  }
  const tune::Trial& best = result.winner();
  fmt::print("  best     {:.4g} +- {:.2g} us  {}\n", best.microseconds, best.error,
             to_json(best.config));
  const auto compare = [&](const tune::Trial* other, std::string_view what) {
    if (other == nullptr) return;
    fmt::print("  {:<8} {:.4g} us, {:.2f}x the best  {}\n", what, other->microseconds,
               other->microseconds / best.microseconds, to_json(other->config));
  };
  compare(tune::model_choice(result), "model");
  compare(tune::measured_trial(result, default_config(*search.fn, session.device.target)),
          "default");
  fmt::print("  ended    because {}\n", tune::to_string(result.ending));
  fmt::print("  {}\n", search.stored ? "kept in " + tune::Store::user().path()
                                     : "not kept: the store cannot be written");
}

// The searches, each GPU taking the next one when it is free.
void run_searches(Session& session, std::vector<Search>& searches) {
  std::atomic<size_t> next = 0;
  const auto run = [&](int gpu) {
    TuneDevice device = session.device;
    if (device.device.is_cuda()) {
      device.device = Device::cuda(gpu);
      device.target = runtime::device_target(gpu);
    }
    std::optional<tune::Calibration> calibration;
    for (size_t i = next++; i < searches.size() && !session.stop.stop_requested(); i = next++) {
      Search& search = searches[i];
      std::string name = session.kernel.name() + " " + search.shape.text;
      if (device.simulated) name += " (simulated)";
      if (session.gpus.size() > 1) name = fmt::format("GPU {}: {}", gpu, name);
      try {
        if (!calibration) calibration = calibration_for(device);
        search_one(session, search, device, *calibration, name);
      } catch (const std::exception& error) {
        search.problem = error.what();
      }
      print_summary(session, search);
    }
  };
  std::vector<std::jthread> others;
  for (size_t i = 1; i < session.gpus.size(); ++i) others.emplace_back(run, session.gpus[i]);
  run(session.gpus[0]);
}

void write_report(const TuneCommand& command, const Session& session,
                  const std::vector<Search>& searches) {
  std::vector<tune::ReportEntry> entries;
  for (const Search& search : searches) {
    if (!search.done) continue;
    tune::ReportEntry& entry = entries.emplace_back();
    entry.fn = search.fn.get();
    entry.target = session.device.target;
    entry.result = search.result;
    if (search.result.best < 0) continue;
    const CompiledKernel winner = session.kernel.compile(
        compile_arguments(session.kernel, search.shape.arguments),
        {.target = session.device.target, .config = search.result.winner().config});
    for (int step = 0; step < winner.kernels(); ++step) entry.cuda.push_back(winner.cuda(step));
  }
  std::ofstream out(command.report, std::ios::binary);
  out << tune::report_page(entries);
  out.close();
  if (!out) raise(ErrorId::argument_syntax, {}, command.report, "the report cannot be written");
  fmt::print("wrote {}\n", command.report);
}

std::vector<Search> make_searches(const TuneCommand& command, const KernelHandle& kernel) {
  std::vector<TuneShape> shapes;
  if (!command.shapes.empty()) shapes = read_shapes(command.shapes);
  if (!command.kernel.arguments.empty()) {
    TuneShape& own = shapes.emplace_back();
    own.arguments = command.kernel.parsed_arguments();
    own.text = fmt::format("{}", fmt::join(command.kernel.arguments, " "));
  }
  if (shapes.empty())
    raise(ErrorId::argument_syntax, {}, kernel.name(),
          "give the kernel's arguments, or --shapes with a file of them");
  const Shard shard = command.shard.empty() ? Shard{} : parse_shard(command.shard);
  std::vector<Search> searches;
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (!shard.holds(i)) continue;
    Search& search = searches.emplace_back();
    search.shape = std::move(shapes[i]);
    search.fn = kernel.trace(compile_arguments(kernel, search.shape.arguments));
  }
  return searches;
}

void tune_command(const TuneCommand& command) {
  const InterruptWatch interrupt;  // before other threads
  const KernelHandle kernel = command.kernel.find_kernel();
  const TuneDevice device = parse_tune_device(command.device);
  if (!command.budget.empty()) parse_duration(command.budget);
  std::vector<int> gpus{device.device.index};
  if (!command.gpus.empty()) {
    if (!device.device.is_cuda())
      raise(ErrorId::argument_syntax, {}, "--gpus", "it goes with GPUs only");
    gpus = parse_gpus(command.gpus, runtime::driver_status().devices);
  }
  std::vector<Search> searches = make_searches(command, kernel);
  const bool live = ::isatty(STDERR_FILENO) == 1 && gpus.size() == 1;
  Session session{command, kernel, device, gpus, interrupt.token(), {stderr, live}};
  run_searches(session, searches);
  if (!command.report.empty()) write_report(command, session, searches);
  for (const Search& search : searches) {
    if (search.done && search.result.best >= 0) continue;
    if (session.stop.stop_requested()) continue;
    raise(ErrorId::tune_failed, search.fn->loc, search.fn->name, search.result.trials.size(),
          search.result.device.empty() ? "this machine" : search.result.device,
          !search.problem.empty()        ? search.problem
          : search.result.trials.empty() ? "there was no time"
                                         : search.result.trials.front().message);
  }
}

}  // namespace

void add_tune(CLI::App& app) {
  CLI::App* command = app.add_subcommand("tune", "Searches for the best config of a kernel");
  const auto options = std::make_shared<TuneCommand>();
  command->add_option("kernel", options->kernel.kernel, "Name of a registered kernel (see list)")
      ->required();
  command->add_option("arguments", options->kernel.arguments,
                      "One for each parameter, as for run; or give --shapes");
  options->kernel.add_libraries_to(*command);
  command->add_option("--effort", options->effort, "quick: some seconds; full: about a minute")
      ->check(CLI::IsMember({"quick", "full"}))
      ->capture_default_str();
  command->add_option("--budget", options->budget, "Most time of a search: 20s, 2m");
  command->add_option("--device", options->device,
                      "cuda:N; simulated[:ARCH] to try a search without a GPU");
  command->add_option("--gpus", options->gpus, "GPUs that share the shapes: 0,1 or all");
  command->add_option("--shapes", options->shapes,
                      "File with the arguments of one search on each line");
  command->add_option("--shard", options->shard, "Only this part of the shapes: 2/8");
  command->add_option("--seed", options->seed, "Of the search")->capture_default_str();
  command->add_option("--report", options->report, "Write a page of HTML about the searches");
  command->callback([options] { tune_command(*options); });
}

}  // namespace tilewright::cli
