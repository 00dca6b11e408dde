#include "tilewright/runtime/arguments.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "tilewright/ir/error.h"
#include "tilewright/runtime/driver.h"
#include "tilewright/runtime/hash.h"

namespace tilewright::runtime {
namespace {

uint64_t head_word(bool tensor, DType dtype, int rank, int alignment, Device device) {
  return static_cast<uint64_t>(tensor) | static_cast<uint64_t>(dtype) << 8 |
         static_cast<uint64_t>(rank) << 16 | static_cast<uint64_t>(alignment) << 24 |
         static_cast<uint64_t>(device.kind) << 32 | static_cast<uint64_t>(device.index) << 40;
}

// Alignment as a key's part: 0 tells null pointers apart; empty tensors have none to speak of.
int key_alignment(const TensorView& view) {
  if (view.empty()) return 16;
  return view.data() == nullptr ? 0 : view.alignment();
}

// Set in the word of a dynamic size.
constexpr uint64_t kDynamicSize = uint64_t{1} << 63;

void append_tensor(const TensorView& view, bool dynamic, std::vector<uint64_t>& key) {
  const int rank = view.rank();
  const size_t at = key.size();
  key.resize(at + 1 + 2 * static_cast<size_t>(rank));
  uint64_t* to = key.data() + at;
  *to++ = head_word(true, view.dtype(), rank, key_alignment(view), view.device());
  std::array<int64_t, TensorView::max_rank> strides;
  view.normalized_strides(strides.data());
  std::memcpy(to, view.sizes().data(), sizeof(int64_t) * static_cast<size_t>(rank));
  if (dynamic) to[0] = kDynamicSize | static_cast<uint64_t>(dynamic_limit(view.size(0)));
  std::memcpy(to + rank, strides.data(), sizeof(int64_t) * static_cast<size_t>(rank));
}

// Whether the last byte of the view can be addressed in 64 bits.
bool span_fits(const TensorView& view) {
  int64_t last = 0;
  for (int d = 0; d < view.rank(); ++d) {
    int64_t reach = 0;
    if (view.size(d) > 1 && (__builtin_mul_overflow(view.size(d) - 1, view.stride(d), &reach) ||
                             __builtin_add_overflow(last, reach, &last)))
      return false;
  }
  int64_t bytes = 0;
  return !__builtin_add_overflow(last, 1, &last) &&
         !__builtin_mul_overflow(last, int64_t{size_of(view.dtype())}, &bytes);
}

void check_memory(std::string_view kernel, std::string_view name, const TensorView& view) {
  if (view.empty()) return;
  for (int d = 0; d < view.rank(); ++d)
    if (view.size(d) > 1 && view.stride(d) < 0)
      raise(ErrorId::argument_stride, {}, kernel, name, view.stride(d), d);
  if (!span_fits(view))
    raise(ErrorId::argument_span, {}, kernel, fmt::join(view.sizes(), ","),
          fmt::join(view.strides(), ","), name);
  if (view.data() == nullptr)
    raise(ErrorId::argument_null, {}, kernel, name, to_string(view.spec()));
  const auto address = reinterpret_cast<uintptr_t>(view.data());
  const int width = size_of(view.dtype());
  if (address % static_cast<uintptr_t>(width) != 0)
    raise(ErrorId::argument_misaligned, {}, kernel, name, address, width, to_string(view.dtype()));
}

std::string shape_text(DType dtype, std::span<const int64_t> sizes) {
  return fmt::format("{}[{}]", to_string(dtype), fmt::join(sizes, ","));
}

// Pointers this thread has checked; newer ones replace older ones of the same slot.
struct CheckedPointers {
  std::array<const void*, 256> pointers{};
  std::array<int, 256> devices{};
};

}  // namespace

int64_t dynamic_limit(int64_t size) {
  constexpr int64_t least = 8, fine = 4096, coarse = 65536;
  if (size > coarse) return kMostDynamic;
  if (size > fine) return coarse;
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max(size, least))));
}

bool can_be_dynamic(const TensorView& view) {
  if (view.rank() == 0 || view.size(0) > kMostDynamic) return false;
  if (view.size(0) <= 1 || view.empty()) return true;
  int64_t last = 0;  // element of a row
  for (int d = 1; d < view.rank(); ++d) last += (view.size(d) - 1) * view.stride(d);
  return view.stride(0) > last;
}

void append_key(std::span<const Argument> args, std::vector<uint64_t>& key) {
  for (const Argument& arg : args) {
    if (arg.view != nullptr)
      append_tensor(*arg.view, arg.dynamic, key);
    else
      key.push_back(head_word(false, arg.dtype, 0, 0, Device::cpu()));
  }
}

void append_sharing(std::span<const Argument> args, std::vector<uint64_t>& key) {
  for (const SharedMemory& pair : find_sharing(args)) key.push_back(sharing_word(pair));
}

uint64_t sharing_word(const SharedMemory& pair) {
  return uint64_t{1} << 63 | static_cast<uint64_t>(pair.exact) << 62 |
         static_cast<uint64_t>(pair.first) << 31 | static_cast<uint64_t>(pair.second);
}

std::vector<SharedMemory> find_sharing(std::span<const Argument> args) {
  std::vector<SharedMemory> pairs;  // almost always stays empty, and so does not allocate
  constexpr size_t limit = 32;
  std::array<ByteRange, limit> ranges;
  const bool few = args.size() <= limit;
  for (size_t j = 0; j < args.size(); ++j) {
    if (args[j].view == nullptr) continue;
    const ByteRange range = byte_range(*args[j].view);
    if (few) ranges[j] = range;
    for (size_t i = 0; i < j; ++i) {
      if (args[i].view == nullptr) continue;
      if (!range.overlaps(few ? ranges[i] : byte_range(*args[i].view))) continue;
      const Overlap how = overlap(*args[i].view, *args[j].view);
      if (how != Overlap::none)
        pairs.push_back({static_cast<int>(i), static_cast<int>(j), how == Overlap::exact});
    }
  }
  return pairs;
}

void check_result(std::string_view kernel, const ir::Param& param, const TensorView& view) {
  const TensorSpec& spec = param.spec;
  bool same = view.dtype() == spec.dtype && view.rank() == spec.rank();
  for (int d = spec.dynamic ? 1 : 0; same && d < spec.rank(); ++d)
    same = view.size(d) == spec.sizes[static_cast<size_t>(d)];
  if (same) return;
  raise(ErrorId::out_spec, {}, kernel, param.name, shape_text(spec.dtype, spec.sizes),
        shape_text(view.dtype(), view.sizes()));
}

namespace {

// "(a.size(0) is 7, b.size(0) is 8)"
std::string sizes_text(const ir::Function& fn, const ir::SizeProgram& program,
                       std::span<const Argument> args) {
  std::string text;
  for (const ir::Param& param : fn.params) {
    const ir::SizeStep step{ir::SizeStep::Kind::size, param.size_param};
    if (param.size_param < 0 || param.allocated || !std::ranges::count(program, step)) continue;
    text += fmt::format("{}{}.size(0) is {}", text.empty() ? "" : ", ", param.name,
                        args[static_cast<size_t>(param.size_param)].bits);
  }
  return text.empty() ? text : " (" + text + ")";
}

}  // namespace

void check_dynamic(const ir::Function& fn, std::span<const Argument> args) {
  for (size_t i = 0; i < args.size(); ++i) {
    const ir::Param& param = fn.params[i];
    if (!param.allocated || !param.spec.dynamic) continue;
    const TensorView& view = *args[i].view;
    const auto size = static_cast<int64_t>(args[static_cast<size_t>(param.size_param)].bits);
    if (view.size(0) != size) {
      std::vector<int64_t> sizes = param.spec.sizes;
      sizes[0] = size;
      raise(ErrorId::out_spec, {}, fn.name, param.name, shape_text(param.spec.dtype, sizes),
            shape_text(view.dtype(), view.sizes()));
    }
    if (!can_be_dynamic(view) && overlaps_itself(view))
      raise(ErrorId::output_overlap, {}, fn.name, param.name, fmt::join(view.sizes(), ","),
            fmt::join(view.strides(), ","));
  }
  const auto size = [&](int param) {
    return static_cast<int64_t>(args[static_cast<size_t>(param)].bits);
  };
  for (const ir::LaunchCheck& check : fn.checks)
    if (ir::evaluate(check.condition, size, check.loc) == 0)
      raise(ErrorId::check_failed, check.loc,
            check.message + sizes_text(fn, check.condition, args));
}

void check_arguments(const ir::Function& fn, const std::vector<bool>& written,
                     std::span<const Argument> args) {
  internal_check(args.size() == fn.launch_params(), "arguments do not match the function");
  for (size_t i = 0; i < args.size(); ++i) {
    const ir::Param& param = fn.params[i];
    if (args[i].view == nullptr) continue;
    const TensorView& view = *args[i].view;
    if (param.allocated) check_result(fn.name, param, view);
    check_memory(fn.name, param.name, view);
    if (written[i] && overlaps_itself(view))
      raise(ErrorId::output_overlap, {}, fn.name, param.name, fmt::join(view.sizes(), ","),
            fmt::join(view.strides(), ","));
  }
  for (const SharedMemory& pair : find_sharing(args)) {
    const bool first_written = written[pair.first], second_written = written[pair.second];
    if (!first_written && !second_written) continue;
    const int output = second_written ? pair.second : pair.first;
    const int other = second_written ? pair.first : pair.second;
    // Two outputs in one place would each overwrite the other.
    if (!pair.exact || (first_written && second_written))
      raise(ErrorId::alias_partial, {}, fn.name, fn.params[output].name, fn.params[other].name);
  }
}

Device common_device(std::string_view kernel, std::span<const Argument> args,
                     std::span<const std::string> names, Device otherwise) {
  size_t first = args.size();
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].view == nullptr) continue;
    if (first == args.size()) first = i;
    if (args[i].view->device() != args[first].view->device())
      raise(ErrorId::argument_device, {}, kernel, names[first],
            to_string(args[first].view->device()), names[i], to_string(args[i].view->device()));
  }
  return first == args.size() ? otherwise : args[first].view->device();
}

void check_pointer(std::string_view kernel, std::string_view name, const TensorView& view) {
  thread_local CheckedPointers checked;
  if (view.empty()) return;
  const size_t slot = mix(0, reinterpret_cast<uintptr_t>(view.data())) % checked.pointers.size();
  const int device = view.device().index;
  if (checked.pointers[slot] == view.data() && checked.devices[slot] == device) [[likely]]
    return;
  const PointerInfo info = pointer_info(view.data());
  if (info.kind == PointerInfo::Kind::unknown && !device_info(device).pageable_access)
    raise(ErrorId::argument_host_memory, {}, kernel, name, to_string(view.device()),
          reinterpret_cast<uintptr_t>(view.data()));
  if (info.kind == PointerInfo::Kind::device && info.device != device)
    raise(ErrorId::argument_other_gpu, {}, kernel, name, to_string(view.device()), info.device);
  checked.pointers[slot] = view.data();
  checked.devices[slot] = device;
}

std::vector<std::vector<int>> alias_groups(std::span<const Argument> args,
                                           const std::vector<bool>& written) {
  std::vector<std::vector<int>> groups;
  for (const SharedMemory& pair : find_sharing(args)) {
    if (!written[pair.first] && !written[pair.second]) continue;
    const auto group = std::ranges::find_if(groups, [&](const std::vector<int>& known) {
      return std::ranges::find(known, pair.first) != known.end() ||
             std::ranges::find(known, pair.second) != known.end();
    });
    if (group == groups.end()) {
      groups.push_back({pair.first, pair.second});
      continue;
    }
    for (const int index : {pair.first, pair.second})
      if (std::ranges::find(*group, index) == group->end()) group->push_back(index);
  }
  for (std::vector<int>& group : groups) std::ranges::sort(group);
  return groups;
}

}  // namespace tilewright::runtime
