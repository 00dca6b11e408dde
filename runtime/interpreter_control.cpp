// Loops, conditionals, roles, and the spreading of a grid over threads.
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "tilewright/ir/builder.h"
#include "tilewright/ir/error.h"
#include "tilewright/runtime/interpreter_frame.h"
#include "tilewright/runtime/interpreter_overlap.h"

namespace tilewright::interpreter {
namespace {

using ir::AttrKey;

/// The iterations of a loop over some axes, numbered with the last axis fastest.
struct Iterations {
  std::vector<int64_t> begins, limits, blocks, counts;
  int64_t total = 1;

  Iterations(const Step& step, const Frame& frame) {
    const auto& axes = step.op->integers(AttrKey::axes);
    for (size_t d = 0; d < axes.size(); ++d) {
      begins.push_back(frame.integer(step, d));
      limits.push_back(frame.integer(step, axes.size() + d));
      blocks.push_back(frame.program->blocks.at(axes[d]));
      const int64_t length = std::max<int64_t>(limits[d] - begins[d], 0);
      counts.push_back(length / blocks[d] + (length % blocks[d] != 0));
      total *= counts[d];
    }
  }

  size_t rank() const { return begins.size(); }

  /// Sets the slice arguments of a region to those of iteration `i`.
  void enter(const Block& region, int64_t i, Frame& frame) const {
    for (size_t d = rank(); d-- > 0; i /= counts[d]) {
      const int64_t id = i % counts[d];
      frame.cells[region.args[d]].slice = {begins[d] + id * blocks[d], limits[d], blocks[d], id};
    }
  }
};

/// Whether the order of programs can be seen: in results, or in what is printed.
bool shows_order(const ir::Op& loop) {
  bool found = false;
  ir::for_each_op(*loop.regions.at(0), [&](const ir::Op& op) {
    found |= ir::is_atomic(op.kind) || op.kind == ir::OpKind::print;
  });
  return found;
}

/// Runs programs of a grid until none is left; one worker of several.
class Grid {
 public:
  Grid(const Step& step, Frame& frame)
      : step_(step), outer_(frame), iterations_(step, frame), limit_(iterations_.total) {}

  void run() {
    if (limit_ == 0) return;
    if (outer_.options->check_overlap && limit_ > 1)
      overlap_.emplace(step_, outer_, iterations_.counts);
    int64_t threads = outer_.options->threads;
    if (threads <= 0) threads = std::max(1u, std::thread::hardware_concurrency());
    threads = std::min(threads, limit_);
    if (shows_order(*step_.op)) threads = 1;  // programs one after the other: results are the same
    chunk_ = std::max<int64_t>(1, limit_ / (threads * 8));
    {
      std::vector<std::jthread> workers;
      for (int64_t t = 1; t < threads; ++t) workers.emplace_back([this] { work(); });
      work();
    }
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void work() {
    try {
      Frame frame = outer_;
      frame.in_grid = true;
      frame.overlap = overlap_ ? &*overlap_ : nullptr;
      const Block& body = step_.regions[0];
      while (!stopped_) {
        const int64_t first = next_.fetch_add(chunk_);
        if (first >= limit_) return;
        for (int64_t i = first; i < std::min(first + chunk_, limit_) && !stopped_; ++i) {
          frame.program_id = i;
          frame.repetitions = 0;
          iterations_.enter(body, i, frame);
          run_block(body, frame);
        }
      }
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      if (!error_) error_ = std::current_exception();
      stopped_ = true;
    }
  }

  const Step& step_;
  const Frame& outer_;
  const Iterations iterations_;
  const int64_t limit_;
  int64_t chunk_ = 1;
  std::optional<OverlapCheck> overlap_;
  std::atomic<int64_t> next_ = 0;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::exception_ptr error_;
};

/// The part of a loop that runs some iterations before the body.
class Fill {
 public:
  Fill(const Step& step, const Iterations& iterations, Frame& frame)
      : fill_(step.regions[1]),
        ahead_(step.op->integer_or(AttrKey::ahead, 0)),
        iterations_(iterations),
        frame_(frame) {
    if (absent()) return;
    if (fill_.args.size() != iterations.rank()) fail(step, "fill takes one slice per axis");
    for (int64_t i = 0; i < ahead_; ++i) run(i);
  }

  void before_body(int64_t i) {
    if (!absent()) run(i + ahead_);
  }

 private:
  bool absent() const { return fill_.steps.empty(); }

  void run(int64_t i) {
    if (i < iterations_.total) {
      iterations_.enter(fill_, i, frame_);
      run_block(fill_, frame_);
      return;
    }
    for (const Step& step : fill_.steps)
      if (step.op->kind == ir::OpKind::ring_commit) step.run(step, frame_);
  }

  const Block& fill_;
  const int64_t ahead_;
  const Iterations& iterations_;
  Frame& frame_;
};

void run_sequential(const Step& step, Frame& frame) {
  const Iterations iterations(step, frame);
  const size_t rank = iterations.rank();
  const Block& body = step.regions[0];
  const std::vector<int> carried(body.args.begin() + rank, body.args.end());
  assign(frame, {step.in.begin() + 2 * rank, step.in.end()}, carried);
  if (iterations.total > 0) {
    Fill fill(step, iterations, frame);
    for (int64_t i = 0; i < iterations.total; ++i) {
      fill.before_body(i);
      iterations.enter(body, i, frame);
      run_block(body, frame);
      assign(frame, body.yields, carried);
    }
  }
  assign(frame, carried, step.out);
}

}  // namespace

void assign(Frame& frame, const std::vector<int>& from, const std::vector<int>& to) {
  internal_check(from.size() == to.size(), "a region yields another number of values");
  if (from.size() == 1) {
    frame.cells[to[0]] = frame.cells[from[0]];
    return;
  }
  std::vector<Cell> values;
  values.reserve(from.size());
  for (int slot : from) values.push_back(frame.cells[slot]);
  for (size_t i = 0; i < to.size(); ++i) frame.cells[to[i]] = std::move(values[i]);
}

void run_tile_loop(const Step& step, Frame& frame) {
  const bool parallel = step.op->integer_or(AttrKey::parallel, 0) != 0;
  if (!parallel || frame.in_grid) return run_sequential(step, frame);
  if (!step.out.empty()) fail(step, "a grid carries no values");
  if (!step.regions[1].steps.empty()) fail(step, "a grid has no fill region");
  Grid(step, frame).run();
}

void run_if_else(const Step& step, Frame& frame) {
  const Block& taken = step.regions[frame.integer(step, 0) != 0 ? 0 : 1];
  run_block(taken, frame);
  assign(frame, taken.yields, step.out);
}

void run_while_loop(const Step& step, Frame& frame) {
  const Block& body = step.regions[0];
  assign(frame, {step.in.begin() + 1, step.in.end()}, body.args);
  bool again = frame.integer(step, 0) != 0;
  while (again) {
    if (++frame.repetitions > frame.options->max_steps)
      raise(ErrorId::endless_loop, step.op->loc, frame.options->max_steps);
    run_block(body, frame);
    again = *static_cast<const int64_t*>(frame.cells[body.yields.at(0)].tile->data());
    assign(frame, {body.yields.begin() + 1, body.yields.end()}, body.args);
  }
  assign(frame, body.args, step.out);
}

// Grids are steps of the function: the next one begins when all programs of this one are over.
void run_grid_barrier(const Step&, Frame&) {}

void run_role(const Step& step, Frame& frame) { run_block(step.regions[0], frame); }

void run_yield(const Step& step, Frame&) { fail(step, "a yield does not close its region"); }

}  // namespace tilewright::interpreter
