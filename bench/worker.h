// Child processes that do what may crash or hang: each is this program again, which reads jobs and
// writes answers as lines of text.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

namespace tilewright::bench {

/// Where a child writes its answers; its standard output goes where the errors go.
inline constexpr int kAnswerFile = 3;

/// One child process, killed when this is destroyed. Move-only. Throws std::runtime_error when none
/// can be started.
class Worker {
 public:
  /// Starts this program with one argument; another `program` for tests.
  explicit Worker(const std::string& argument, const std::string& program = "/proc/self/exe");
  Worker(Worker&& other) noexcept;
  Worker& operator=(Worker&& other) noexcept;
  ~Worker();

  /// Hands over a job: a line. A child that has ended shows at the next receive().
  void send(const std::string& line);
  /// The next line of an answer. Nothing after `seconds` without one, or when the child has ended:
  /// why() tells. The child is then killed.
  std::optional<std::string> receive(double seconds);
  const std::string& why() const { return why_; }
  bool alive() const { return pid_ > 0; }
  int answers() const { return from_; }

 private:
  void close_pipes();
  std::string end();

  int pid_ = -1, to_ = -1, from_ = -1;
  std::string pending_, why_;
};

/// What became of a job: a line, or a problem.
struct Answer {
  std::string line, problem;
};

/// Hands jobs to `count` children and calls `done` with the job's position as each is answered. A
/// child that ends, or needs more than `seconds` for a job, costs only that job.
void run_jobs(std::span<const std::string> jobs, int count, double seconds,
              const std::string& argument, const std::function<void(size_t, const Answer&)>& done,
              const std::string& program = "/proc/self/exe");

/// What a child does: answers each line of the standard input until it ends. `answer` gets the job
/// and may write several lines.
void serve(const std::function<void(const std::string& job,
                                    const std::function<void(const std::string&)>& write)>& answer);

}  // namespace tilewright::bench
