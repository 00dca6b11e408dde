#include "bench/worker.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <vector>

namespace tilewright::bench {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

std::optional<std::string> Worker::receive(double seconds) {
  std::optional<std::string> line = child_.receive(seconds, [](std::string_view received) {
    const size_t at = received.find('\n');
    return at == std::string_view::npos ? 0 : at + 1;
  });
  if (line) line->pop_back();
  return line;
}

void run_jobs(std::span<const std::string> jobs, int count, double seconds, const Command& command,
              const std::function<void(size_t, const Answer&)>& done) {
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
      if (!seat.worker || !seat.worker->alive()) seat.worker.emplace(command);
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
    answer(job, [](const std::string& line) { tune::write_all(tune::kChildSocket, line + "\n"); });
}

}  // namespace tilewright::bench
