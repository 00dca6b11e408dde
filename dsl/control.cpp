#include "tilewright/dsl/control.h"

#include "tilewright/dsl/trace.h"
#include "tilewright/ir/error.h"

namespace tilewright::dsl {
namespace {

/// Closes a region also when the branch throws, which is an error if the trace goes on.
class OpenRegion {
 public:
  OpenRegion(Trace& trace, ir::Region* region, Loc loc) : trace_(trace), loc_(loc) {
    trace.open_region(region, loc);
  }
  ~OpenRegion() {
    trace_.close_regions(1);
    if (!complete) trace_.note_left_early(loc_);
  }
  OpenRegion(const OpenRegion&) = delete;
  OpenRegion& operator=(const OpenRegion&) = delete;

  bool complete = false;

 private:
  Trace& trace_;
  Loc loc_;
};

/// Runs a branch as often as a loop's body, for the same reason: to find host state it changes.
void trace_branch(Trace& trace, ir::Region* region, const std::function<void()>& body, Loc loc) {
  OpenRegion open(trace, region, loc);
  for (int run = 0; run < trace.body_runs(); ++run) {
    if (run > 0) trace.restart_body();
    body();
    trace.at(loc);  // raises when a loop in the branch was left early
  }
  open.complete = true;
}

}  // namespace

void branch(const Operand& condition, const std::function<void()>& then,
            const std::function<void()>& otherwise, Loc loc) {
  Trace& trace = Trace::current("tw::if_", loc);
  if (condition.value() == nullptr) {
    const bool* chosen = std::get_if<bool>(&condition.literal());
    if (chosen == nullptr)
      raise(ErrorId::not_a_scalar, loc, "the condition of tw::if_", "bool", "a C++ number");
    if (*chosen)
      then();
    else if (otherwise)
      otherwise();
    return;
  }
  const ir::Type& type = condition.value()->type;
  if (type != ir::Type::scalar(DType::boolean))
    raise(ErrorId::not_a_scalar, loc, "the condition of tw::if_", "bool",
          describe(type) + "; tw::where chooses per element");
  ir::Builder& builder = trace.in_loop("tw::if_", loc);
  ir::Op* op = builder.if_else(condition.value(), {});
  trace_branch(trace, ir::Builder::region_of(op, 0), then, loc);
  if (otherwise) trace_branch(trace, ir::Builder::region_of(op, 1), otherwise, loc);
}

void repeat(const std::function<Operand()>& condition, const std::function<void()>& body, Loc loc) {
  Trace& trace = Trace::current("tw::while_", loc);
  trace.in_loop("tw::while_", loc);
  const auto evaluate = [&] {
    const Trace::Mark before = trace.mark();
    const Operand value = condition();
    trace.expect_unassigned(before, loc);
    const ir::Value* scalar = value.value();
    if (scalar == nullptr || scalar->type != ir::Type::scalar(DType::boolean))
      raise(ErrorId::not_a_scalar, loc, "the condition of tw::while_", "bool",
            scalar == nullptr ? "a C++ number" : describe(scalar->type));
    return scalar;
  };
  const ir::Value* first = evaluate();
  ir::Op* op = trace.at(loc).while_loop(first, {});
  OpenRegion open(trace, ir::Builder::region_of(op, 0), loc);
  for (int run = 0; run < trace.body_runs(); ++run) {
    if (run > 0) trace.restart_body();
    body();
    trace.at(loc);  // raises when a loop in the body was left early
    const ir::Value* again = evaluate();
    trace.at(loc).yield({again});
  }
  open.complete = true;
}

}  // namespace tilewright::dsl

namespace tilewright {

void barrier(Loc loc) { dsl::Trace::current("tw::barrier", loc).barrier(loc); }

}  // namespace tilewright
