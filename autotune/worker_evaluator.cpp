#include "tilewright/autotune/worker_evaluator.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "tilewright/autotune/plan_text.h"
#include "tilewright/autotune/time_model.h"
#include "tilewright/codegen/passes.h"
#include "tilewright/ir/error.h"
#include "tilewright/runtime/array.h"
#include "tilewright/runtime/cpu_launch.h"
#include "tilewright/runtime/driver.h"

namespace tilewright::tune {
namespace {

// What the interpreter does in about a second.
constexpr double kInterpretedOperations = 1 << 27;
constexpr int64_t kInterpretedBytes = int64_t{1} << 24;
constexpr std::string_view kDisproved = "others agree on another result";
constexpr uint64_t kDataSeed = 0x7475'6e65;

// Compilers' logs are long; the beginning says what is wrong.
std::string shortened(const std::string& text) {
  constexpr size_t most = 2000;
  return text.size() <= most ? text : text.substr(0, most) + " ..";
}

std::string name_of(Device device, const Target& target) {
  return device.is_emulator() ? "emulated " + target.name()
                              : runtime::device_info(device.index).name;
}

// Row-major elements at the places that a spec's strides give them. Strides of 0 write one element
// several times, the same value.
std::vector<std::byte> laid_out(const Array& host, const TensorSpec& spec) {
  const int64_t size = size_of(spec.dtype);
  std::vector<std::byte> bytes(static_cast<size_t>(spec.span() * size));
  for (int64_t element = 0; element < host.elements(); ++element) {
    int64_t left = element, offset = 0;
    for (size_t dim = spec.sizes.size(); dim-- > 0;) {
      offset += left % spec.sizes[dim] * spec.strides[dim];
      left /= spec.sizes[dim];
    }
    std::memcpy(bytes.data() + offset * size,
                static_cast<const std::byte*>(host.data()) + element * size,
                static_cast<size_t>(size));
  }
  return bytes;
}

TensorView view_of(const WorkerParam& param, std::byte* data) {
  return {data, param.spec.dtype, param.spec.sizes, param.spec.strides, Device::cpu()};
}

}  // namespace

WorkerEvaluator::WorkerEvaluator(const TuneRequest& request, const WorkerOptions& options)
    : fn_(*request.fn),
      target_(request.target),
      device_(request.device),
      device_name_(name_of(request.device, request.target)),
      options_(options),
      stop_(request.search.stop),
      program_(worker_program()) {
  data_file_ = ::memfd_create("tilewright-tune", MFD_CLOEXEC);
  if (data_file_ < 0) raise(ErrorId::worker_missing, {}, "no file for its data can be made");
  describe_params(request);
  write_data(request);
  if (options_.patience.candidate <= 0) options_.patience.candidate = default_patience();
  cache_ = std::make_unique<runtime::CubinCache>("");  // those that lose are not kept on disk
  CompilePool::Lower lower = options.lower;
  if (!lower)
    lower = [this, groups = request.alias_groups](const Config& config) {
      return codegen::lower(fn_, config, target_, {groups});
    };
  CompilePool::Compile compile = options.compile;
  if (!compile)
    compile = [this](const codegen::Plan& plan) {
      // The emulator compiles the text itself.
      return device_.is_emulator() ? std::vector<std::shared_ptr<const runtime::CompiledCuda>>()
                                   : runtime::compile_plan(plan, *cache_);
    };
  const int cores = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1u));
  pool_ = std::make_unique<CompilePool>(
      lower, compile, options.compile_threads > 0 ? options.compile_threads : cores);
  if (options.interpret) interpret_reference();
}

WorkerEvaluator::~WorkerEvaluator() {
  if (data_file_ >= 0) ::close(data_file_);
}

double WorkerEvaluator::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
}

double WorkerEvaluator::default_patience() const {
  if (device_.is_emulator()) return 30;  // a C++ compiler runs first
  double bytes = 0;
  for (const WorkerParam& param : params_)
    if (param.tensor) bytes += static_cast<double>(param.spec.span() * size_of(param.spec.dtype));
  const double us =
      predict(fn_, default_config(fn_, target_), target_, Calibration::typical(target_))
          .microseconds;
  return 3 + 100 * 1e-6 * us + bytes / 0.5e9;
}

void WorkerEvaluator::describe_params(const TuneRequest& request) {
  const std::vector<bool> written = codegen::written_params(fn_);
  const Tolerance tolerance = tolerance_of(fn_);
  for (size_t i = 0; i < fn_.launch_params(); ++i) {
    const ir::Param& param = fn_.params[i];
    WorkerParam& made = params_.emplace_back();
    made.name = param.name;
    made.tensor = param.is_tensor();
    made.dtype = param.value->type.dtype;
    if (made.tensor) made.spec = param.spec;
    made.written = made.tensor && written.at(i);
    made.poisoned = made.tensor && param.allocated;
    made.tolerance = tolerance;
    made.seed = kDataSeed + i;
    const bool one = !is_float(made.dtype);
    made.bits = one ? 1 : made.dtype == DType::f32 ? 0x3f800000u : 0;  // 1 unless it is given
    if (made.dtype == DType::f64) made.bits = 0x3ff0000000000000u;
    if (!request.data.empty() && !made.tensor) made.bits = request.data.at(i).bits;
  }
  for (const std::vector<int>& group : request.alias_groups)
    for (const int later : group) {
      const int first = *std::ranges::min_element(group);
      if (later == first) continue;
      params_.at(static_cast<size_t>(later)).same_as = first;
      // What is written through one name is there under the other, and holds values.
      WorkerParam& owner = params_.at(static_cast<size_t>(first));
      owner.written |= params_.at(static_cast<size_t>(later)).written;
    }
}

int64_t WorkerEvaluator::append_data(const void* bytes, int64_t count) {
  const int64_t offset = data_bytes_;
  const auto* from = static_cast<const std::byte*>(bytes);
  for (int64_t done = 0; done < count;) {
    const ssize_t wrote =
        ::pwrite(data_file_, from + done, static_cast<size_t>(count - done), offset + done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) raise(ErrorId::host_out_of_memory, {}, count);
    done += wrote;
  }
  data_bytes_ += (count + 63) / 64 * 64;
  return offset;
}

// Copies of the caller's tensors, as the parameters' strides lay them out.
void WorkerEvaluator::write_data(const TuneRequest& request) {
  for (size_t i = 0; i < params_.size() && !request.data.empty(); ++i) {
    WorkerParam& param = params_[i];
    const TensorView* view = request.data.at(i).view;
    if (!param.tensor || param.poisoned || param.same_as >= 0 || view == nullptr) continue;
    const Array host = Array::copy_of(*view, Device::cpu());
    const TensorSpec packed = contiguous_spec(param.spec.dtype, param.spec.sizes);
    if (param.spec.strides == packed.strides) {
      param.offset = append_data(host.data(), host.bytes());
    } else {
      const std::vector<std::byte> bytes = laid_out(host, param.spec);
      param.offset = append_data(bytes.data(), static_cast<int64_t>(bytes.size()));
    }
  }
}

// Runs the interpreter on what the worker's first image holds.
void WorkerEvaluator::interpret_reference() {
  int64_t bytes = 0;
  for (const WorkerParam& param : params_)
    if (param.tensor) bytes += param.spec.span() * size_of(param.spec.dtype);
  const Traffic traffic = traffic_of(fn_, default_config(fn_, target_), target_);
  if (bytes > kInterpretedBytes || traffic.operations() > kInterpretedOperations) return;
  std::vector<std::vector<std::byte>> memory(params_.size());
  std::vector<TensorView> views(params_.size());
  std::vector<runtime::Argument> arguments;
  for (size_t i = 0; i < params_.size(); ++i) {
    const WorkerParam& param = params_[i];
    runtime::Argument& argument = arguments.emplace_back();
    argument.dtype = param.dtype;
    argument.bits = param.bits;
    if (!param.tensor) continue;
    const int64_t count = param.spec.span() * size_of(param.spec.dtype);
    const size_t owner = param.same_as < 0 ? i : static_cast<size_t>(param.same_as);
    if (owner == i) memory[i].resize(static_cast<size_t>(count) + 16);
    if (owner == i && param.poisoned)
      fill_poison(param.spec.dtype, memory[i].data(), count);
    else if (owner == i && param.offset >= 0)
      internal_check(
          ::pread(data_file_, memory[i].data(), static_cast<size_t>(count), param.offset) == count,
          "data of tuning cannot be read back");
    else if (owner == i)
      fill_random(param.spec.dtype, memory[i].data(), param.spec.span(), param.seed);
    views[i] = view_of(param, memory[owner].data());
    argument.view = &views[i];
  }
  runtime::launch_on_cpu(fn_, arguments, {});
  for (size_t i = 0; i < params_.size(); ++i) {
    WorkerParam& param = params_[i];
    if (!param.written) continue;
    const size_t owner = param.same_as < 0 ? i : static_cast<size_t>(param.same_as);
    param.expected =
        append_data(memory[owner].data(), param.spec.span() * size_of(param.spec.dtype));
  }
  interpreted_ = true;
}

WorkerEvaluator::Known& WorkerEvaluator::known(const Config& config) {
  const auto [it, fresh] = known_.try_emplace(to_json(config));
  if (fresh) it->second.id = static_cast<int>(known_.size());
  return it->second;
}

// A worker that has the device and the data.
void WorkerEvaluator::start() {
  for (auto& [name, one] : known_) one.loaded = false;
  if (!worker_ || worker_->has_ended()) {
    ++restarts_;
    try {
      worker_.emplace(program_, std::vector<std::string>{"--serve"}, std::vector<int>{data_file_});
    } catch (const std::runtime_error& error) {
      raise(ErrorId::worker_missing, {}, error.what());
    }
  }
  WorkerJob job;
  job.kind = WorkerJob::Kind::setup;
  job.device = to_string(device_);
  job.params = params_;
  job.replay_us = options_.replay_us;
  const std::optional<WorkerAnswer> answer = ask(job, options_.patience.setup);
  if (!answer) raise(ErrorId::worker_missing, {}, last_end_);
  if (!answer->problem.empty()) raise(ErrorId::worker_missing, {}, answer->problem);
}

// A worker that runs, and that knows what is right.
void WorkerEvaluator::ensure_worker() {
  if (worker_ && !worker_->has_ended()) return;
  start();
  if (!interpreted_ && reference_) load_again(*reference_);
}

// Nothing when the worker ended: last_end_ says why.
std::optional<WorkerAnswer> WorkerEvaluator::ask(const WorkerJob& job, double seconds) {
  worker_->send(to_message(job));
  const std::optional<std::string> message = worker_->receive(seconds, message_length);
  if (message) {
    try {
      WorkerAnswer answer = parse_answer(*message);
      if (answer.ends) {
        last_end_ = "the device became unusable";
        last_timed_out_ = false;
        worker_.reset();
      }
      return answer;
    } catch (const std::exception& error) {
      last_end_ = fmt::format("its answer cannot be read: {}", error.what());
      worker_.reset();
      return std::nullopt;
    }
  }
  last_end_ = worker_->why();
  last_timed_out_ = worker_->timed_out();
  return std::nullopt;
}

Attempt WorkerEvaluator::ended() const {
  return {last_timed_out_ ? Trial::Status::timed_out : Trial::Status::crashed,
          "while it ran, " + last_end_};
}

WorkerJob WorkerEvaluator::attempt_job(const Known& known,
                                       const CompiledCandidate& candidate) const {
  WorkerJob job;
  job.kind = WorkerJob::Kind::attempt;
  job.ids = {known.id};
  job.plan = encode_plan(*candidate.plan);
  for (const auto& binary : candidate.binaries)
    job.binaries.push_back({binary->cubin, binary->ptx, binary->compiler});
  return job;
}

Attempt WorkerEvaluator::attempt_one(const Config& config) {
  const std::shared_ptr<const CompiledCandidate> candidate = pool_->get(config);
  if (candidate->status != Trial::Status::ok)
    return {candidate->status, shortened(candidate->message)};
  Known& own = known(config);
  ensure_worker();
  const std::optional<WorkerAnswer> answer =
      ask(attempt_job(own, *candidate), options_.patience.candidate);
  if (!answer) return ended();
  if (!answer->problem.empty()) return {Trial::Status::crashed, shortened(answer->problem)};
  for (auto& [name, one] : known_)
    if (std::ranges::find(answer->disproved, one.id) != answer->disproved.end())
      one.disproved = true;
  if (answer->status == Trial::Status::ok) {
    own.loaded = true;
    if (answer->verified && !reference_) reference_ = config;
  }
  return {answer->status, shortened(answer->message)};
}

std::vector<Attempt> WorkerEvaluator::attempt(std::span<const Config> configs) {
  std::vector<Attempt> attempts;
  for (const Config& config : configs) {
    if (stop_.stop_requested()) break;
    attempts.push_back(attempt_one(config));
  }
  return attempts;
}

// Loads a config that passed before into a fresh worker.
bool WorkerEvaluator::load_again(const Config& config) {
  Known& own = known(config);
  if (own.loaded) return true;
  const std::shared_ptr<const CompiledCandidate> candidate = pool_->get(config);
  if (candidate->status != Trial::Status::ok) return false;
  WorkerJob job = attempt_job(own, *candidate);
  job.trusted = !interpreted_ && reference_ == config;
  const std::optional<WorkerAnswer> answer = ask(job, options_.patience.candidate);
  own.loaded = answer && answer->problem.empty() && answer->status == Trial::Status::ok;
  return own.loaded;
}

std::vector<std::vector<double>> WorkerEvaluator::race_ids(std::span<const Config> configs,
                                                           int rounds) {
  ensure_worker();
  WorkerJob job;
  job.kind = WorkerJob::Kind::race;
  job.rounds = rounds;
  for (const Config& config : configs) {
    if (!load_again(config)) return {};
    job.ids.push_back(known(config).id);
  }
  const double share = options_.patience.candidate * static_cast<double>(configs.size());
  const std::optional<WorkerAnswer> answer = ask(job, options_.patience.candidate + share);
  if (!answer || !answer->problem.empty()) return {};
  return answer->times;
}

std::vector<std::vector<double>> WorkerEvaluator::race(std::span<const Config> configs,
                                                       int rounds) {
  std::vector<std::vector<double>> times(configs.size());
  std::vector<Config> able;
  std::vector<size_t> where;
  for (size_t i = 0; i < configs.size(); ++i) {
    if (known(configs[i]).disproved) continue;
    able.push_back(configs[i]);
    where.push_back(i);
  }
  if (able.empty()) return times;
  std::vector<std::vector<double>> all = race_ids(able, rounds);
  if (all.size() == able.size()) {
    for (size_t i = 0; i < able.size(); ++i) times[where[i]] = std::move(all[i]);
    return times;
  }
  // One of them ended it: each is tried alone, and those that can, race again.
  std::vector<Config> left;
  std::vector<size_t> left_where;
  for (size_t i = 0; i < able.size(); ++i) {
    if (race_ids(std::span(&able[i], 1), 1).size() != 1) continue;
    left.push_back(able[i]);
    left_where.push_back(where[i]);
  }
  if (left.empty()) return times;
  all = race_ids(left, rounds);
  for (size_t i = 0; i < all.size(); ++i) times[left_where[i]] = std::move(all[i]);
  return times;
}

Attempt WorkerEvaluator::why(const Config& config) const {
  const auto it = known_.find(to_json(config));
  if (it != known_.end() && it->second.disproved)
    return {Trial::Status::wrong, std::string(kDisproved)};
  return Evaluator::why(config);
}

Attempt WorkerEvaluator::recheck_one(const Config& config) {
  if (known(config).disproved) return {Trial::Status::wrong, std::string(kDisproved)};
  ensure_worker();
  const Config& reference = reference_ ? *reference_ : config;
  if (!load_again(reference) || !load_again(config))
    return worker_ && worker_->alive()
               ? Attempt{Trial::Status::crashed, "it could not be loaded a second time"}
               : ended();
  WorkerJob job;
  job.kind = WorkerJob::Kind::recheck;
  job.ids = {known(reference).id, known(config).id};
  const std::optional<WorkerAnswer> answer = ask(job, 4 * options_.patience.candidate);
  if (!answer) return ended();
  if (!answer->problem.empty()) return {Trial::Status::crashed, shortened(answer->problem)};
  if (!answer->messages.at(1).empty()) return {Trial::Status::wrong, answer->messages.at(1)};
  return {};
}

std::vector<Attempt> WorkerEvaluator::recheck(std::span<const Config> configs) {
  std::vector<Attempt> attempts;
  for (const Config& config : configs) {
    attempts.push_back(recheck_one(config));
    // It passed before: once more, in case something else ended the worker.
    if (attempts.back().status == Trial::Status::crashed) attempts.back() = recheck_one(config);
  }
  return attempts;
}

void WorkerEvaluator::keep(std::span<const Config> configs) {
  std::vector<Config> kept(configs.begin(), configs.end());
  if (reference_) kept.push_back(*reference_);
  pool_->keep(kept);
  WorkerJob job;
  job.kind = WorkerJob::Kind::keep;
  for (const Config& config : kept) job.ids.push_back(known(config).id);
  for (auto& [name, one] : known_)
    if (std::ranges::find(job.ids, one.id) == job.ids.end()) one.loaded = false;
  if (worker_ && worker_->alive()) ask(job, options_.patience.candidate);
}

}  // namespace tilewright::tune
