// Rows measured by child processes: which configs, in what order, and what is printed.
#include "bench/row_suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/gemm_driver.h"
#include "bench/gemm_problem.h"
#include "bench/torch_peers.h"

namespace tilewright::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

bool of_ours(const std::string& rival) { return !rival.empty() && rival != kCopyRival; }

/// A row and what is to be run for it.
struct RowPlan {
  const SuiteRow* row;
  std::vector<Variant> variants;
  std::optional<Config> rival_config;  ///< where the rival is a row of ours
  bool sweep = false;
};

/// The configs of every row.
class Configs {
 public:
  Configs(const SuiteTable& table, const SuiteOptions& options) : table_(table), options_(options) {
    if (!options.config_file.empty()) entries_ = read_config_entries(options.config_file);
    entries_.insert(entries_.end(), table.hand_set.begin(), table.hand_set.end());
    if (!options.sweep_file.empty()) sweep_ = read_config_entries(options.sweep_file);
  }

  std::vector<RowPlan> plan() const {
    std::vector<RowPlan> plans;
    for (const SuiteRow& row : table_.rows) {
      if (!matches_any(options_.only, row.name) && !matches_any(options_.only, row.group)) continue;
      RowPlan plan{&row, variants_of(row), {}, !options_.sweep_file.empty()};
      if (of_ours(row.rival)) plan.rival_config = config_for(entries_, row.rival);
      if (!plan.variants.empty()) plans.push_back(std::move(plan));
    }
    return plans;
  }

 private:
  std::vector<Variant> variants_of(const SuiteRow& row) const {
    std::vector<Variant> all;
    const auto add = [&](const char* name, const std::vector<Config>& configs) {
      for (const Config& config : configs)
        all.push_back({fmt::format("{} {}", name, all.size() + 1), config});
    };
    if (!options_.sweep_file.empty()) {
      add("sweep", configs_for(sweep_, row.name));
    } else if (!options_.configs.empty()) {
      std::vector<Config> given;
      for (const std::string& json : options_.configs) given.push_back(parse_config(json));
      add("given", given);
    } else if (const auto config = config_for(entries_, row.name)) {
      all.push_back({"hand", *config});
    }
    const bool sweep = !options_.sweep_file.empty();
    const bool usual = table_.always_computed && options_.configs.empty() && !sweep;
    if (options_.defaults || usual || (all.empty() && !sweep))
      for (const std::string& name : table_.computed) all.push_back({name, {}});
    return all;
  }

  const SuiteTable& table_;
  const SuiteOptions& options_;
  std::vector<ConfigEntry> entries_, sweep_;
};

std::string text_of(const Variant& variant) {
  return variant.config ? to_json(*variant.config) : variant.name;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Compiles, in the order of the rows, while the first rows are measured already.
class Compiler {
 public:
  Compiler(const std::vector<RowPlan>& plans, const SuiteOptions& options) {
    for (const RowPlan& plan : plans) {
      for (const Variant& variant : plan.variants) add(plan.row->name, variant);
      if (of_ours(plan.row->rival)) add(plan.row->rival, {"rival", plan.rival_config});
    }
    results_.resize(wanted_.size());
    thread_ = std::jthread([this, &options] { run(options); });
  }

  /// Does not wait for what is left.
  ~Compiler() { stopped_ = true; }
  Compiler(const Compiler&) = delete;

  /// Waits for it.
  Compilation of(const std::string& row, const Variant& variant) {
    return wait(index_.at({row, text_of(variant)}));
  }
  /// Waits for all.
  std::vector<Compilation> all() {
    std::vector<Compilation> all;
    for (size_t i = 0; i < wanted_.size(); ++i) all.push_back(wait(i));
    return all;
  }
  std::string summary() {
    int failed = 0;
    double longest = 0;
    for (const Compilation& one : all()) {
      failed += !one.problem.empty();
      longest = std::max(longest, one.seconds);
    }
    return fmt::format("Compiled {} configs in {:.1f} s (the longest took {:.1f} s); {} failed.",
                       wanted_.size(), seconds_since(begin_), longest, failed);
  }

 private:
  void add(const std::string& row, const Variant& variant) {
    if (index_.emplace(std::pair(row, text_of(variant)), wanted_.size()).second)
      wanted_.push_back({.row = row, .variant = variant});
  }

  void run(const SuiteOptions& options) {
    const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    const auto keep = [&](size_t i, const Compilation& result) {
      if (stopped_) throw std::runtime_error("stopped");
      const std::lock_guard lock(mutex_);
      results_[i] = result;
      changed_.notify_all();
    };
    try {
      compile_all(wanted_, options.target, cores, options.compile_seconds, keep);
    } catch (const std::exception& error) {
      for (size_t i = 0; i < wanted_.size(); ++i) {
        Compilation lost = wanted_[i];
        lost.problem = error.what();
        if (const std::lock_guard lock(mutex_); !results_[i]) results_[i] = lost;
      }
      changed_.notify_all();
    }
  }

  Compilation wait(size_t i) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return results_[i].has_value(); });
    return *results_[i];
  }

  std::vector<Compilation> wanted_;
  std::map<std::pair<std::string, std::string>, size_t> index_;
  Clock::time_point begin_ = Clock::now();
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<Compilation>> results_;
  std::jthread thread_;
};

class RowSuite {
 public:
  RowSuite(const SuiteTable& table, const SuiteOptions& options, Report& report)
      : table_(table),
        options_(options),
        report_(report),
        plans_(Configs(table, options).plan()),
        compiler_(plans_, options) {}

  void run() {
    if (plans_.empty())
      report_.note(fmt::format("no row of {} matches '{}'", table_.suite, options_.only));
    if (table_.torch_peers && !options_.torch_python.empty() && options_.sweep_file.empty())
      prepare_peers();
    if (measure_rows()) report_.note(compiler_.summary());
    fmt::print("\nThe suite {} took {:.0f} s.\n", table_.suite, seconds_since(begin_));
  }

 private:
  void prepare_peers() {
    peers_.emplace(options_.torch_python);
    std::vector<std::string> names;
    for (const RowPlan& plan : plans_) names.push_back(plan.row->name);
    const Clock::time_point begin = Clock::now();
    peers_->prepare(names, static_cast<int>(std::max(2U, std::thread::hardware_concurrency()) - 1));
    report_.note(fmt::format("PyTorch compiled for {:.0f} s.", seconds_since(begin)));
  }

  // Whether the budget was enough for all.
  bool measure_rows() {
    for (const RowPlan& plan : plans_) {
      if (seconds_since(begin_) > options_.budget) {
        report_.note(fmt::format("{} and what follows were left out: the {} s are over",
                                 plan.row->name, options_.budget));
        return false;
      }
      Row lost{.suite = table_.suite, .shape = plan.row->name, .config = "all"};
      guarded(lost, [&] {
        if (plan.sweep)
          sweep_row(plan);
        else
          race_row(plan, compilable(plan));
      });
      if (!lost.problem.empty()) report_.add(std::move(lost));
    }
    return true;
  }

  Job job(Job::Kind kind, const RowPlan& plan, std::vector<Variant> variants) const {
    return {.kind = kind,
            .row = plan.row->name,
            .variants = std::move(variants),
            .rival_config = plan.rival_config,
            .check = options_.check,
            .race = options_.race,
            .target = options_.target};
  }

  Row row_of(const RowPlan& plan, const Variant& variant) const {
    Row row{.suite = table_.suite, .shape = plan.row->name, .config = variant.name};
    row.json = text_of(variant);
    if (!variant.config) row.json.clear();
    row.work = plan.row->work;
    row.unit = plan.row->unit;
    row.want = plan.row->want;
    return row;
  }

  // Those variants of a row that compile. The others become rows with a problem, or lines of a
  // sweep.
  std::vector<Variant> compilable(const RowPlan& plan) {
    std::vector<Variant> good;
    if (of_ours(plan.row->rival))
      compiler_.of(plan.row->rival, {"rival", plan.rival_config});  // its loading must not wait
    for (const Variant& variant : plan.variants) {
      const Compilation compilation = compiler_.of(plan.row->name, variant);
      if (compilation.problem.empty()) {
        good.push_back(variant);
        continue;
      }
      Row row = row_of(plan, variant);
      row.problem = "not available: " + compilation.problem;
      if (plan.sweep)
        print_tried(variant, {.problem = first_line(row.problem)});
      else
        report_.add(std::move(row));
    }
    return good;
  }

  void race_row(const RowPlan& plan, const std::vector<Variant>& variants) {
    if (variants.empty()) return;
    JobResult result = driver_.run(job(Job::Kind::race, plan, variants));
    const PeerTimes peers = peers_ ? race_peers(plan, variants, result) : PeerTimes();
    for (size_t i = 0; i < variants.size(); ++i) {
      const Outcome& outcome = result.outcomes[i];
      Row row = row_of(plan, variants[i]);
      if (!outcome.config.empty()) row.json = outcome.config;
      row.problem = outcome.problem;
      row.error = outcome.error;
      row.ours = outcome.ours;
      row.theirs = outcome.theirs;
      if (table_.rival_is_floor) row.floor_us = outcome.theirs.median;
      row.peer = fmt::format("{}; {}", result.rival, outcome.note);
      row.others = peers.us;
      report_.add(std::move(row));
    }
    if (!peers.problem.empty())
      report_.note(fmt::format("{}: PyTorch: {}", plan.row->name, peers.problem));
    if (!result.rival_problem.empty())
      report_.note(fmt::format("{}: the peer: {}", plan.row->name, result.rival_problem));
  }

  // PyTorch's turn, then again that of the fastest of ours, whose time is the mean of both.
  PeerTimes race_peers(const RowPlan& plan, const std::vector<Variant>& variants,
                       JobResult& result) {
    const PeerTimes times = peers_->measure(plan.row->name);
    const auto time = [](const Outcome& outcome) {
      return outcome.problem.empty() && outcome.ours.replays > 0 ? outcome.ours.median : 1e30;
    };
    const auto best = std::ranges::min_element(result.outcomes, {}, time);
    if (time(*best) == 1e30) return times;
    const auto at = static_cast<size_t>(best - result.outcomes.begin());
    Job again = job(Job::Kind::race, plan, {variants[at]});
    again.check = false;
    const Outcome second = driver_.run(again).outcomes[0];
    if (time(second) == 1e30) return times;
    best->ours.median = (best->ours.median + second.ours.median) / 2;
    best->ours.spread = std::max(best->ours.spread, second.ours.spread);
    return times;
  }

  static void print_tried(const Variant& variant, const Outcome& outcome) {
    const std::string config = outcome.config.empty() ? text_of(variant) : outcome.config;
    const auto time = [&](double value, int digits) {
      const bool known = outcome.problem.empty() && value > 0;
      return known ? fmt::format("{:.{}f}", value, digits) : std::string("-");
    };
    fmt::print("  {:>10} {:>7}  {}  {}\n", time(outcome.ours.median, 2),
               time(outcome.theirs.median / std::max(outcome.ours.median, 1e-9), 3), config,
               outcome.problem.empty() ? outcome.note : first_line(outcome.problem));
    std::fflush(stdout);
  }

  // Tries all, then measures the fastest with care.
  void sweep_row(const RowPlan& plan) {
    fmt::print("\nsweep of {}: us, the peer's time over it, config\n", plan.row->name);
    std::vector<Variant> variants = compilable(plan);
    Job heats = job(Job::Kind::heats, plan, variants);
    heats.check = false;
    const JobResult result = driver_.run(
        heats, [&](size_t i, const Outcome& outcome) { print_tried(variants[i], outcome); });
    std::vector<size_t> order;
    nlohmann::json tried = nlohmann::json::array();
    for (size_t i = 0; i < variants.size(); ++i) {
      const Outcome& outcome = result.outcomes[i];
      nlohmann::json& one = tried.emplace_back();
      one["config"] = nlohmann::json::parse(to_json(*variants[i].config));
      one["us"] = outcome.ours.median;
      one["peer_us"] = outcome.theirs.median;
      one["problem"] = outcome.problem;
      if (outcome.problem.empty() && outcome.ours.replays > 0) order.push_back(i);
    }
    report_.attach("sweep of " + plan.row->name, tried.dump());
    std::ranges::sort(order, {}, [&](size_t i) { return result.outcomes[i].ours.median; });
    order.resize(std::min(order.size(), static_cast<size_t>(options_.finalists)));
    std::vector<Variant> finalists;
    for (const size_t i : order) finalists.push_back(variants[i]);
    race_row(plan, finalists);
  }

  const SuiteTable& table_;
  const SuiteOptions& options_;
  Report& report_;
  std::vector<RowPlan> plans_;
  Compiler compiler_;
  GemmDriver driver_;
  std::optional<TorchPeers> peers_;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace

void run_rows(const SuiteTable& table, const SuiteOptions& options, Report& report) {
  RowSuite(table, options, report).run();
}

int compile_rows(const SuiteTable& table, const SuiteOptions& options) {
  const std::vector<RowPlan> plans = Configs(table, options).plan();
  Compiler compiler(plans, options);
  int failed = 0;
  for (const Compilation& one : compiler.all()) {
    const std::string config = one.config.empty() ? text_of(one.variant) : one.config;
    const bool good = one.problem.empty();
    failed += !good;
    fmt::print("{:<40} {:>5}  {}  {}\n", one.row, good ? fmt::format("{:.1f}s", one.seconds) : "-",
               config, good ? one.note : "not available: " + first_line(one.problem));
  }
  fmt::print("{}\n", compiler.summary());
  return failed;
}

}  // namespace tilewright::bench
