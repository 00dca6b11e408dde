#include "tilewright/ir/node.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "tilewright/ir/error.h"
#include "tilewright/ir/opspec.h"

namespace tilewright::ir {
namespace {

constexpr OpInfo kOps[] = {
#define TW_OP(name, operands, attributes, regions, effect) \
  {#name, operands, attributes, regions, Effect::effect},
#include "tilewright/ir/ops.def"
#undef TW_OP
};

constexpr std::string_view kAttributes[] = {
#define TW_ATTR(name, type) #name,
#include "tilewright/ir/attributes.def"
#undef TW_ATTR
};

template <class T>
const T& get(const Op& op, AttrKey key) {
  const Attr* attr = op.find(key);
  if (attr == nullptr || !std::holds_alternative<T>(*attr))
    throw InternalError(fmt::format("operation {} has no attribute {} of the type asked for",
                                    info(op.kind).name, to_string(key)));
  return std::get<T>(*attr);
}

}  // namespace

const OpInfo& info(OpKind kind) { return kOps[static_cast<int>(kind)]; }

std::optional<OpKind> find_op(std::string_view name) {
  for (size_t i = 0; i < std::size(kOps); ++i)
    if (kOps[i].name == name) return static_cast<OpKind>(i);
  return std::nullopt;
}

std::string_view to_string(AttrKey key) { return kAttributes[static_cast<int>(key)]; }

std::optional<AttrKey> find_attribute(std::string_view name) {
  for (size_t i = 0; i < std::size(kAttributes); ++i)
    if (kAttributes[i] == name) return static_cast<AttrKey>(i);
  return std::nullopt;
}

const Attr* Op::find(AttrKey key) const {
  for (const auto& [k, value] : attributes)
    if (k == key) return &value;
  return nullptr;
}

void Op::set(AttrKey key, Attr value) {
  for (auto& [known, old] : attributes)
    if (known == key) {
      old = std::move(value);
      return;
    }
  const auto& order = spec_of(kind).attributes;
  const auto position = [&](AttrKey wanted) {
    return std::find_if(order.begin(), order.end(),
                        [&](const AttributeSpec& spec) { return spec.key == wanted; });
  };
  const auto later = std::find_if(attributes.begin(), attributes.end(), [&](const auto& entry) {
    return position(entry.first) > position(key);
  });
  attributes.emplace(later, key, std::move(value));
}

int64_t Op::integer(AttrKey key) const { return get<int64_t>(*this, key); }

int64_t Op::integer_or(AttrKey key, int64_t otherwise) const {
  return has(key) ? integer(key) : otherwise;
}

const std::vector<int64_t>& Op::integers(AttrKey key) const {
  return get<std::vector<int64_t>>(*this, key);
}

const Shape& Op::shape(AttrKey key) const { return get<Shape>(*this, key); }
Fn Op::fn() const { return get<Fn>(*this, AttrKey::fn); }

const std::vector<const Value*>& Region::yields() const {
  static const std::vector<const Value*> none;
  if (ops.empty() || ops.back()->kind != OpKind::yield) return none;
  return ops.back()->operands;
}

struct Function::Arena {
  std::deque<Value> values;
  std::deque<Op> ops;
  std::deque<Region> regions;
};

Function::Function() : arena_(std::make_unique<Arena>()) { body_ = new_region(); }
Function::Function(Function&&) noexcept = default;
Function& Function::operator=(Function&&) noexcept = default;
Function::~Function() = default;

std::vector<int64_t> Function::extents(const Shape& shape) const {
  std::vector<int64_t> result;
  for (const Dim& dim : shape) result.push_back(extent(dim));
  return result;
}

bool Function::is_workspace(size_t param) const {
  return params.at(param).allocated &&
         std::find(results.begin(), results.end(), static_cast<int>(param)) == results.end();
}

size_t Function::launch_params() const {
  size_t count = params.size();
  while (count > 0 && is_workspace(count - 1)) --count;
  return count;
}

std::optional<int64_t> Function::size_limit(size_t param) const {
  std::optional<int64_t> limit;
  for (const Param& tensor : params)
    if (tensor.size_param == static_cast<int>(param))
      limit = std::min(limit.value_or(tensor.spec.sizes[0]), tensor.spec.sizes[0]);
  return limit;
}

const Param* Function::param_of(const Value* value) const {
  for (const Param& param : params)
    if (param.value == value) return &param;
  return nullptr;
}

Value* Function::new_value(Type type) {
  Value& value = arena_->values.emplace_back();
  value.type = std::move(type);
  return &value;
}

Op* Function::new_op(OpKind kind, Loc loc) {
  Op& op = arena_->ops.emplace_back();
  op.kind = kind;
  op.loc = loc;
  return &op;
}

Region* Function::new_region() { return &arena_->regions.emplace_back(); }

std::string_view intern(std::string_view text) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> known;
  const std::lock_guard lock(mutex);
  const auto found = known.find(text);
  return found != known.end() ? *found : *known.emplace(text).first;
}

}  // namespace tilewright::ir
