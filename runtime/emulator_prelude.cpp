#include "tilewright/runtime/emulator_prelude.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tilewright/codegen/prelude_atomics.h"
#include "tilewright/codegen/prelude_wgmma.h"
#include "tilewright/ir/error.h"
#include "tilewright/runtime/emulator_prelude_atomics.h"
#include "tilewright/runtime/emulator_prelude_debug.h"
#include "tilewright/runtime/emulator_prelude_grid.h"
#include "tilewright/runtime/emulator_prelude_hopper.h"
#include "tilewright/runtime/emulator_prelude_mma.h"

namespace tilewright::runtime {
namespace {

// CUDA's keywords, and the hooks. Functions marked TW_PLAIN are not instrumented, so that each
// access is seen once; they stay functions, whose return address tells the statement.
constexpr std::string_view kKeywords = R"(
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__ __restrict
#define __align__(n) alignas(n)
#ifdef __clang__  // which instruments atomics in spite of no_sanitize
#define TW_UNSEEN disable_sanitizer_instrumentation
#else
#define TW_UNSEEN no_sanitize("thread")
#endif
#define TW_PLAIN extern "C" __attribute__((noinline, visibility("hidden"), TW_UNSEEN))
#define TW_CONSTANT extern "C" __attribute__((const, noinline, visibility("hidden"), TW_UNSEEN))
#define TW_HERE __builtin_return_address(0)
struct TwDim3 { unsigned x, y, z; };
struct TwOperand { unsigned long long descriptor; const unsigned* words; int swizzle, k_first; };
struct TwProduct { void* sums; int n, k, type_a, type_b, accumulate; TwOperand a, b; };
struct TwHooks {
  void (*access)(const void*, unsigned long, int, const void*);
  unsigned char* (*shared)();
  TwDim3 (*thread)();
  TwDim3 (*block)();
  void (*barrier)(int, const void*);
  unsigned (*shuffle)(unsigned, int, int, const void*);
  void (*copy_async)(void*, const void*, int, int, const void*);
  void (*copy_async_commit)();
  void (*copy_async_wait)(int, const void*);
  float (*f16_to_float)(unsigned short);
  unsigned short (*float_to_f16)(float);
)";

constexpr std::string_view kHookCalls = R"(};
extern "C" { __attribute__((visibility("default"))) TwHooks tw_hooks; }
struct TwWords { unsigned long low, high; };
TW_PLAIN TwWords tw_emu_load(const void* from, unsigned bytes) {
  tw_hooks.access(from, bytes, 0, TW_HERE);
  TwWords words = {0, 0};
  if (bytes == 16) __builtin_memcpy(&words, from, 16);
  else if (bytes == 8) __builtin_memcpy(&words, from, 8);
  else if (bytes == 4) __builtin_memcpy(&words, from, 4);
  else if (bytes == 2) __builtin_memcpy(&words, from, 2);
  else __builtin_memcpy(&words, from, 1);
  return words;
}
TW_PLAIN void tw_emu_store(void* to, TwWords words, unsigned bytes) {
  tw_hooks.access(to, bytes, 1, TW_HERE);
  if (bytes == 16) __builtin_memcpy(to, &words, 16);
  else if (bytes == 8) __builtin_memcpy(to, &words, 8);
  else if (bytes == 4) __builtin_memcpy(to, &words, 4);
  else if (bytes == 2) __builtin_memcpy(to, &words, 2);
  else __builtin_memcpy(to, &words, 1);
}
TW_PLAIN void tw_emu_copy(void* to, const void* from, int bytes, int read) {
  tw_hooks.copy_async(to, from, bytes, read, TW_HERE);
}
TW_PLAIN void tw_emu_commit() { tw_hooks.copy_async_commit(); }
TW_PLAIN void tw_emu_wait(int pending) { tw_hooks.copy_async_wait(pending, TW_HERE); }
TW_PLAIN void tw_emu_barrier(int line) { tw_hooks.barrier(line, TW_HERE); }
TW_PLAIN unsigned tw_emu_shuffle(unsigned word, int lane, int exclusive_or) {
  return tw_hooks.shuffle(word, lane, exclusive_or, TW_HERE);
}
TW_PLAIN float tw_emu_f16_to_float(unsigned short bits) { return tw_hooks.f16_to_float(bits); }
TW_PLAIN unsigned short tw_emu_to_f16(float x) { return tw_hooks.float_to_f16(x); }
TW_CONSTANT unsigned char* tw_emu_shared() { return tw_hooks.shared(); }
TW_CONSTANT TwDim3 tw_emu_thread() { return tw_hooks.thread(); }
TW_CONSTANT TwDim3 tw_emu_block() { return tw_hooks.block(); }
#define threadIdx (tw_emu_thread())
#define blockIdx (tw_emu_block())
#define __syncthreads() tw_emu_barrier(__LINE__)
#define __shfl_xor_sync(mask, word, distance) tw_emu_shuffle(word, distance, 1)
#define __shfl_sync(mask, word, lane) tw_emu_shuffle(word, lane, 0)
)";

// What -fsanitize=thread makes of every access to memory.
constexpr std::string_view kInstrumentation = R"(
#if defined(__SANITIZE_THREAD__) || defined(TW_INSTRUMENTED)
#define TW_ACCESS(n)                                                                          \
  TW_PLAIN void __tsan_read##n(void* p) { tw_hooks.access(p, n, 0, TW_HERE); }                \
  TW_PLAIN void __tsan_write##n(void* p) { tw_hooks.access(p, n, 1, TW_HERE); }               \
  TW_PLAIN void __tsan_unaligned_read##n(void* p) { tw_hooks.access(p, n, 2, TW_HERE); }      \
  TW_PLAIN void __tsan_unaligned_write##n(void* p) { tw_hooks.access(p, n, 3, TW_HERE); }     \
  TW_PLAIN void __tsan_volatile_read##n(void* p) { tw_hooks.access(p, n, 0, TW_HERE); }       \
  TW_PLAIN void __tsan_volatile_write##n(void* p) { tw_hooks.access(p, n, 1, TW_HERE); }      \
  TW_PLAIN void __tsan_read_write##n(void* p) { tw_hooks.access(p, n, 1, TW_HERE); }
TW_ACCESS(1) TW_ACCESS(2) TW_ACCESS(4) TW_ACCESS(8) TW_ACCESS(16)
TW_PLAIN void __tsan_read_range(void* p, unsigned long n) { tw_hooks.access(p, n, 2, TW_HERE); }
TW_PLAIN void __tsan_write_range(void* p, unsigned long n) { tw_hooks.access(p, n, 3, TW_HERE); }
TW_PLAIN void* __tsan_memset(void* p, int value, unsigned long n) {
  tw_hooks.access(p, n, 3, TW_HERE);
  return __builtin_memset(p, value, n);
}
TW_PLAIN void* __tsan_memcpy(void* p, const void* from, unsigned long n) {
  tw_hooks.access(from, n, 2, TW_HERE);
  tw_hooks.access(p, n, 3, TW_HERE);
  return __builtin_memcpy(p, from, n);
}
TW_PLAIN void __tsan_init() {}
TW_PLAIN void __tsan_func_entry(void*) {}
TW_PLAIN void __tsan_func_exit(void*) {}
#endif
)";

// Built-in functions. Single-precision transcendentals are made in double and rounded, as the
// interpreter does; directed rounding corrects a result rounded to nearest.
constexpr std::string_view kBuiltins = R"(
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
#define memcpy __builtin_memcpy
template <class To, class From> inline To tw_bits(From x) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, x);
}
inline float __uint_as_float(unsigned x) { return tw_bits<float>(x); }
inline unsigned __float_as_uint(float x) { return tw_bits<unsigned>(x); }
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned choice) {
  const unsigned long long bytes = (unsigned long long)y << 32 | x;
  unsigned made = 0;
  for (int i = 0; i < 4; ++i)
    made |= (unsigned)(bytes >> 8 * (choice >> 4 * i & 7) & 0xff) << 8 * i;
  return made;
}
inline double __longlong_as_double(long long x) { return tw_bits<double>(x); }
inline long long __double_as_longlong(double x) { return tw_bits<long long>(x); }
inline float tw_next(float x, bool up) {
  if (x == 0) return tw_bits<float>(up ? 1u : 0x80000001u);
  return tw_bits<float>(tw_bits<unsigned>(x) + ((x > 0) == up ? 1u : -1u));
}
// The float next to `value + rest` in a direction; |rest| is below half a unit of value's last place.
inline float tw_directed(double value, double rest, bool up) {
  const float nearest = (float)value;
  if (value != value) return nearest;
  const bool below = nearest < value || (nearest == value && rest > 0);
  const bool above = nearest > value || (nearest == value && rest < 0);
  return (up && below) || (!up && above) ? tw_next(nearest, up) : nearest;
}
inline float __double2float_rd(double x) { return tw_directed(x, 0, false); }
inline float __double2float_ru(double x) { return tw_directed(x, 0, true); }
inline float __int2float_rd(int x) { return tw_directed(x, 0, false); }
inline float __int2float_ru(int x) { return tw_directed(x, 0, true); }
// A 64-bit integer is the sum of two doubles: its rounded value and what that left out.
inline double tw_rest(long long x, double value) {
  if (value >= 9223372036854775808.0) return (double)(x - 9223372036854775807LL) - 1;
  return (double)(x - (long long)value);
}
inline float __ll2float_rd(long long x) { return tw_directed(x, tw_rest(x, x), false); }
inline float __ll2float_ru(long long x) { return tw_directed(x, tw_rest(x, x), true); }
// The product of floats is exact in double; the sum is split into its rounded value and the rest.
inline float tw_fma_directed(float x, float y, float z, bool up) {
  const double product = (double)x * y, sum = product + z;
  if (sum - sum != 0) return (float)sum;
  if (sum == 0) {
    const bool both = __builtin_signbit(product) && __builtin_signbit(z);
    return !up && (product != 0 || __builtin_signbit(product) || __builtin_signbit(z)) ? -0.0f
           : both                                                                     ? -0.0f
                                                                                      : 0.0f;
  }
  const double part = sum - product, rest = (product - (sum - part)) + (z - part);
  return tw_directed(sum, rest, up);
}
inline float __fmaf_rd(float x, float y, float z) { return tw_fma_directed(x, y, z, false); }
inline float __fmaf_ru(float x, float y, float z) { return tw_fma_directed(x, y, z, true); }
#define TW_UNARY(name)                                                              \
  inline float tw_emu_##name##f(float x) { return (float)__builtin_##name(x); }     \
  inline double tw_emu_##name(double x) { return __builtin_##name(x); }
TW_UNARY(exp) TW_UNARY(exp2) TW_UNARY(log) TW_UNARY(log2) TW_UNARY(sin) TW_UNARY(cos)
TW_UNARY(tanh) TW_UNARY(erf) TW_UNARY(log10) TW_UNARY(log1p) TW_UNARY(expm1) TW_UNARY(tan)
TW_UNARY(asin) TW_UNARY(acos) TW_UNARY(atan) TW_UNARY(sinh) TW_UNARY(cosh)
inline float tw_emu_rsqrtf(float x) { return (float)(1 / __builtin_sqrt(x)); }
inline double tw_emu_rsqrt(double x) { return 1 / __builtin_sqrt(x); }
inline float tw_emu_powf(float x, float y) { return (float)__builtin_pow(x, y); }
inline float tw_emu_atan2f(float y, float x) { return (float)__builtin_atan2(y, x); }
#define expf tw_emu_expf
#define exp tw_emu_exp
#define exp2f tw_emu_exp2f
#define exp2 tw_emu_exp2
#define logf tw_emu_logf
#define log tw_emu_log
#define log2f tw_emu_log2f
#define log2 tw_emu_log2
#define sinf tw_emu_sinf
#define sin tw_emu_sin
#define cosf tw_emu_cosf
#define cos tw_emu_cos
#define tanhf tw_emu_tanhf
#define tanh tw_emu_tanh
#define erff tw_emu_erff
#define erf tw_emu_erf
#define log10f tw_emu_log10f
#define log10 tw_emu_log10
#define log1pf tw_emu_log1pf
#define log1p tw_emu_log1p
#define expm1f tw_emu_expm1f
#define expm1 tw_emu_expm1
#define tanf tw_emu_tanf
#define tan tw_emu_tan
#define asinf tw_emu_asinf
#define asin tw_emu_asin
#define acosf tw_emu_acosf
#define acos tw_emu_acos
#define atanf tw_emu_atanf
#define atan tw_emu_atan
#define sinhf tw_emu_sinhf
#define sinh tw_emu_sinh
#define coshf tw_emu_coshf
#define cosh tw_emu_cosh
#define rsqrtf tw_emu_rsqrtf
#define rsqrt tw_emu_rsqrt
#define powf tw_emu_powf
#define pow __builtin_pow
#define atan2f tw_emu_atan2f
#define atan2 __builtin_atan2
#define sqrtf __builtin_sqrtf
#define sqrt __builtin_sqrt
#define fabsf __builtin_fabsf
#define fabs __builtin_fabs
#define floorf __builtin_floorf
#define floor __builtin_floor
#define ceilf __builtin_ceilf
#define ceil __builtin_ceil
#define rintf __builtin_rintf
#define rint __builtin_rint
#define truncf __builtin_truncf
#define trunc __builtin_trunc
#define fmodf __builtin_fmodf
#define fmod __builtin_fmod
#define fmaf __builtin_fmaf
#define fma __builtin_fma
#define TW_EXTREMA(T)                                                 \
  inline T min(T x, T y) { return y < x ? y : x; }                    \
  inline T max(T x, T y) { return x < y ? y : x; }
TW_EXTREMA(int) TW_EXTREMA(unsigned) TW_EXTREMA(long long) TW_EXTREMA(unsigned long long)
)";

enum class TwinSource {
  own,    // text below
  older,  // the device text for older targets, which is plain C++ over the built-ins above
};

struct Twin {
  std::string_view name;
  TwinSource source;
  std::string_view text = {};
  std::string_view only_with = {};  // tells overloads apart, as in Helper
};

// What helpers that are not plain C++ do, by the PTX ISA: ld, st; cp.async; cvt.
constexpr Twin kTwins[] = {
    {"shared_memory", TwinSource::own,
     R"(template <class T> inline T& shared_memory() { return *reinterpret_cast<T*>(tw_emu_shared()); })"},
    {"load", TwinSource::own, R"(template <int n, class T> inline void load(T* to, const T* from) {
  const TwWords words = tw_emu_load(from, sizeof(typename Word<n * sizeof(T)>::type));
  memcpy(to, &words, n * sizeof(T));
})"},
    {"store", TwinSource::own,
     R"(template <int n, class T> inline void store(T* to, const T* from) {
  TwWords words = {0, 0};
  memcpy(&words, from, n * sizeof(T));
  tw_emu_store(to, words, sizeof(typename Word<n * sizeof(T)>::type));
})"},
    {"load_evict_first", TwinSource::older},
    {"load_evict_last", TwinSource::older},
    {"store_evict_first", TwinSource::older},
    {"store_evict_last", TwinSource::older},
    {"copy_async", TwinSource::own,
     R"(template <int n, class T> inline void copy_async(T* to, const T* from, int valid = n) {
  constexpr int bytes = n * sizeof(T);
  static_assert(bytes == 4 || bytes == 8 || bytes == 16);
  tw_emu_copy(to, from, bytes, valid * (int)sizeof(T));
})"},
    {"copy_async_commit", TwinSource::own, "inline void copy_async_commit() { tw_emu_commit(); }"},
    {"copy_async_wait", TwinSource::own,
     "template <int pending> inline void copy_async_wait() { tw_emu_wait(pending); }"},
    {"to_float", TwinSource::own,
     "inline float to_float(f16 x) { return tw_emu_f16_to_float(x.bits); }", "f16"},
    {"to_f16", TwinSource::own, "inline f16 to_f16(float x) { return {tw_emu_to_f16(x)}; }"},
    {"to_bf16", TwinSource::older},
    {"hold", TwinSource::own, "template <class T, int n> inline void hold(T (&)[n]) {}"},
    {"to_float", TwinSource::older, {}, "f8e4m3"},
    {"to_float", TwinSource::own,
     "inline float to_float(f8e5m2 x) { return tw_emu_f16_to_float((unsigned short)(x.bits << 8)); "
     "}",
     "f8e5m2"},
    {"to_f8e4m3", TwinSource::older},
    {"to_f8e5m2", TwinSource::older},
    {"bf16_difference", TwinSource::own,
     R"(inline unsigned bf16_difference(unsigned x, unsigned y) {
  const float low = __uint_as_float(x << 16) - __uint_as_float(y << 16);
  const float high = __uint_as_float(x & 0xffff0000) - __uint_as_float(y & 0xffff0000);
  return to_bf16(low).bits | to_bf16(high).bits << 16;
})"},
    {"f16_difference", TwinSource::own,
     R"(inline unsigned f16_difference(unsigned x, unsigned y) {
  const auto half = [](unsigned bits) { return tw_emu_f16_to_float((unsigned short)bits); };
  return tw_emu_to_f16(half(x) - half(y)) | tw_emu_to_f16(half(x >> 16) - half(y >> 16)) << 16;
})"},
    {"masked_flipped", TwinSource::own,
     R"(inline unsigned masked_flipped(unsigned x, unsigned mask, unsigned flip) {
  return (x & mask) ^ flip;
})"},
    {"max", TwinSource::older},
    {"min", TwinSource::older},
};

// Helpers without assembly are plain C++, and compile as they are.
bool is_plain(const codegen::Helper& helper) {
  return helper.text.find("asm") == std::string::npos &&
         helper.text.find("__cvta") == std::string::npos;
}

/// The host implementation; empty when there is none.
std::string_view twin_text(const codegen::Helper& helper) {
  for (const Twin& twin : kTwins) {
    if (twin.name != helper.name || twin.only_with != helper.only_with) continue;
    return twin.source == TwinSource::own ? twin.text : helper.older_text;
  }
  const std::string_view key = helper.only_with;
  for (const std::string_view text :
       {hopper_twin(key.empty() ? helper.name : fmt::format("{}:{}", helper.name, key)),
        mma_twin(helper.name), debug_twin(helper.name), grid_twin(helper.name)})
    if (!text.empty()) return text;
  return is_plain(helper) ? std::string_view(helper.text) : std::string_view{};
}

}  // namespace

std::string_view kernel_body(std::string_view source) {
  for (const std::string_view begin : {"struct Shared {", "extern \"C\" __global__"})
    for (size_t at = source.find(begin); at != source.npos; at = source.find(begin, at + 1))
      if (at == 0 || source[at - 1] == '\n') return source.substr(at);
  throw InternalError("a printed source holds no kernel");
}

bool has_host_twin(const codegen::Helper& helper) {
  return !twin_text(helper).empty() || codegen::parse_wgmma(helper.name).has_value() ||
         codegen::parse_atomic(helper.name).has_value();
}

const std::string& host_prelude() {
  static const std::string prelude = [] {
    std::string text(kKeywords);
    text += hopper_hook_members();
    text += debug_hook_members();
    text += grid_hook_members();
    text += kHookCalls;
    text += hopper_hook_calls();
    text += debug_hook_calls();
    text += grid_hook_calls();
    text += atomic_hook_calls();
    text += kInstrumentation;
    text += kBuiltins;
    text += "namespace tw {\n";
    std::set<std::pair<std::string_view, std::string_view>> done;  // overloads share one
    for (const codegen::Helper& helper : codegen::helpers())
      if (done.emplace(helper.name, helper.only_with).second)
        text += fmt::format("{}\n", twin_text(helper));
    return text + "}  // namespace tw\n";
  }();
  return prelude;
}

std::string host_source(const codegen::KernelStep& step, const std::string& file) {
  const std::string_view body = kernel_body(step.source);
  const std::string_view before(step.source.data(), step.source.size() - body.size());
  std::string text = host_prelude() + "namespace tw {\n";
  std::set<std::string> products;  // without what tells overloads apart
  for (const std::string& helper : codegen::helpers_used(body))
    products.insert(helper.substr(0, helper.find(':')));
  for (const std::string& helper : products) text += wgmma_twin(helper) + atomic_twin(helper);
  for (const codegen::PtxFunction& function : step.ptx) text += ptx_twin(function);
  text += fmt::format("}}\n{}#line {} \"{}\"\n", counted_loops(),
                      std::ranges::count(before, '\n') + 1, file);
  text += body;
  text += "#line 1 \"entry\"\n";
  text += "extern \"C\" __attribute__((visibility(\"default\"), no_sanitize(\"thread\")))\n";
  text += fmt::format("void tw_entry(void** params) {{\n  {}(", step.symbol);
  for (size_t i = 0; i < step.params.size(); ++i) {
    const codegen::KernelParam& param = step.params[i];
    const std::string type =
        param.map ? "tw::TensorMap" : codegen::cuda_type(param.dtype) + (param.tensor ? "*" : "");
    text += fmt::format("{}*({}*)params[{}]", i > 0 ? ", " : "", type, i);
  }
  return text + ");\n}\n";
}

}  // namespace tilewright::runtime
