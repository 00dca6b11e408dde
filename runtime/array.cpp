#include "tilewright/runtime/array.h"

#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "tilewright/ir/error.h"
#include "tilewright/runtime/driver.h"
#include "tilewright/runtime/float8.h"
#include "tilewright/runtime/half.h"

namespace tilewright {
namespace {

DeviceAllocator driver_allocator() {
  // Whole 16 bytes: copies of the last few elements read the rest of their 4 bytes, which tools
  // that watch memory would report.
  return {[](int, int64_t bytes) { return runtime::allocate_device((bytes + 15) / 16 * 16); },
          [](int, void* pointer, int64_t) { runtime::free_device(pointer); }};
}

struct AllocatorSlot {
  std::mutex mutex;
  std::shared_ptr<const DeviceAllocator> current =
      std::make_shared<const DeviceAllocator>(driver_allocator());
};

AllocatorSlot& allocator_slot() {
  static AllocatorSlot slot;
  return slot;
}

std::shared_ptr<const DeviceAllocator> current_allocator() {
  std::lock_guard lock(allocator_slot().mutex);
  return allocator_slot().current;
}

std::shared_ptr<void> allocate_on_gpu(int device, int64_t bytes) {
  auto allocator = current_allocator();
  runtime::ContextScope scope(device);
  void* pointer = allocator->allocate(device, bytes);
  return {pointer, [allocator, device, bytes](void* memory) {
            if (memory == nullptr) return;
            try {
              runtime::ContextScope current(device);
              allocator->release(device, memory, bytes);
            } catch (const std::exception&) {
              // The driver is shutting down and takes its memory along.
            }
          }};
}

std::shared_ptr<void> allocate_on_host(int64_t bytes) {
  constexpr auto alignment = std::align_val_t{64};
  void* pointer = ::operator new(static_cast<size_t>(bytes), alignment, std::nothrow);
  if (pointer == nullptr) raise(ErrorId::host_out_of_memory, {}, bytes);
  return {pointer, [](void* memory) { ::operator delete(memory, alignment); }};
}

// Copies `from` (strided, host) to row-major memory at `to`, dimension by dimension.
void gather(const TensorView& from, int dim, const char* source, char*& to) {
  const int64_t width = size_of(from.dtype());
  if (dim == from.rank()) {
    std::memcpy(to, source, static_cast<size_t>(width));
    to += width;
    return;
  }
  for (int64_t i = 0; i < from.size(dim); ++i)
    gather(from, dim + 1, source + i * from.stride(dim) * width, to);
}

// The bytes of a view on a GPU, from its first to its last element, on the host.
std::vector<char> download_span(const TensorView& view) {
  const ByteRange range = byte_range(view);
  std::vector<char> bytes(range.end - range.begin);
  runtime::ContextScope scope(view.device().index);
  runtime::synchronize_device();
  runtime::copy_to_host(bytes.data(), view.data(), static_cast<int64_t>(bytes.size()), nullptr);
  runtime::synchronize_stream(nullptr);
  return bytes;
}

void check_strides(const TensorView& view) {
  for (int64_t stride : view.strides())
    if (stride < 0) raise(ErrorId::view_copy, {}, to_string(view));
}

Array gathered_on_host(const TensorView& view) {
  Array result(Device::cpu(), {view.sizes().begin(), view.sizes().end()}, view.dtype());
  if (view.empty()) return result;
  char* to = static_cast<char*>(result.data());
  if (view.device().is_cuda()) {
    const std::vector<char> bytes = download_span(view);
    gather(view, 0, bytes.data(), to);
  } else {
    gather(view, 0, static_cast<const char*>(view.data()), to);
  }
  return result;
}

}  // namespace

void set_device_allocator(DeviceAllocator allocator) {
  if (!allocator.allocate || !allocator.release) allocator = driver_allocator();
  auto fresh = std::make_shared<const DeviceAllocator>(std::move(allocator));
  std::lock_guard lock(allocator_slot().mutex);
  allocator_slot().current = std::move(fresh);
}

Array::Array() : view_(nullptr, DType::f32, {0}, Device::cpu()) {}

Array::Array(Array&& other) noexcept : Array() { *this = std::move(other); }

Array& Array::operator=(Array&& other) noexcept {
  if (this == &other) return *this;
  memory_ = std::move(other.memory_);
  view_ = std::exchange(other.view_, TensorView(nullptr, DType::f32, {0}, Device::cpu()));
  return *this;
}

Array::Array(Device device, std::vector<int64_t> sizes, DType dtype)
    : view_(nullptr, dtype, sizes, {}, device) {
  if (device.is_cuda()) runtime::require_device(device.index);
  if (view_.empty()) return;
  memory_ = device.is_cuda() ? allocate_on_gpu(device.index, bytes()) : allocate_on_host(bytes());
  view_ = TensorView(memory_.get(), dtype, sizes, {}, device);
}

Array Array::zeros(Device device, std::vector<int64_t> sizes, DType dtype) {
  Array result(device, std::move(sizes), dtype);
  if (result.bytes() == 0) return result;
  if (device.is_host()) {
    std::memset(result.data(), 0, static_cast<size_t>(result.bytes()));
    return result;
  }
  runtime::ContextScope scope(device.index);
  runtime::fill_bytes(result.data(), 0, result.bytes(), nullptr);
  runtime::synchronize_stream(nullptr);  // so that streams that do not wait for this one may use it
  return result;
}

Array Array::from_bytes(const void* data, size_t count, std::vector<int64_t> sizes, DType dtype,
                        Device device) {
  Array result(device, std::move(sizes), dtype);
  if (static_cast<int64_t>(count) != result.elements())
    raise(ErrorId::array_length, {}, count, fmt::join(result.sizes(), ","), result.elements());
  if (count == 0) return result;
  if (device.is_host()) {
    std::memcpy(result.data(), data, static_cast<size_t>(result.bytes()));
    return result;
  }
  runtime::ContextScope scope(device.index);
  runtime::copy_to_device(result.data(), data, result.bytes(), nullptr);
  runtime::synchronize_stream(nullptr);
  return result;
}

Array Array::copy_of(const TensorView& view, Device device) {
  check_strides(view);
  if (device == view.device() && device.is_cuda() && view.contiguous()) {
    Array result(device, {view.sizes().begin(), view.sizes().end()}, view.dtype());
    runtime::ContextScope scope(device.index);
    runtime::synchronize_device();
    runtime::copy_on_device(result.data(), view.data(), result.bytes(), nullptr);
    runtime::synchronize_stream(nullptr);
    return result;
  }
  Array host = gathered_on_host(view);
  if (device.is_cpu()) return host;
  return from_bytes(host.data(), static_cast<size_t>(host.elements()),
                    {host.sizes().begin(), host.sizes().end()}, host.dtype(), device);
}

Array Array::to_host() const {
  if (device().is_cuda()) {
    runtime::ContextScope scope(device().index);
    runtime::synchronize_device();
  }
  return to_host(Stream());
}

Array Array::to_host(const Stream& stream) const {
  Array result(Device::cpu(), {sizes().begin(), sizes().end()}, dtype());
  if (device().is_host()) {
    if (bytes() > 0) std::memcpy(result.data(), data(), static_cast<size_t>(bytes()));
    return result;
  }
  runtime::ContextScope scope(device().index);
  runtime::copy_to_host(result.data(), data(), bytes(), stream.handle());
  runtime::synchronize_stream(stream.handle());
  return result;
}

void Array::check_access(bool matches) const {
  if (!device().is_host()) raise(ErrorId::array_not_on_host, {}, to_string(view_));
  if (!matches) raise(ErrorId::array_dtype, {}, to_string(dtype()));
}

double Array::value(int64_t i) const {
  check_access(true);
  if (i < 0 || i >= elements()) raise(ErrorId::view_range, {}, i, i + 1, 0, elements());
  const char* at = static_cast<const char*>(data()) + i * size_of(dtype());
  const auto read = [at]<class T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (dtype()) {
    case DType::boolean:
      return read(uint8_t{}) != 0 ? 1 : 0;
    case DType::i8:
      return read(int8_t{});
    case DType::u8:
      return read(uint8_t{});
    case DType::i16:
      return read(int16_t{});
    case DType::i32:
      return read(int32_t{});
    case DType::i64:
      return static_cast<double>(read(int64_t{}));
    case DType::f8e4m3:
      return f8e4m3_to_float(read(uint8_t{}));
    case DType::f8e5m2:
      return f8e5m2_to_float(read(uint8_t{}));
    case DType::f16:
      return f16_to_float(read(uint16_t{}));
    case DType::bf16:
      return bf16_to_float(read(uint16_t{}));
    case DType::f32:
      return read(float{});
    case DType::f64:
      return read(double{});
  }
  throw InternalError("an array of no known dtype");
}

namespace {

// One dimension of the elements from `first`, row-major: [a, b, .., z].
std::string elements_text(const Array& host, int dim, int64_t first) {
  if (dim == host.rank())
    return is_float(host.dtype()) ? fmt::format("{:g}", host.value(first))
                                  : fmt::format("{:.0f}", host.value(first));
  constexpr int64_t shown_at_each_end = 5;
  int64_t step = 1;
  for (int d = dim + 1; d < host.rank(); ++d) step *= host.size(d);
  const int64_t n = host.size(dim);
  const bool nested = dim + 1 < host.rank();
  const std::string separator = nested ? ",\n" + std::string(dim + 1, ' ') : ", ";
  std::string text = "[";
  for (int64_t i = 0; i < n; ++i) {
    if (i > 0) text += separator;
    if (n > 2 * shown_at_each_end && i == shown_at_each_end) {
      text += "..";
      i = n - shown_at_each_end - 1;
      continue;
    }
    text += elements_text(host, dim + 1, first + i * step);
  }
  return text + "]";
}

}  // namespace

std::string to_string(const Array& array) {
  const std::string head = to_string(array.view());
  if (array.device().is_cuda()) return head + "\n" + elements_text(array.to_host(), 0, 0);
  return head + "\n" + elements_text(array, 0, 0);
}

}  // namespace tilewright
