// The device helpers that printed kernels call, each declared once.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/codegen/target.h"
#include "tilewright/ir/type.h"

namespace tilewright::codegen {

/// atomic: a write that nothing has to order among others of its kind.
enum class Access : uint8_t { read, write, atomic };

/// What a call does through one pointer argument; for the analysis of effects.
struct PointerUse {
  int argument;
  Access access;
};

/// A function or type of namespace tw in printed CUDA.
struct Helper {
  std::string name;      ///< without "tw::"
  std::string_view doc;  ///< one line, printed above it
  std::string text;      ///< the definition; no includes
  std::vector<std::string_view> needs = {};
  std::vector<PointerUse> pointers = {};
  int min_sm = 75;              ///< that `text` needs
  std::string older_text = {};  ///< for targets below min_sm; empty: they cannot have it
  /// An overload, printed when the helper or type named here is used as well; empty: always.
  std::string_view only_with = {};
  int max_sm = 999;       ///< the last architecture that has it
  bool specific = false;  ///< only architecture-specific targets ("sm_90a") have it
  /// Tells overloads apart by their calls: the number of coordinates, where the first operand is.
  /// "tma_load:2" names one, "tma_load" all of them.
  std::string_view overload = {};
};

/// Every helper, each after those it needs, except those made on request (prelude_wgmma.h,
/// prelude_atomics.h).
const std::vector<Helper>& helpers();
/// The helper called `name`: "load", "tw::load" or "tw::load<4>", the first when it has overloads;
/// null when there is none.
const Helper* find_helper(std::string_view name);
/// Whether the target can have it.
bool has_helper(const Target& target, const Helper& helper);
/// The names (without "tw::") of helpers that CUDA text mentions, comments apart; of overloads that
/// calls tell apart, which: "tma_load:2".
std::set<std::string> helpers_used(std::string_view cuda);

/// "namespace tw { .. }" with the helpers `used` and those they need, in dependency order; empty
/// when none is used. InternalError for a name that is no helper or that the target cannot have.
std::string prelude_text(const std::set<std::string>& used, const Target& target);

/// The CUDA type of an element: "float", "signed char", "long long", "tw::bf16", "bool", ..
std::string cuda_type(DType dtype);

}  // namespace tilewright::codegen
