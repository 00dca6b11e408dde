#include "tilewright/runtime/stream.h"

#include <utility>

#include "tilewright/ir/error.h"
#include "tilewright/runtime/driver.h"

namespace tilewright {
namespace {

int cuda_index(Device device, std::string_view what) {
  if (!device.is_cuda()) raise(ErrorId::bad_device, {}, what, to_string(device));
  return device.index;
}

}  // namespace

Stream Stream::create(Device device) {
  const int index = cuda_index(device, "a stream");
  runtime::ContextScope scope(index);
  Stream stream;
  stream.handle_ = runtime::create_stream();
  stream.owner_ = {stream.handle_, [index](CUstream_st* handle) {
                     try {
                       runtime::ContextScope current(index);
                       runtime::destroy_stream(handle);
                     } catch (const std::exception&) {
                       // The driver is shutting down and takes its streams along.
                     }
                   }};
  return stream;
}

void Stream::synchronize(Device device) const {
  runtime::ContextScope scope(cuda_index(device, "waiting for a stream"));
  runtime::synchronize_stream(handle_);
}

bool Stream::capturing(Device device) const {
  runtime::ContextScope scope(cuda_index(device, "a stream's capture"));
  return runtime::is_capturing(handle_);
}

Event::Event(Device device) : device_(device) {
  runtime::ContextScope scope(cuda_index(device, "an event"));
  handle_ = runtime::create_event();
}

Event::Event(Event&& other) noexcept
    : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)) {}

Event& Event::operator=(Event&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(handle_, other.handle_);
  return *this;
}

Event::~Event() {
  if (handle_ == nullptr) return;
  try {
    runtime::ContextScope scope(device_.index);
    runtime::destroy_event(handle_);
  } catch (const std::exception&) {
    // The driver is shutting down and takes its events along.
  }
}

void Event::record(const Stream& stream) {
  runtime::ContextScope scope(device_.index);
  runtime::record_event(handle_, stream.handle());
}

void Event::synchronize() const {
  runtime::ContextScope scope(device_.index);
  runtime::synchronize_event(handle_);
}

float Event::since(const Event& begin) const {
  runtime::ContextScope scope(device_.index);
  runtime::synchronize_event(handle_);
  return runtime::elapsed_ms(begin.handle_, handle_);
}

void synchronize(Device device) {
  if (device.is_host()) return;
  runtime::ContextScope scope(device.index);
  runtime::synchronize_device();
}

}  // namespace tilewright
