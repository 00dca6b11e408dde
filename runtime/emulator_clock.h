// Which actions of a cluster's threads and asynchronous units are ordered (vector clocks).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tilewright::runtime {

/// Counts what an agent did. Agents are numbered: a cluster's threads, then asynchronous units.
using Clock = uint32_t;

inline Clock clock_of(const std::vector<Clock>& clocks, size_t agent) {
  return agent < clocks.size() ? clocks[agent] : 0;
}

/// Until which moment the actions of each agent are known.
struct Knowledge {
  std::vector<Clock> seen = {};  ///< they happened before
  std::vector<Clock> fenced =
      {};  ///< and a proxy fence lets asynchronous units see what they wrote
};
using KnowledgeRef = std::shared_ptr<const Knowledge>;

/// What a thread knows at some moment, its own actions included.
struct View {
  const Knowledge* known = nullptr;
  int self = -1;  ///< -1: no thread's, `known` is all
  Clock own = 0, own_fenced = 0;

  bool sees(int agent, Clock when) const {
    return agent == self || clock_of(known->seen, static_cast<size_t>(agent)) >= when;
  }
  bool fenced(int agent, Clock when) const {
    return (agent == self ? own_fenced : clock_of(known->fenced, static_cast<size_t>(agent))) >=
           when;
  }
};

/// Knowledge of several threads together, as it gathers at a barrier.
class Gathering {
 public:
  void add(const View& view);
  /// An asynchronous unit's actions until `when`.
  void add(int agent, Clock when);
  bool sees(int agent, Clock when) const {
    return clock_of(sum_.seen, static_cast<size_t>(agent)) >= when;
  }
  KnowledgeRef result() const { return std::make_shared<Knowledge>(sum_); }
  void clear() { *this = {}; }

 private:
  Knowledge sum_;
  const Knowledge* last_ = nullptr;  // what was added last; threads mostly share it
  KnowledgeRef keep_;

  friend class Clocks;
};

/// The clocks of all agents of a cluster.
class Clocks {
 public:
  /// Forgets everything; `threads` agents.
  void reset(int threads);
  int add_agent() { return agents_++; }

  Clock now(int thread) const { return threads_[static_cast<size_t>(thread)].own; }
  View view(int thread) const;
  /// Lets `into` know all that the thread did until now.
  void release(int thread, Gathering& into);
  /// The thread knows what `from` knows from now on.
  void acquire(int thread, const KnowledgeRef& from);
  /// A proxy fence by the thread, for everything that it knows.
  void fence(int thread);
  /// What every one of these threads knows; `storage` holds it.
  View common(std::span<const int> threads, Knowledge& storage) const;

 private:
  struct ThreadClock {
    KnowledgeRef known;
    Clock own = 1, own_fenced = 0;
  };
  struct Join {
    KnowledgeRef a, b, result;
  };

  KnowledgeRef join(const KnowledgeRef& a, const KnowledgeRef& b);

  std::vector<ThreadClock> threads_;
  int agents_ = 0;
  std::vector<Join> joins_;  // the latest
  size_t next_join_ = 0;
};

}  // namespace tilewright::runtime
