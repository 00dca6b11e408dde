#include "tilewright/ir/equal.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

namespace tilewright::ir {
namespace {

bool same_attribute(const Attr& a, const Attr& b) {
  const double* x = std::get_if<double>(&a);
  const double* y = std::get_if<double>(&b);
  if (x != nullptr && y != nullptr) return std::bit_cast<int64_t>(*x) == std::bit_cast<int64_t>(*y);
  return a == b;
}

class Comparison {
 public:
  /// Maps the values of `a` to those of `b` that must be used in their stead.
  bool define(const std::vector<const Value*>& a, const std::vector<const Value*>& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i]->type != b[i]->type) return false;
      map_[a[i]] = b[i];
    }
    return true;
  }

  std::optional<Loc> regions(const Region& a, const Region& b, Loc where) {
    if (!define(a.args, b.args)) return where;
    for (size_t i = 0; i < std::max(a.ops.size(), b.ops.size()); ++i) {
      if (i >= b.ops.size()) return a.ops[i]->loc;
      if (i >= a.ops.size() || !heads(*a.ops[i], *b.ops[i])) return b.ops[i]->loc;
      for (size_t r = 0; r < a.ops[i]->regions.size(); ++r)
        if (auto inner = regions(*a.ops[i]->regions[r], *b.ops[i]->regions[r], b.ops[i]->loc))
          return inner;
    }
    return std::nullopt;
  }

 private:
  /// Whether two operations are the same, but for what is in their regions.
  bool heads(const Op& a, const Op& b) {
    if (a.kind != b.kind || a.operands.size() != b.operands.size()) return false;
    if (a.regions.size() != b.regions.size()) return false;
    for (size_t i = 0; i < a.operands.size(); ++i) {
      auto found = map_.find(a.operands[i]);
      if (found == map_.end() || found->second != b.operands[i]) return false;
    }
    const bool same = std::equal(a.attributes.begin(), a.attributes.end(), b.attributes.begin(),
                                 b.attributes.end(), [](const auto& x, const auto& y) {
                                   return x.first == y.first && same_attribute(x.second, y.second);
                                 });
    return same && define(a.results, b.results);
  }

  std::unordered_map<const Value*, const Value*> map_;
};

bool same_axes(const Function& a, const Function& b) {
  return std::equal(
      a.axes.begin(), a.axes.end(), b.axes.begin(), b.axes.end(),
      [](const Axis& x, const Axis& y) { return x.block == y.block && x.pinned == y.pinned; });
}

bool same_params(const Function& a, const Function& b) {
  return a.results == b.results &&
         std::equal(a.params.begin(), a.params.end(), b.params.begin(), b.params.end(),
                    [](const Param& x, const Param& y) {
                      return x.value->type == y.value->type && x.spec == y.spec &&
                             x.size_param == y.size_param && x.allocated == y.allocated &&
                             x.fill.has_value() == y.fill.has_value() &&
                             (!x.fill || same_attribute(*x.fill, *y.fill));
                    });
}

}  // namespace

std::optional<Loc> first_difference(const Function& a, const Function& b) {
  if (!same_params(a, b)) return b.loc;
  Comparison comparison;
  for (size_t i = 0; i < a.params.size(); ++i)
    comparison.define({a.params[i].value}, {b.params[i].value});
  if (auto where = comparison.regions(a.body(), b.body(), b.loc)) return where;
  if (!same_axes(a, b) || a.tunables != b.tunables) return b.loc;
  return std::nullopt;
}

}  // namespace tilewright::ir
