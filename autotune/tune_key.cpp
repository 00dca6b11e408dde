#include "tilewright/autotune/tune_key.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "tilewright/ir/error.h"
#include "tilewright/ir/hash.h"
#include "tilewright/ir/print.h"
#include "tilewright/runtime/cubin_cache.h"
#include "tilewright/runtime/driver.h"
#include "tilewright/runtime/file.h"
#include "tilewright/runtime/nvrtc_note.h"

namespace tilewright::tune {
namespace {

// "13.0" of the NVRTC that would be loaded; empty where there is none.
std::string nvrtc_version() {
  try {
    // "nvrtc 13000 71827364"
    const std::string identity = runtime::nvrtc_identity(runtime::CubinCache::instance().folder());
    const size_t space = identity.find(' ');
    int version = 0;
    if (space != identity.npos)
      std::from_chars(identity.data() + space + 1, identity.data() + identity.size(), version);
    return runtime::version_text(version);
  } catch (const Error&) {
    return {};
  }
}

// "580.65.06"; what CUDA it supports where the kernel module does not say.
std::string driver_version() {
  std::string version = runtime::read_file("/sys/module/nvidia/version").value_or("");
  while (!version.empty() && version.back() == '\n') version.pop_back();
  if (!version.empty()) return version;
  return "CUDA " + runtime::version_text(runtime::driver_status().version);
}

// The text of a function in which sizes and constants are question marks, wherever they stand, and
// values are numbered without counting constants: two equal sizes are one constant, two different
// ones are two.
class FamilyText {
 public:
  explicit FamilyText(const ir::Function& fn) {
    text_ = fn.name;
    for (const ir::Param& param : fn.params) add(param);
    for (const ir::Axis& axis : fn.axes) text_ += axis.pinned ? " pinned" : " axis";
    text_ += fmt::format(" -> {}\n", fmt::join(fn.results, ","));
    add(fn.body());
  }
  const std::string& text() const { return text_; }

 private:
  static std::string shape_text(const ir::Shape& shape) {
    std::string text;
    for (const ir::Dim& dim : shape) text += dim.is_block() ? fmt::format("B{},", dim.axis) : "?,";
    return text;
  }
  static std::string type_text(const ir::Type& type) {
    return fmt::format("{}:{}[{}]{}", static_cast<int>(type.kind),
                       tilewright::to_string(type.dtype), shape_text(type.shape), type.rank);
  }
  // The dimension whose elements lie side by side: the last one that has several and stride 1.
  static int contiguous_dim(const TensorSpec& spec) {
    for (int i = spec.rank() - 1; i >= 0; --i)
      if (spec.strides[static_cast<size_t>(i)] == 1 && spec.sizes[static_cast<size_t>(i)] > 1)
        return i;
    return spec.rank() - 1;
  }

  void add(const ir::Param& param) {
    text_ += " " + type_text(param.value->type);
    if (param.is_tensor()) text_ += fmt::format("/{}", contiguous_dim(param.spec));
    if (param.allocated) text_ += "+";
    define(param.value);
  }
  void define(const ir::Value* value) { numbers_.emplace(value, numbers_.size()); }

  std::string use(const ir::Value* value) const {
    if (value->def != nullptr && value->def->kind == ir::OpKind::constant)
      return fmt::format("?{}", tilewright::to_string(value->type.dtype));
    const auto known = numbers_.find(value);
    return known != numbers_.end() ? fmt::format("%{}", known->second) : "%";
  }
  static std::string attribute_text(const ir::Attr& attribute) {
    if (const auto* shape = std::get_if<ir::Shape>(&attribute)) return shape_text(*shape);
    return std::holds_alternative<double>(attribute) ? "?" : ir::to_string(attribute);
  }

  void add(const ir::Region& region) {
    text_ += "{";
    for (const ir::Value* argument : region.args) {
      text_ += type_text(argument->type) + " ";
      define(argument);
    }
    for (const ir::Op* op : region.ops)
      if (op->kind != ir::OpKind::constant) add(*op);
    text_ += "}\n";
  }
  void add(const ir::Op& op) {
    text_ += ir::info(op.kind).name;
    for (const ir::Value* operand : op.operands) text_ += " " + use(operand);
    for (const auto& [key, value] : op.attributes)
      text_ += fmt::format(" {}={}", ir::to_string(key), attribute_text(value));
    for (const ir::Value* result : op.results) {
      text_ += " " + type_text(result->type);
      define(result);
    }
    text_ += "\n";
    for (const ir::Region* region : op.regions) add(*region);
  }

  std::string text_;
  std::unordered_map<const ir::Value*, size_t> numbers_;
};

// Reads specs from left to right.
class SpecReader {
 public:
  SpecReader(std::string_view text, std::string_view where) : text_(text), where_(where) {}

  std::vector<TensorSpec> specs() {
    std::vector<TensorSpec> result;
    while (take(' ')) continue;
    while (at_ < text_.size()) {
      result.push_back(spec());
      while (take(' ')) continue;
    }
    return result;
  }

 private:
  [[noreturn]] void fail() const {
    raise(ErrorId::pin_file, {}, where_,
          fmt::format("'{}' is no list of tensors such as 'f32[8,8] f32[8,8]:[1,8]@4'", text_));
  }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  int64_t integer() {
    int64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0) fail();
    at_ += static_cast<size_t>(end - begin);
    return value;
  }
  std::vector<int64_t> list() {
    std::vector<int64_t> values;
    if (!take('[')) fail();
    if (take(']')) return values;
    do values.push_back(integer());
    while (take(','));
    if (!take(']')) fail();
    return values;
  }
  TensorSpec spec() {
    const size_t end = std::min(text_.find('[', at_), text_.size());
    DType dtype;
    if (!parse_dtype(text_.substr(at_, end - at_), dtype)) fail();
    at_ = end;
    TensorSpec spec = contiguous_spec(dtype, list());
    if (take(':')) spec.strides = list();
    if (take('@')) {
      const int64_t alignment = integer();
      if (alignment < 1 || alignment > 4096) fail();
      spec.alignment = static_cast<int>(alignment);
    }
    if (spec.strides.size() != spec.sizes.size()) fail();
    return spec;
  }

  std::string_view text_, where_;
  size_t at_ = 0;
};

}  // namespace

Machine machine_of(Device device, const Target& target) {
  if (device.is_cuda())
    return {runtime::device_info(device.index).name, driver_version(), nvrtc_version()};
  return {(device.is_emulator() ? "emulated " : "any ") + target.name(), {}, {}};
}

TuneKey tune_key(const ir::Function& fn, const Machine& machine) {
  TuneKey key{fn.name, ir::hash(fn), family_of(fn), machine, {}};
  for (const ir::Param& param : fn.params)
    if (param.is_tensor()) key.specs.push_back(param.spec);
  return key;
}

std::string family_of(const ir::Function& fn) {
  return fmt::format("{:016x}", ir::hash_text(FamilyText(fn).text()));
}

double distance(const std::vector<TensorSpec>& a, const std::vector<TensorSpec>& b) {
  constexpr double never = std::numeric_limits<double>::infinity();
  if (a.size() != b.size()) return never;
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].dtype != b[i].dtype || a[i].rank() != b[i].rank()) return never;
    for (size_t dim = 0; dim < a[i].sizes.size(); ++dim) {
      const auto size = [dim](const TensorSpec& spec) {
        return static_cast<double>(std::max<int64_t>(spec.sizes[dim], 1));
      };
      sum += std::abs(std::log2(size(a[i]) / size(b[i])));
    }
  }
  return sum;
}

std::string to_string(const std::vector<TensorSpec>& specs) {
  std::string text;
  for (const TensorSpec& spec : specs) text += (text.empty() ? "" : " ") + to_string(spec);
  return text;
}

std::vector<TensorSpec> parse_specs(std::string_view text, std::string_view where) {
  return SpecReader(text, where).specs();
}

}  // namespace tilewright::tune
