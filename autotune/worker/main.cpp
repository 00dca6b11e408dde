// The process that runs candidates of the tuner, which may crash or hang it. The process that tunes
// starts it and speaks to it over a socket.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>

#include "tilewright/autotune/child_process.h"
#include "tilewright/autotune/worker_protocol.h"
#include "tilewright/autotune/worker_session.h"

namespace tilewright::tune {
namespace {

constexpr int kDataFile = kChildSocket + 1;

// The data file, mapped as long as it is now.
class DataFile {
 public:
  ~DataFile() { unmap(); }
  std::span<const std::byte> bytes() {
    struct stat info {};
    if (::fstat(kDataFile, &info) != 0 || info.st_size == 0) return {};
    const auto size = static_cast<size_t>(info.st_size);
    if (size != size_) {
      unmap();
      void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, kDataFile, 0);
      if (mapped == MAP_FAILED) return {};
      address_ = mapped;
      size_ = size;
    }
    return {static_cast<const std::byte*>(address_), size_};
  }

 private:
  void unmap() {
    if (address_ != nullptr) ::munmap(address_, size_);
    address_ = nullptr;
    size_ = 0;
  }
  void* address_ = nullptr;
  size_t size_ = 0;
};

// A candidate may keep this process from noticing that nobody waits for it any more.
void end_with_parent() {
  std::thread([] {
    pollfd wait{kChildSocket, POLLRDHUP, 0};
    while (::poll(&wait, 1, -1) < 0) {
    }
    ::_exit(0);
  }).detach();
}

int serve() {
  ::signal(SIGINT, SIG_IGN);  // Ctrl-C is for the process that tunes
  end_with_parent();
  DataFile data;
  WorkerSession session([&] { return data.bytes(); });
  std::string received;
  std::array<char, 65536> buffer;
  while (true) {
    if (const size_t length = message_length(received); length > 0) {
      const WorkerJob job = parse_job(std::string_view(received).substr(0, length));
      received.erase(0, length);
      if (!write_all(kChildSocket, to_message(session.answer(job)))) return 0;
      if (session.must_end()) ::_exit(3);  // destructors would only fail
      continue;
    }
    const ssize_t count = ::recv(kChildSocket, buffer.data(), buffer.size(), 0);
    if (count <= 0) return 0;
    received.append(buffer.data(), static_cast<size_t>(count));
  }
}

}  // namespace
}  // namespace tilewright::tune

int main(int argc, char** argv) {
  if (argc != 2 || std::string_view(argv[1]) != "--serve") {
    std::puts(
        "tilewright-worker runs candidates for 'tilewright tune'; it is not started by hand.");
    return 2;
  }
  return tilewright::tune::serve();
}
