#include "tilewright/autotune/dynamic_sizes.h"

#include <algorithm>

#include "tilewright/ir/error.h"
#include "tilewright/ir/log.h"

namespace tilewright {
namespace {

// The results of `twin` lie in memory as those of `dynamic`.
std::vector<TensorSpec> result_specs(const Traced& dynamic, const Traced& twin) {
  std::vector<TensorSpec> specs;
  for (size_t i = 0; i < twin.made.size(); ++i) {
    TensorSpec spec = dynamic.fn->params[static_cast<size_t>(dynamic.made[i])].spec;
    const TensorSpec& own = twin.fn->params[static_cast<size_t>(twin.made[i])].spec;
    spec.sizes = own.sizes;
    spec.dynamic = false;
    specs.push_back(std::move(spec));
  }
  return specs;
}

std::vector<std::vector<int>> moved(const std::vector<std::vector<int>>& groups, const Traced& from,
                                    const Traced& to) {
  std::vector<std::vector<int>> result = groups;
  for (std::vector<int>& group : result)
    for (int& param : group)
      param = to.param_of(
          static_cast<size_t>(std::ranges::find(from.positions, param) - from.positions.begin()));
  return result;
}

}  // namespace

int64_t representative_size(int64_t limit) {
  constexpr int64_t fine = 4096, coarse = 65536;
  if (limit <= fine) return limit;
  return limit <= coarse ? 4 * fine : 2 * coarse;
}

std::optional<Twin> exact_twin(const Traced& dynamic, const Traceable& traceable,
                               std::span<const KernelArg> args,
                               std::span<const runtime::Argument> launch,
                               const std::vector<std::vector<int>>& aliases) {
  std::vector<KernelArg> exact(args.begin(), args.end());
  size_t next = 0;  // in `launch`
  for (KernelArg& arg : exact) {
    const bool passed = arg.kind() == ParamKind::tensor || arg.kind() == ParamKind::scalar;
    const size_t at = passed ? next++ : next;
    auto* spec = std::get_if<TensorSpec>(&arg.value);
    if (spec == nullptr || !spec->dynamic) continue;
    spec->sizes[0] =
        launch.empty() ? representative_size(spec->sizes[0]) : launch[at].view->size(0);
    spec->dynamic = false;
  }
  TunableValues tunables;
  for (const ir::Tunable& tunable : dynamic.fn->tunables) tunables[tunable.name] = tunable.value;
  try {
    Twin twin{examine(traceable.trace(exact, tunables)), {}, {}};
    twin.traced = with_result_specs(twin.traced, result_specs(dynamic, twin.traced), traceable,
                                    exact, tunables);
    if (!launch.empty()) twin.traced.order(launch, twin.params);
    twin.aliases = moved(aliases, dynamic, twin.traced);
    return twin;
  } catch (const Error& error) {
    log(LogLevel::info,
        "kernel {}: no config is chosen for its dynamic sizes, since it cannot be "
        "traced for some that stand for them: {}",
        dynamic.fn->name, error.message());
    return std::nullopt;
  }
}

std::vector<std::vector<CompileArg>> by_limits(const std::vector<std::vector<CompileArg>>& calls) {
  std::vector<std::vector<CompileArg>> lists;
  for (const std::vector<CompileArg>& call : calls) {
    int64_t most = -1;
    for (const CompileArg& arg : call)
      if (const TensorSpec* spec = arg.dynamic_spec()) most = std::max(most, spec->sizes[0]);
    // The limits up to that of `most`; one list, as it is, where nothing is dynamic.
    for (int64_t limit = runtime::dynamic_limit(0);; limit = runtime::dynamic_limit(limit + 1)) {
      std::vector<CompileArg>& list = lists.emplace_back();
      for (const CompileArg& arg : call) {
        const TensorSpec* spec = arg.dynamic_spec();
        if (spec == nullptr) {
          list.push_back(arg);
          continue;
        }
        TensorSpec limited = *spec;
        limited.sizes[0] = std::min(limit, runtime::dynamic_limit(spec->sizes[0]));
        list.emplace_back(std::move(limited));
      }
      if (limit >= most) break;
    }
  }
  return lists;
}

}  // namespace tilewright
