#include "tilewright/autotune/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <utility>

extern char** environ;

namespace tilewright::tune {
namespace {

using Clock = std::chrono::steady_clock;

// A socket in place of two pipes: writing to a child that is gone then raises no SIGPIPE, whose
// handling belongs to the user's program.
std::array<int, 2> make_sockets() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw std::runtime_error(fmt::format("no socket can be made: {}", std::strerror(errno)));
  return ends;
}

// A copy of a file out of the way of the numbers the child is given: dup2 onto the same number
// would leave it to be closed.
int out_of_the_way(int file, size_t files) {
  return ::fcntl(file, F_DUPFD_CLOEXEC, kChildSocket + 1 + static_cast<int>(files));
}

}  // namespace

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::send(file, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (written < 0 && errno == ENOTSOCK) written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

ChildProcess::ChildProcess(const std::string& program, const std::vector<std::string>& arguments,
                           const std::vector<int>& files) {
  const std::array<int, 2> ends = make_sockets();
  std::vector<int> given{out_of_the_way(ends[1], files.size())};
  for (const int file : files) given.push_back(out_of_the_way(file, files.size()));
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, given[0], 0);
  ::posix_spawn_file_actions_adddup2(&actions, 2, 1);
  for (size_t i = 0; i < given.size(); ++i)
    ::posix_spawn_file_actions_adddup2(&actions, given[i], kChildSocket + static_cast<int>(i));
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t pid = -1;
  const int code =
      ::posix_spawn(&pid, program.c_str(), &actions, nullptr, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  for (const int file : given) ::close(file);
  ::close(ends[1]);
  if (code != 0) {
    ::close(ends[0]);
    throw std::runtime_error(fmt::format("cannot start {}: {}", program, std::strerror(code)));
  }
  socket_ = ends[0];
  pid_ = pid;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      socket_(std::exchange(other.socket_, -1)),
      pending_(std::move(other.pending_)),
      why_(std::move(other.why_)),
      timed_out_(other.timed_out_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(socket_, other.socket_);
  std::swap(pending_, other.pending_);
  std::swap(why_, other.why_);
  std::swap(timed_out_, other.timed_out_);
  return *this;
}

ChildProcess::~ChildProcess() {
  end();
  if (socket_ >= 0) ::close(socket_);
}

// Kills the child if it runs, and says how it ended.
std::string ChildProcess::end() {
  if (pid_ <= 0) return {};
  int status = 0;
  const bool ended = ::waitpid(pid_, &status, WNOHANG) == pid_;
  if (!ended) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  pid_ = -1;
  if (WIFSIGNALED(status))
    return fmt::format("the process was ended by signal {} ({})", WTERMSIG(status),
                       ::strsignal(WTERMSIG(status)));
  return fmt::format("the process ended with status {}", WEXITSTATUS(status));
}

bool ChildProcess::has_ended() const {
  siginfo_t info{};
  if (pid_ <= 0) return true;
  const int code = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  return code != 0 || info.si_pid != 0;
}

bool ChildProcess::wait_for(short events, double seconds) const {
  const auto deadline = Clock::now() + std::chrono::duration<double>(std::max(seconds, 0.0));
  while (true) {
    const std::chrono::duration<double, std::milli> left = deadline - Clock::now();
    pollfd wait{socket_, events, 0};
    const int ready = ::poll(&wait, 1, std::max(0, static_cast<int>(std::ceil(left.count()))));
    if (ready < 0 && errno == EINTR) continue;
    return ready > 0;
  }
}

void ChildProcess::send(std::string_view bytes, double seconds) {
  const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
  while (!bytes.empty() && alive()) {
    const std::chrono::duration<double> left = deadline - Clock::now();
    if (!wait_for(POLLOUT, left.count())) return;  // receive() will find it silent
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

std::optional<std::string> ChildProcess::receive(double seconds, const SplitMessage& split) {
  const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
  while (true) {
    if (const size_t size = split(pending_); size > 0) {
      std::string message = pending_.substr(0, size);
      pending_.erase(0, size);
      return message;
    }
    if (!alive()) return std::nullopt;
    const std::chrono::duration<double> left = deadline - Clock::now();
    if (!wait_for(POLLIN, left.count())) {
      end();
      timed_out_ = true;
      why_ = fmt::format("no answer within {:.3g} s: killed", seconds);
      return std::nullopt;
    }
    std::array<char, 65536> buffer;
    const ssize_t count = ::recv(socket_, buffer.data(), buffer.size(), 0);
    if (count > 0) {
      pending_.append(buffer.data(), static_cast<size_t>(count));
      continue;
    }
    if (count < 0 && errno == EINTR) continue;
    // The socket closes a moment before the process has ended.
    siginfo_t info{};
    for (int i = 0; i < 100 && info.si_pid == 0; ++i) {
      if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) break;
      if (info.si_pid == 0) ::usleep(10000);
    }
    why_ = end();
    return std::nullopt;
  }
}

}  // namespace tilewright::tune
