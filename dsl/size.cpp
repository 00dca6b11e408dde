#include "tilewright/dsl/size.h"

#include "tilewright/dsl/trace.h"

namespace tilewright::dsl {

bool SizeTest::raise_unknown() const {
  Trace& trace = Trace::current("a dynamic size", Loc{});
  raise(ErrorId::dynamic_size, trace.last_loc(), trace.text_of(number_, trace_),
        "a condition as a plain bool");
}

Size computed(ir::Fn fn, Size x, Size y) {
  Trace& trace = Trace::current("a dynamic size", Loc{});
  return Size(trace.compute(fn, x, y), trace.number());
}

SizeTest compared(ir::Fn fn, Size x, Size y) {
  Trace& trace = Trace::current("a dynamic size", Loc{});
  return SizeTest(trace.compute(fn, x, y), trace.number());
}

std::string text_of(Size size) {
  if (!size.dynamic()) return fmt::format("{}", size.value());
  return Trace::current("a dynamic size", Loc{}).text_of(size.number(), size.trace());
}

int64_t known_size(Size size, std::string_view what, Loc loc) {
  if (!size.dynamic()) return size.value();
  Trace& trace = Trace::current("a dynamic size", loc);
  raise(ErrorId::dynamic_size, loc.known() ? loc : trace.last_loc(), text_of(size), what);
}

void check_at_launch(SizeTest condition, std::string message, Loc loc) {
  Trace::current("tw::check", loc).add_check(condition, std::move(message), loc);
}

}  // namespace tilewright::dsl
