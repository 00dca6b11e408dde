#include "tilewright/runtime/emulator_clock.h"

#include <algorithm>

namespace tilewright::runtime {
namespace {

constexpr size_t kJoins = 8;

void raise_to(std::vector<Clock>& clocks, const std::vector<Clock>& others) {
  if (clocks.size() < others.size()) clocks.resize(others.size());
  for (size_t i = 0; i < others.size(); ++i) clocks[i] = std::max(clocks[i], others[i]);
}

void raise_to(std::vector<Clock>& clocks, size_t agent, Clock when) {
  if (clocks.size() <= agent) clocks.resize(agent + 1);
  clocks[agent] = std::max(clocks[agent], when);
}

void lower_to(std::vector<Clock>& clocks, const std::vector<Clock>& others) {
  if (clocks.size() > others.size()) clocks.resize(others.size());
  for (size_t i = 0; i < clocks.size(); ++i) clocks[i] = std::min(clocks[i], others[i]);
}

}  // namespace

void Gathering::add(const View& view) {
  if (view.known != last_) {
    raise_to(sum_.seen, view.known->seen);
    raise_to(sum_.fenced, view.known->fenced);
    last_ = view.known;
  }
  if (view.self < 0) return;
  raise_to(sum_.seen, static_cast<size_t>(view.self), view.own);
  raise_to(sum_.fenced, static_cast<size_t>(view.self), view.own_fenced);
}

void Gathering::add(int agent, Clock when) {
  raise_to(sum_.seen, static_cast<size_t>(agent), when);
}

void Clocks::reset(int threads) {
  threads_.assign(static_cast<size_t>(threads), {std::make_shared<Knowledge>()});
  agents_ = threads;
  joins_.clear();
  next_join_ = 0;
}

View Clocks::view(int thread) const {
  const ThreadClock& clock = threads_[static_cast<size_t>(thread)];
  return {clock.known.get(), thread, clock.own, clock.own_fenced};
}

void Clocks::release(int thread, Gathering& into) {
  ThreadClock& clock = threads_[static_cast<size_t>(thread)];
  into.add(view(thread));
  into.keep_ = clock.known;  // so that last_ stays its address
  ++clock.own;
}

void Clocks::acquire(int thread, const KnowledgeRef& from) {
  ThreadClock& clock = threads_[static_cast<size_t>(thread)];
  if (from != nullptr) clock.known = join(clock.known, from);
}

void Clocks::fence(int thread) {
  ThreadClock& clock = threads_[static_cast<size_t>(thread)];
  // What was seen is fenced: a join with that, so that threads that share it go on doing so.
  for (const Join& join : joins_)
    if (join.a == clock.known && join.b == nullptr) {
      clock.known = join.result;
      clock.own_fenced = clock.own++;
      return;
    }
  auto fenced = std::make_shared<Knowledge>(*clock.known);
  fenced->fenced = fenced->seen;
  if (joins_.size() < kJoins) joins_.resize(kJoins);
  joins_[next_join_++ % kJoins] = {clock.known, nullptr, fenced};
  clock.known = std::move(fenced);
  clock.own_fenced = clock.own++;
}

KnowledgeRef Clocks::join(const KnowledgeRef& a, const KnowledgeRef& b) {
  if (a == b) return a;
  for (const Join& join : joins_)
    if (join.a == a && join.b == b) return join.result;
  auto made = std::make_shared<Knowledge>(*a);
  raise_to(made->seen, b->seen);
  raise_to(made->fenced, b->fenced);
  if (joins_.size() < kJoins) joins_.resize(kJoins);
  joins_[next_join_++ % kJoins] = {a, b, made};
  return made;
}

View Clocks::common(std::span<const int> threads, Knowledge& storage) const {
  const Knowledge* last = nullptr;
  for (const int thread : threads) {
    const Knowledge* known = threads_[static_cast<size_t>(thread)].known.get();
    if (last == nullptr) {
      storage = *known;
    } else if (known != last) {
      lower_to(storage.seen, known->seen);
      lower_to(storage.fenced, known->fenced);
    }
    last = known;
  }
  return {&storage};
}

}  // namespace tilewright::runtime
