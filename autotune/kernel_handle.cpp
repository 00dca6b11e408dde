#include "tilewright/autotune/kernel_handle.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>

#include "tilewright/autotune/choose_config.h"
#include "tilewright/autotune/dynamic_sizes.h"
#include "tilewright/autotune/kernel_call.h"
#include "tilewright/autotune/specialization.h"
#include "tilewright/codegen/tunables.h"
#include "tilewright/ir/error.h"
#include "tilewright/ir/print.h"
#include "tilewright/runtime/driver.h"

namespace tilewright {
namespace {

// A call being looked up: its key, and its tensors and scalars followed by the results.
struct Call {
  KeyWords key;
  size_t trace_words = 0;  // the key's beginning that decides the trace
  size_t policy_word = 0;  // of the key
  bool dynamic = false;    // some of its tensors are
  std::vector<runtime::Argument> launch;
  TunableValues tunables;               // of the config, for the trace
  std::shared_ptr<const Traced> fresh;  // made already, where the key could not do without
};

Call& call_scratch() {
  thread_local Call scratch;
  return scratch;
}

// In the word of the key that tells configs of one kernel apart: the policy, where the call names
// one. A frozen call takes what was prepared by others.
constexpr uint64_t kPolicyBits = 7;
uint64_t policy_bits(std::optional<TunePolicy> tune) {
  if (!tune || *tune == TunePolicy::frozen) return 0;
  return 1 + static_cast<uint64_t>(*tune);
}

constexpr size_t kMostMarked = 64;  // parameters with a bit in State::dynamic_params

Target target_of(const CompileOptions& options, Device device) {
  if (options.target) return *options.target;
  if (device.is_emulator()) return parse_target(device.architecture());
  return device.is_cuda() ? runtime::device_target(device.index) : parse_target("sm_80");
}

// Contents of the parameters, for a search.
std::vector<tune::TuneData> tune_data(std::span<const runtime::Argument> params) {
  std::vector<tune::TuneData> data;
  for (const runtime::Argument& param : params) data.push_back({param.view, param.bits});
  return data;
}

// What a specialization is lowered for.
struct Want {
  Target target;
  std::optional<Config> config;  // that the call gives
  std::optional<TunePolicy> tune;
  std::vector<std::vector<int>> aliases;
  std::vector<tune::TuneData> data = {};
  std::span<const runtime::Argument> launch = {};  // of a call
};

// Whether a tensor has no elements, whatever its dynamic size.
bool always_empty(const TensorView& view, bool dynamic) {
  const std::span<const int64_t> sizes = view.sizes().subspan(dynamic ? 1 : 0);
  return std::ranges::find(sizes, 0) != sizes.end();
}

}  // namespace

struct KernelHandle::State {
  explicit State(Traceable t) : traceable(std::move(t)) {}

  Traceable traceable;
  std::mutex config_mutex;
  std::optional<Config> config;
  std::atomic<uint64_t> config_generation = 0;
  std::atomic<bool> has_tunables = false;    // of the config
  std::atomic<uint64_t> dynamic_params = 0;  // a bit for each
  std::vector<tune::Pin> pins;               // under config_mutex too
  TuneInputs tune_inputs;                    // likewise
  KeyTable<std::shared_ptr<const Traced>> traces;
  KeyTable<Specialization> specializations;

  void check_kinds(std::span<const CallArg> args) const {
    tilewright::check_kinds(traceable, args);
  }
  void begin(std::span<const CallArg> args, const std::optional<Config>& own, Call& call);
  void finish(std::span<const TensorView> out, const std::optional<Config>& config,
              std::optional<TunePolicy> tune, const Traced* dynamic, Call& call) const;
  std::shared_ptr<const Traced> dynamic_trace(std::span<const CallArg> args, Call& call);
  std::shared_ptr<const Traced> traced(std::span<const CallArg> args, const Call& call);
  std::optional<Config> chosen_config(const std::optional<Config>& own);
  Device device_of(const Traced& traced, std::span<const runtime::Argument> launch) const;
  CompiledKernel lower(Specialization& made, const Want& want, std::span<const KernelArg> args);
  CompiledKernel choose(Specialization& made, const Want& want, TunePolicy policy,
                        std::vector<tune::Pin> own_pins, std::span<const KernelArg> args);
  std::optional<Twin> twin_of(const Traced& traced, const Want& want, TunePolicy policy,
                              std::span<const KernelArg> args) const;
  Traced traced_with(const Traced& base, const Config& config, std::span<const KernelArg> args);
  const Specialization* keep(const Call& call, std::unique_ptr<Specialization> made);
  const Specialization* specialize(std::span<const CallArg> args, const LaunchOptions& options,
                                   const Call& call);
  std::vector<TensorView> result_views(const Traced& traced, const CompileOptions& options,
                                       Device device) const;
  void load(Specialization& made, const CompiledKernel& compiled, TunePolicy policy) const;
  void check_gpu(const Specialization& made, const LaunchOptions& options,
                 std::span<const runtime::Argument> params) const;
  void launch(const LaunchOptions& options, std::span<const CallArg> args);
};

// Starts a key: what is known when tracing, the config's tunables included, then tensors and
// scalars.
void KernelHandle::State::begin(std::span<const CallArg> args, const std::optional<Config>& own,
                                Call& call) {
  call.key.clear();
  call.launch.clear();
  if (own) {
    call.tunables = own->tunables;
  } else if (has_tunables.load(std::memory_order_relaxed)) {
    std::lock_guard lock(config_mutex);
    call.tunables = config ? config->tunables : TunableValues{};
  } else {
    call.tunables.clear();
  }
  append_tunables(call.tunables, call.key);
  call.fresh = nullptr;
  bool keyed = true;
  call.dynamic = false;
  const uint64_t marked = dynamic_params.load(std::memory_order_relaxed);
  for (size_t i = 0; i < args.size(); ++i) {
    const CallArg& arg = args[i];
    if (arg.kind == ParamKind::constant) append_constant(arg.constant, call.key);
    if (arg.kind == ParamKind::callable) {
      keyed &= !arg.callable.key.empty();
      append_text(arg.callable.key, call.key);
    }
    if (arg.kind != ParamKind::tensor && arg.kind != ParamKind::scalar) continue;
    runtime::Argument& passed = call.launch.emplace_back(arg.argument);
    if (passed.dynamic || (arg.kind == ParamKind::tensor && i < kMostMarked && (marked >> i & 1)))
      passed.dynamic = runtime::can_be_dynamic(*passed.view);
    call.dynamic |= passed.dynamic;
  }
  runtime::append_key(call.launch, call.key);
  if (!keyed) {
    // The captures of a callable cannot be compared, what it does can.
    call.fresh = std::make_shared<const Traced>(
        examine(traceable.trace(trace_args(args, call.launch), call.tunables)));
    append_text(ir::print(*call.fresh->fn, {.names = false}), call.key);
  }
  call.trace_words = call.key.size();
}

// Ends a key: results, config, and which of all these share memory. `dynamic`: the trace, where
// results may be dynamic.
void KernelHandle::State::finish(std::span<const TensorView> out, const std::optional<Config>& own,
                                 std::optional<TunePolicy> tune, const Traced* dynamic,
                                 Call& call) const {
  const size_t passed = call.launch.size();
  for (size_t i = 0; i < out.size(); ++i) {
    runtime::Argument& result = call.launch.emplace_back(runtime::Argument{&out[i]});
    if (dynamic == nullptr || i >= dynamic->made.size() || out[i].rank() == 0) continue;
    result.dynamic = dynamic->fn->params[static_cast<size_t>(dynamic->made[i])].spec.dynamic;
  }
  call.key.push_back(out.size());
  runtime::append_key(std::span(call.launch).subspan(passed), call.key);
  call.policy_word = call.key.size();
  const uint64_t generation = config_generation.load(std::memory_order_relaxed);
  call.key.push_back(own ? ~kPolicyBits : generation * (kPolicyBits + 1) + policy_bits(tune));
  if (own) append_config(*own, call.key);
}

std::shared_ptr<const Traced> KernelHandle::State::traced(std::span<const CallArg> args,
                                                          const Call& call) {
  const auto key = std::span(call.key).first(call.trace_words);
  if (const auto* known = traces.find(key)) return *known;
  auto fresh = call.fresh;
  if (fresh == nullptr) {
    const KeyWords own(key.begin(), key.end());  // tracing runs user code, which may launch kernels
    fresh = std::make_shared<const Traced>(
        examine(traceable.trace(trace_args(args, call.launch), call.tunables)));
    return *traces.insert(own, std::make_unique<const std::shared_ptr<const Traced>>(fresh));
  }
  return *traces.insert(key, std::make_unique<const std::shared_ptr<const Traced>>(fresh));
}

// The trace of a call that is being looked up.
std::shared_ptr<const Traced> KernelHandle::State::dynamic_trace(std::span<const CallArg> args,
                                                                 Call& call) {
  if (const auto* known = traces.find(std::span(call.key).first(call.trace_words))) return *known;
  Call own = call;
  auto found = traced(args, own);
  call = std::move(own);  // tracing runs user code, which may have launched kernels
  return found;
}

std::optional<Config> KernelHandle::State::chosen_config(const std::optional<Config>& own) {
  if (own) return own;
  std::lock_guard lock(config_mutex);
  return config;
}

Device KernelHandle::State::device_of(const Traced& traced,
                                      std::span<const runtime::Argument> launch) const {
  std::vector<std::string> names;
  bool tensors = false;
  for (size_t i = 0; i < launch.size(); ++i) {
    const size_t param = i < traced.fn->params.size() ? static_cast<size_t>(traced.param_of(i)) : i;
    names.push_back(traced.fn->params.at(param).name);
    tensors |= launch[i].view != nullptr;
  }
  const Device otherwise = tensors ? Device::cpu() : default_device();
  return runtime::common_device(traced.fn->name, launch, names, otherwise);
}

// A trace of the same call and result specs with a config's tunables.
Traced KernelHandle::State::traced_with(const Traced& base, const Config& config,
                                        std::span<const KernelArg> args) {
  std::vector<TensorSpec> results;
  for (const int made : base.made)
    results.push_back(base.fn->params[static_cast<size_t>(made)].spec);
  return with_result_specs(examine(traceable.trace(args, config.tunables)), results, traceable,
                           args, config.tunables);
}

// Lowers the specialization's trace with the config of the call or the kernel, else with the one
// that the policy leads to; `made` learns its trace and its origin.
CompiledKernel KernelHandle::State::lower(Specialization& made, const Want& want,
                                          std::span<const KernelArg> args) {
  std::optional<Config> own = chosen_config(want.config);
  std::vector<tune::Pin> own_pins;
  if (!own) {
    const TunePolicy policy = tune::effective_policy(want.tune, made.device);
    {
      std::lock_guard lock(config_mutex);
      own_pins = pins;
    }
    if (policy != TunePolicy::off || !own_pins.empty() || made.traced.dynamic())
      return choose(made, want, policy, std::move(own_pins), args);
    own = default_config(*made.traced.fn, want.target);
  }
  return CompiledKernel(codegen::lower(*made.traced.fn, *own, want.target, {want.aliases}));
}

CompiledKernel KernelHandle::State::choose(Specialization& made, const Want& want,
                                           TunePolicy policy, std::vector<tune::Pin> own_pins,
                                           std::span<const KernelArg> args) {
  const Traced base = made.traced;
  const std::optional<Twin> twin = twin_of(base, want, policy, args);
  if (base.dynamic() && !twin)
    return CompiledKernel(codegen::lower(*base.fn, default_config(*base.fn, want.target),
                                         want.target, {want.aliases}));
  tune::ChoiceRequest request;
  request.fn = twin ? twin->traced.fn.get() : base.fn.get();
  request.target = want.target;
  request.device = made.device;
  request.policy = policy;
  request.pins = own_pins;
  request.data = twin ? tune_data(twin->params) : want.data;
  request.alias_groups = twin ? twin->aliases : want.aliases;
  request.lower = [&](const Config& config) {
    Traced traced = config.tunables.empty() ? base : traced_with(base, config, args);
    CompiledKernel lowered(codegen::lower(*traced.fn, config, want.target, {want.aliases}));
    made.traced = std::move(traced);
    return lowered;
  };
  const tune::Choice choice = tune::choose_config(request);
  made.searched = choice.source == tune::ConfigSource::search;
  return choice.kernel;
}

// What a config is chosen for where sizes are dynamic: a search uses the call's own tensors, others
// do where the kernel takes no representative ones.
std::optional<Twin> KernelHandle::State::twin_of(const Traced& traced, const Want& want,
                                                 TunePolicy policy,
                                                 std::span<const KernelArg> args) const {
  if (!traced.dynamic()) return std::nullopt;
  const bool searches = policy == TunePolicy::quick || policy == TunePolicy::full;
  const bool empty = std::ranges::any_of(want.launch, [](const runtime::Argument& argument) {
    return argument.dynamic && argument.view->size(0) == 0;
  });
  const auto own = empty ? std::span<const runtime::Argument>() : want.launch;
  if (!searches)
    if (auto twin = exact_twin(traced, traceable, args, {}, want.aliases)) return twin;
  return exact_twin(traced, traceable, args, own, want.aliases);
}

// Keeps a specialization. What a search found also serves later calls that name no policy.
const Specialization* KernelHandle::State::keep(const Call& call,
                                                std::unique_ptr<Specialization> made) {
  const std::shared_ptr<const Specialization> shared = std::move(made);
  if (shared->searched) {
    KeyWords plain = call.key;
    plain[call.policy_word] &= ~kPolicyBits;
    specializations.replace(plain, shared);
  }
  return specializations.insert(call.key, shared);
}

// The slow path of a launch: every check that the key stands for, then compiling.
const Specialization* KernelHandle::State::specialize(std::span<const CallArg> args,
                                                      const LaunchOptions& options,
                                                      const Call& call) {
  const std::shared_ptr<const Traced> base = traced(args, call);
  if (options.out.size() != base->made.size())
    raise(ErrorId::out_count, {}, traceable.name(), base->made.size(), options.out.size());
  auto made = std::make_unique<Specialization>();
  made->device = device_of(*base, call.launch);
  std::vector<runtime::Argument> params;
  base->order(call.launch, params);
  runtime::check_arguments(*base->fn, base->written, params);
  if (base->dynamic()) runtime::check_dynamic(*base->fn, params);
  const std::vector<KernelArg> kernel_args = trace_args(args, call.launch);
  made->traced = with_result_specs(*base, as_traced(*base, specs_of(options.out)), traceable,
                                   kernel_args, call.tunables);
  made->nothing_to_do = !base->prints;
  for (size_t i = 0; i < params.size(); ++i)
    if (base->written[i] && !always_empty(*params[i].view, base->fn->params[i].spec.dynamic))
      made->nothing_to_do = false;
  if (made->device.is_cpu()) {
    if (const auto config = chosen_config(options.config)) {
      codegen::check_tunables(*config, *made->traced.fn);
      made->block = config->block;
    }
  } else if (made->nothing_to_do) {
    // Nothing is compiled.
  } else {
    if (made->device.is_cuda()) check_gpu(*made, options, params);
    const Want want{target_of({}, made->device),
                    options.config,
                    options.tune,
                    runtime::alias_groups(params, made->traced.written),
                    tune_data(params),
                    call.launch};
    load(*made, lower(*made, want, kernel_args),
         tune::effective_policy(options.tune, made->device));
  }
  return keep(call, std::move(made));
}

// What must hold before a launch on a GPU may compile.
void KernelHandle::State::check_gpu(const Specialization& made, const LaunchOptions& options,
                                    std::span<const runtime::Argument> params) const {
  const ir::Function& fn = *made.traced.fn;
  const runtime::ContextScope scope(made.device.index);
  for (size_t i = 0; i < params.size(); ++i)
    if (params[i].view != nullptr)
      runtime::check_pointer(fn.name, fn.params[i].name, *params[i].view);
  if (!runtime::is_capturing(options.stream.handle())) return;
  std::vector<std::string> specs;
  for (const runtime::Argument& param : params)
    specs.push_back(param.view != nullptr ? to_string(param.view->spec())
                                          : std::string(to_string(param.dtype)));
  raise(ErrorId::not_compiled, {}, fn.name, fmt::join(specs, ", "));
}

void KernelHandle::State::load(Specialization& made, const CompiledKernel& compiled,
                               TunePolicy policy) const {
  made.compiled = std::make_shared<const CompiledKernel>(compiled);
  if (!made.device.is_cuda()) return;
  if (policy == TunePolicy::frozen) tune::require_cached(compiled, *made.traced.fn);
  const runtime::ContextScope scope(made.device.index);
  made.executable = std::make_unique<const runtime::Executable>(
      compiled.plan(), compiled.binaries(), parameters(*made.traced.fn), made.device.index);
}

// The memory of the results that a compilation is for.
std::vector<TensorView> KernelHandle::State::result_views(const Traced& traced,
                                                          const CompileOptions& options,
                                                          Device device) const {
  if (!options.out.empty() && options.out.size() != traced.made.size())
    raise(ErrorId::out_count, {}, traceable.name(), traced.made.size(), options.out.size());
  std::vector<TensorView> views;
  for (size_t i = 0; i < traced.made.size(); ++i) {
    const ir::Param& param = traced.fn->params[static_cast<size_t>(traced.made[i])];
    TensorSpec spec = options.out.empty() ? param.spec : options.out[i];
    if (param.spec.dynamic && spec.rank() > 0) spec.sizes[0] = param.spec.sizes[0];
    views.push_back(stand_in(spec, device));
    runtime::check_result(traceable.name(), param, views.back());
  }
  return views;
}

void KernelHandle::State::launch(const LaunchOptions& options, std::span<const CallArg> args) {
  check_kinds(args);
  Call& call = call_scratch();
  begin(args, options.config, call);
  const auto dynamic = call.dynamic ? dynamic_trace(args, call) : nullptr;
  finish(options.out, options.config, options.tune, dynamic.get(), call);
  runtime::append_sharing(call.launch, call.key);
  if (const Specialization* known = specializations.find(call.key)) [[likely]]
    return run_specialization(*known, options, call.launch);
  const Call own = call;  // compiling runs user code, which may launch kernels
  const Specialization* made = specialize(args, options, own);
  run_specialization(*made, options, own.launch);
}

KernelHandle::KernelHandle(Traceable traceable)
    : state_(std::make_shared<State>(std::move(traceable))) {}

const std::string& KernelHandle::name() const { return state_->traceable.name(); }
Loc KernelHandle::loc() const { return state_->traceable.loc(); }
const std::vector<ParamInfo>& KernelHandle::params() const { return state_->traceable.params(); }

void KernelHandle::set_config(std::optional<Config> config) const {
  std::lock_guard lock(state_->config_mutex);
  state_->has_tunables = config && !config->tunables.empty();
  state_->config = std::move(config);
  ++state_->config_generation;
}

void KernelHandle::set_dynamic(int param, int axis) const {
  const std::vector<ParamInfo>& params = this->params();
  const std::string what = fmt::format("dimension {} of parameter {}", axis, param);
  const auto refuse = [&](std::string_view why) {
    raise(ErrorId::dynamic_argument, {}, name(), what, why);
  };
  if (param < 0 || param >= std::ssize(params)) refuse("there is no such parameter");
  if (params[param].kind != ParamKind::tensor) refuse("it is no tensor");
  if (axis != 0) refuse("only a tensor's first dimension can");
  if (static_cast<size_t>(param) >= kMostMarked) refuse("only the first 64 parameters can");
  state_->dynamic_params |= uint64_t{1} << param;
}

void KernelHandle::set_tune_inputs(TuneInputs make) const {
  std::lock_guard lock(state_->config_mutex);
  state_->tune_inputs = std::move(make);
}

TuneInputs KernelHandle::tune_inputs() const {
  std::lock_guard lock(state_->config_mutex);
  return state_->tune_inputs;
}

void KernelHandle::pin(const std::string& file) const {
  std::vector<tune::Pin> fresh = tune::read_pins(file);
  std::lock_guard lock(state_->config_mutex);
  std::ranges::move(fresh, std::back_inserter(state_->pins));
  ++state_->config_generation;
}

std::vector<Array> KernelHandle::call(std::span<const CallArg> args, const Stream& stream) const {
  state_->check_kinds(args);
  Call call;
  state_->begin(args, std::nullopt, call);
  const std::shared_ptr<const Traced> traced = state_->traced(args, call);
  const ir::Function& fn = *traced->fn;
  for (const int result : fn.results)
    if (!fn.params[static_cast<size_t>(result)].allocated)
      raise(ErrorId::result_is_parameter, {}, fn.name, fn.params[static_cast<size_t>(result)].name);
  const Device device = state_->device_of(*traced, call.launch);
  std::vector<Array> results;
  LaunchOptions options;
  options.stream = stream;
  for (const int made : traced->made) {
    const TensorSpec spec = traced->spec_of(made, call.launch);
    results.emplace_back(device, spec.sizes, spec.dtype);
    options.out.push_back(results.back());
  }
  state_->launch(options, args);
  return results;
}

void KernelHandle::launch(const LaunchOptions& options, std::span<const CallArg> args) const {
  state_->launch(options, args);
}

CompiledKernel KernelHandle::compile(std::vector<CompileArg> args,
                                     const CompileOptions& options) const {
  State& state = *state_;
  const Device device = options.target ? Device::cpu() : default_device(false);
  const CompileCall compile = compile_call(name(), args, params(), device);
  state.check_kinds(compile.args);
  Call call;
  state.begin(compile.args, options.config, call);
  const std::shared_ptr<const Traced> base = state.traced(compile.args, call);
  const std::vector<TensorView> out = state.result_views(*base, options, device);
  state.finish(out, options.config, options.tune, base.get(), call);
  append_groups(options.alias_groups, call.key);
  if (!device.is_cpu())
    if (const Specialization* known = state.specializations.find(call.key))
      if (known->compiled) return *known->compiled;

  auto made = std::make_unique<Specialization>();
  made->device = device;
  const std::vector<KernelArg> kernel_args = trace_args(compile.args, call.launch);
  made->traced = with_result_specs(*base, as_traced(*base, specs_of(out)), state.traceable,
                                   kernel_args, call.tunables);
  std::vector<std::vector<int>> groups = options.alias_groups;
  for (std::vector<int>& group : groups)
    for (int& position : group) position = base->param_of(static_cast<size_t>(position));
  const Want want{target_of(options, device), options.config, options.tune, std::move(groups)};
  const CompiledKernel compiled = state.lower(*made, want, kernel_args);
  if (device.is_cpu()) return compiled;
  state.load(*made, compiled, tune::effective_policy(options.tune, device));
  state.keep(call, std::move(made));
  return compiled;
}

CompiledKernel KernelHandle::compile(std::vector<CompileArg> args, const Target& target) const {
  return compile(std::move(args), CompileOptions{.target = target});
}

std::shared_ptr<const ir::Function> KernelHandle::trace(std::span<const CompileArg> args,
                                                        const std::optional<Config>& config) const {
  const CompileCall compile = compile_call(name(), args, params(), Device::cpu());
  state_->check_kinds(compile.args);
  Call call;
  state_->begin(compile.args, config, call);
  return state_->traced(compile.args, call)->fn;
}

}  // namespace tilewright
