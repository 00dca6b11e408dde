#include "tilewright/runtime/emulator_prelude_atomics.h"

#include <fmt/format.h>

#include "tilewright/codegen/prelude_atomics.h"

namespace tilewright::runtime {
namespace {

using codegen::AtomicForm;

bool is_16_bits(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

/// What an element `old` becomes, by the PTX ISA: atom; sums of integers wrap, those of 16-bit
/// floats are rounded once. Minima and maxima of floats are the language's.
std::string next_of(const AtomicForm& form) {
  const std::string dtype(to_string(form.dtype));
  if (form.name == "exchange" || form.name == "cas") return "value";
  if (form.name == "and") return "old & value";
  if (form.name == "or") return "old | value";
  if (form.name == "xor") return "old ^ value";
  if (form.name == "add") {
    if (is_16_bits(form.dtype)) return fmt::format("to_{}(to_float(old) + to_float(value))", dtype);
    if (form.dtype == DType::i32) return "(int)((unsigned)old + (unsigned)value)";
    if (form.dtype == DType::i64)
      return "(long long)((unsigned long long)old + (unsigned long long)value)";
    return "old + value";
  }
  if (is_16_bits(form.dtype))
    return fmt::format("to_{}({}(to_float(old), to_float(value)))", dtype, form.name);
  if (form.dtype == DType::f64) return fmt::format("{}_double(old, value)", form.name);
  return fmt::format("{}(old, value)", form.dtype == DType::f32 ? form.name : "::" + form.name);
}

/// The flags of an order, as the host prelude names them.
std::string_view order_of(const AtomicForm& form) {
  if (form.order == "release") return "tw_releases";
  if (form.order == "acquire") return "tw_acquires";
  return form.order == "acq_rel" ? "tw_releases | tw_acquires" : "0";
}

}  // namespace

std::string_view atomic_hook_calls() {
  return R"(
enum { tw_releases = 8, tw_acquires = 16 };
TW_PLAIN void tw_emu_acquire(const void* at) { tw_hooks.access(at, 1, tw_acquires, TW_HERE); }
TW_PLAIN unsigned long tw_emu_atomic_read(const void* at, unsigned bytes, int order) {
  tw_hooks.access(at, bytes, 5 | (order & tw_releases), TW_HERE);
  if (bytes == 8) return __atomic_load_n((const unsigned long*)at, __ATOMIC_SEQ_CST);
  if (bytes == 4) return __atomic_load_n((const unsigned*)at, __ATOMIC_SEQ_CST);
  return __atomic_load_n((const unsigned short*)at, __ATOMIC_SEQ_CST);
}
struct TwSwap { unsigned long seen; bool done; };
TW_PLAIN TwSwap tw_emu_atomic_swap(void* at, unsigned long seen, unsigned long next, unsigned bytes) {
  TwSwap swap = {seen, false};
  if (bytes == 8) {
    swap.done = __atomic_compare_exchange_n((unsigned long*)at, &swap.seen, next, false,
                                            __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  } else if (bytes == 4) {
    unsigned word = (unsigned)seen;
    swap.done = __atomic_compare_exchange_n((unsigned*)at, &word, (unsigned)next, false,
                                            __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    swap.seen = word;
  } else {
    unsigned short word = (unsigned short)seen;
    swap.done = __atomic_compare_exchange_n((unsigned short*)at, &word, (unsigned short)next,
                                            false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    swap.seen = word;
  }
  return swap;
}
template <class T, class F> inline T tw_atomic(T* at, int order, F update) {
  unsigned long bits = tw_emu_atomic_read(at, sizeof(T), order);
  T old;
  for (;;) {
    __builtin_memcpy(&old, &bits, sizeof(T));
    bool changes = true;
    const T next = update(old, changes);
    if (!changes) break;
    unsigned long next_bits = 0;
    __builtin_memcpy(&next_bits, &next, sizeof(T));
    const TwSwap swap = tw_emu_atomic_swap(at, bits, next_bits, sizeof(T));
    if (swap.done) break;
    bits = swap.seen;
  }
  if (order & tw_acquires) tw_emu_acquire(at);
  return old;
}
)";
}

std::string atomic_twin(std::string_view helper) {
  const auto form = codegen::parse_atomic(helper);
  if (!form) return {};
  const std::string type = codegen::cuda_type(form->dtype);
  if (form->count > 1)
    return fmt::format(R"(inline void {}({}* at, const {}* values) {{
  for (int i = 0; i < {}; ++i) {{
    const {} value = values[i];
    tw_atomic(at + i, {}, [&]({} old, bool&) {{ return {}; }});
  }}
}}
)",
                       helper, type, type, form->count, type, order_of(*form), type,
                       next_of(*form));
  const bool cas = form->name == "cas";
  const std::string same =
      cas ? fmt::format(" changes = __builtin_memcmp(&old, &expected, {}) == 0;",
                        size_of(form->dtype))
          : "";
  return fmt::format(R"(inline {} {}({}* at, {}{} value) {{
  {}tw_atomic(at, {}, [&]({} old, bool& changes) -> {} {{{} return {}; }});
}}
)",
                     form->gives ? type : "void", helper, type, cas ? type + " expected, " : "",
                     type, form->gives ? "return " : "", order_of(*form), type, type,
                     cas ? same : " (void)changes;", next_of(*form));
}

}  // namespace tilewright::runtime
