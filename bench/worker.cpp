#include "bench/worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <utility>
#include <vector>

extern char** environ;

namespace tilewright::bench {
namespace {

using Clock = std::chrono::steady_clock;

void close_file(int& file) {
  if (file >= 0) ::close(file);
  file = -1;
}

// Both ends are closed in children, except where the child is given one.
std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe can be made");
  return ends;
}

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

// dup2 onto the same number would leave the file to be closed.
int above_answers(int file) {
  return file > kAnswerFile ? file : ::fcntl(file, F_DUPFD_CLOEXEC, kAnswerFile + 1);
}

}  // namespace

Worker::Worker(const std::string& argument, const std::string& program) {
  ::signal(SIGPIPE, SIG_IGN);  // a child that has ended is noticed by what it does not answer
  const std::array<int, 2> jobs = make_pipe(), answers = make_pipe();
  int read_jobs = above_answers(jobs[0]), write_answers = above_answers(answers[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, read_jobs, 0);
  ::posix_spawn_file_actions_adddup2(&actions, 2, 1);
  ::posix_spawn_file_actions_adddup2(&actions, write_answers, kAnswerFile);
  std::string name = program, first = argument;
  char* const arguments[] = {name.data(), first.data(), nullptr};
  pid_t pid = -1;
  const int code = ::posix_spawn(&pid, program.c_str(), &actions, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (read_jobs != jobs[0]) ::close(read_jobs);
  if (write_answers != answers[1]) ::close(write_answers);
  ::close(jobs[0]);
  ::close(answers[1]);
  to_ = jobs[1];
  from_ = answers[0];
  if (code != 0) {
    close_pipes();
    throw std::runtime_error(fmt::format("cannot start {}: {}", program, std::strerror(code)));
  }
  pid_ = pid;
}

Worker::Worker(Worker&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      to_(std::exchange(other.to_, -1)),
      from_(std::exchange(other.from_, -1)),
      pending_(std::move(other.pending_)),
      why_(std::move(other.why_)) {}

Worker& Worker::operator=(Worker&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(to_, other.to_);
  std::swap(from_, other.from_);
  std::swap(pending_, other.pending_);
  std::swap(why_, other.why_);
  return *this;
}

Worker::~Worker() {
  end();
  close_pipes();
}

void Worker::close_pipes() {
  close_file(to_);
  close_file(from_);
}

// Kills the child if it runs, and says how it ended.
std::string Worker::end() {
  if (pid_ <= 0) return {};
  int status = 0;
  const bool ended = ::waitpid(pid_, &status, WNOHANG) == pid_;
  if (!ended) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status, 0);
  }
  pid_ = -1;
  if (WIFSIGNALED(status))
    return fmt::format("the process was ended by signal {} ({})", WTERMSIG(status),
                       ::strsignal(WTERMSIG(status)));
  return fmt::format("the process ended with status {}", WEXITSTATUS(status));
}

void Worker::send(const std::string& line) { write_all(to_, line + "\n"); }

std::optional<std::string> Worker::receive(double seconds) {
  const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
  while (true) {
    if (const size_t at = pending_.find('\n'); at != std::string::npos) {
      std::string line = pending_.substr(0, at);
      pending_.erase(0, at + 1);
      return line;
    }
    if (!alive()) return std::nullopt;
    const std::chrono::duration<double, std::milli> left = deadline - Clock::now();
    pollfd wait{from_, POLLIN, 0};
    const int ready = ::poll(&wait, 1, std::max(0, static_cast<int>(left.count())));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      end();
      why_ = fmt::format("no answer within {} s: killed", seconds);
      return std::nullopt;
    }
    std::array<char, 4096> buffer;
    const ssize_t count = ::read(from_, buffer.data(), buffer.size());
    if (count > 0) {
      pending_.append(buffer.data(), static_cast<size_t>(count));
    } else {
      // The pipe closes a moment before the process has ended.
      for (int i = 0; i < 100 && ::kill(pid_, 0) == 0; ++i) {
        siginfo_t info{};
        if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            info.si_pid != 0)
          break;
        ::usleep(10000);
      }
      why_ = end();
      return std::nullopt;
    }
  }
}

void run_jobs(std::span<const std::string> jobs, int count, double seconds,
              const std::string& argument, const std::function<void(size_t, const Answer&)>& done,
              const std::string& program) {
  struct Seat {
    std::optional<Worker> worker;
    size_t job = 0;
    bool busy = false;
    Clock::time_point begun;
  };
  std::vector<Seat> seats(std::min(static_cast<size_t>(std::max(count, 1)), jobs.size()));
  size_t next = 0, answered = 0;
  const auto finish = [&](Seat& seat, const Answer& answer) {
    seat.busy = false;
    ++answered;
    done(seat.job, answer);
  };
  while (answered < jobs.size()) {
    for (Seat& seat : seats) {
      if (seat.busy || next == jobs.size()) continue;
      if (!seat.worker || !seat.worker->alive()) seat.worker.emplace(argument, program);
      seat.job = next++;
      seat.busy = true;
      seat.begun = Clock::now();
      seat.worker->send(jobs[seat.job]);
    }
    std::vector<pollfd> waits;
    for (const Seat& seat : seats)
      waits.push_back({seat.busy ? seat.worker->answers() : -1, POLLIN, 0});
    ::poll(waits.data(), waits.size(), 100);
    for (size_t i = 0; i < seats.size(); ++i) {
      Seat& seat = seats[i];
      if (!seat.busy) continue;
      const std::chrono::duration<double> taken = Clock::now() - seat.begun;
      if (waits[i].revents == 0 && taken.count() < seconds) continue;
      const bool late = waits[i].revents == 0;
      // What is there is a whole line, or its end is on the way.
      const auto line = seat.worker->receive(late ? 0 : seconds);
      const std::string why =
          late ? fmt::format("no answer within {} s: killed", seconds) : seat.worker->why();
      finish(seat, line ? Answer{*line, ""} : Answer{"", why});
    }
  }
}

void serve(
    const std::function<void(const std::string& job,
                             const std::function<void(const std::string&)>& write)>& answer) {
  for (std::string job; std::getline(std::cin, job);)
    answer(job, [](const std::string& line) { write_all(kAnswerFile, line + "\n"); });
}

}  // namespace tilewright::bench
