#include "tilewright/runtime/numeric.h"

#include <array>
#include <string>
#include <utility>

#include "tilewright/ir/error.h"
#include "tilewright/runtime/numeric_scalar.h"

namespace tilewright::numeric {
namespace {

using ir::Fn;
using ir::FnDomain;
using ir::FnKind;

struct Declared {
  FnKind kind;
  FnDomain domain;
};

constexpr Declared kDeclared[] = {
#define TW_FN(name, kind, operands, ulp) {FnKind::kind, FnDomain::operands},
#include "tilewright/ir/functions.def"
#undef TW_FN
};
constexpr size_t kFnCount = std::size(kDeclared);

/// Whether a function of this kind takes the dtype; known when compiling, unlike ir::accepts.
constexpr bool takes(Fn fn, FnKind kind, DType dtype) {
  const Declared& declared = kDeclared[static_cast<size_t>(fn)];
  if (declared.kind != kind) return false;
  switch (declared.domain) {
    case FnDomain::any:
      return true;
    case FnDomain::number:
      return dtype != DType::boolean;
    case FnDomain::floating:
      return float_dtype(dtype);
    case FnDomain::integral:
      return !float_dtype(dtype);
  }
  return false;
}

template <Fn fn, DType dtype>
void unary_loop(const void* x, void* out, int64_t n) {
  const auto* xs = static_cast<const Stored<dtype>*>(x);
  auto* to = static_cast<Stored<dtype>*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = unary_element<fn, dtype>(xs[i]);
}

template <Fn fn, DType dtype>
void binary_loop(const void* x, const void* y, void* out, int64_t n) {
  const auto* xs = static_cast<const Stored<dtype>*>(x);
  const auto* ys = static_cast<const Stored<dtype>*>(y);
  auto* to = static_cast<Stored<dtype>*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = binary_element<fn, dtype>(xs[i], ys[i]);
}

template <Fn fn, DType dtype>
void compare_loop(const void* x, const void* y, void* out, int64_t n) {
  const auto* xs = static_cast<const Stored<dtype>*>(x);
  const auto* ys = static_cast<const Stored<dtype>*>(y);
  auto* to = static_cast<int64_t*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = compare_element<fn>(xs[i], ys[i]);
}

template <DType dtype>
void fma_loop(const void* x, const void* y, const void* z, void* out, int64_t n) {
  const auto* xs = static_cast<const Stored<dtype>*>(x);
  const auto* ys = static_cast<const Stored<dtype>*>(y);
  const auto* zs = static_cast<const Stored<dtype>*>(z);
  auto* to = static_cast<Stored<dtype>*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = fma_element<dtype>(xs[i], ys[i], zs[i]);
}

template <DType to, DType from>
void cast_loop(const void* x, void* out, int64_t n) {
  const auto* xs = static_cast<const Stored<from>*>(x);
  auto* results = static_cast<Stored<to>*>(out);
  for (int64_t i = 0; i < n; ++i) results[i] = convert_element<to, from>(xs[i]);
}

template <DType dtype>
void load_loop(const void* memory, int64_t stride, void* out, int64_t n) {
  const auto* from = static_cast<const Memory<dtype>*>(memory);
  auto* to = static_cast<Stored<dtype>*>(out);
  if (stride == 1)
    for (int64_t i = 0; i < n; ++i) to[i] = decode<dtype>(from[i]);
  else
    for (int64_t i = 0; i < n; ++i) to[i] = decode<dtype>(from[i * stride]);
}

template <DType dtype>
void store_loop(const void* x, void* memory, int64_t stride, int64_t n) {
  const auto* from = static_cast<const Stored<dtype>*>(x);
  auto* to = static_cast<Memory<dtype>*>(memory);
  if (stride == 1)
    for (int64_t i = 0; i < n; ++i) to[i] = encode<dtype>(from[i]);
  else
    for (int64_t i = 0; i < n; ++i) to[i * stride] = encode<dtype>(from[i]);
}

// Tables over every dtype; null where a function does not take it.
template <class Kernel>
using Row = std::array<Kernel, kDTypeCount>;
using DTypes = std::make_index_sequence<kDTypeCount>;

template <Fn fn, DType dtype>
constexpr UnaryKernel unary_entry() {
  if constexpr (takes(fn, FnKind::unary, dtype)) return &unary_loop<fn, dtype>;
  return nullptr;
}

template <Fn fn, DType dtype>
constexpr BinaryKernel binary_entry() {
  if constexpr (takes(fn, FnKind::binary, dtype)) return &binary_loop<fn, dtype>;
  return nullptr;
}

template <Fn fn, DType dtype>
constexpr BinaryKernel compare_entry() {
  if constexpr (takes(fn, FnKind::compare, dtype)) return &compare_loop<fn, dtype>;
  return nullptr;
}

template <Fn fn, size_t... d>
constexpr Row<UnaryKernel> unary_row(std::index_sequence<d...>) {
  return {unary_entry<fn, static_cast<DType>(d)>()...};
}

template <Fn fn, size_t... d>
constexpr Row<BinaryKernel> binary_row(std::index_sequence<d...>) {
  return {binary_entry<fn, static_cast<DType>(d)>()...};
}

template <Fn fn, size_t... d>
constexpr Row<BinaryKernel> compare_row(std::index_sequence<d...>) {
  return {compare_entry<fn, static_cast<DType>(d)>()...};
}

template <DType from, size_t... to>
constexpr Row<UnaryKernel> cast_row(std::index_sequence<to...>) {
  return {&cast_loop<static_cast<DType>(to), from>...};
}

template <size_t... d>
constexpr std::array<Row<UnaryKernel>, kDTypeCount> cast_rows(std::index_sequence<d...>) {
  return {cast_row<static_cast<DType>(d)>(DTypes{})...};
}

template <size_t... d>
constexpr Row<TernaryKernel> fma_row(std::index_sequence<d...>) {
  return {&fma_loop<static_cast<DType>(d)>...};
}

template <size_t... d>
constexpr Row<LoadKernel> load_row(std::index_sequence<d...>) {
  return {&load_loop<static_cast<DType>(d)>...};
}

template <size_t... d>
constexpr Row<StoreKernel> store_row(std::index_sequence<d...>) {
  return {&store_loop<static_cast<DType>(d)>...};
}

constexpr std::array<Row<UnaryKernel>, kFnCount> kUnary = {
#define TW_FN(name, kind, operands, ulp) unary_row<Fn::name>(DTypes{}),
#include "tilewright/ir/functions.def"
#undef TW_FN
};

constexpr std::array<Row<BinaryKernel>, kFnCount> kBinary = {
#define TW_FN(name, kind, operands, ulp) binary_row<Fn::name>(DTypes{}),
#include "tilewright/ir/functions.def"
#undef TW_FN
};

constexpr std::array<Row<BinaryKernel>, kFnCount> kCompare = {
#define TW_FN(name, kind, operands, ulp) compare_row<Fn::name>(DTypes{}),
#include "tilewright/ir/functions.def"
#undef TW_FN
};

constexpr auto kCast = cast_rows(DTypes{});  // [from][to]
constexpr auto kFma = fma_row(DTypes{});
constexpr auto kLoad = load_row(DTypes{});
constexpr auto kStore = store_row(DTypes{});

template <class Kernel>
Kernel find(const std::array<Row<Kernel>, kFnCount>& table, Fn fn, DType dtype) {
  const Kernel kernel = table.at(static_cast<size_t>(fn)).at(static_cast<size_t>(dtype));
  if (kernel == nullptr)
    throw InternalError(fmt::format("function {} is not defined for {} in this kind of operation",
                                    ir::info(fn).name, to_string(dtype)));
  return kernel;
}

/// The address of an element's value, which must be stored as the dtype is.
const void* stored(DType dtype, const Element& x) {
  internal_check(x.index() == static_cast<size_t>(storage_of(dtype)),
                 "an element is not stored as its dtype is");
  return std::visit([](const auto& value) -> const void* { return &value; }, x);
}

/// An element of the dtype's storage, and where to write it.
Element blank(DType dtype) {
  switch (storage_of(dtype)) {
    case Storage::f32:
      return 0.0f;
    case Storage::f64:
      return 0.0;
    case Storage::i64:
      return int64_t{0};
  }
  return 0.0f;
}

void* target(Element& x) {
  return std::visit([](auto& value) -> void* { return &value; }, x);
}

}  // namespace

Storage storage_of(DType dtype) {
  if (!float_dtype(dtype)) return Storage::i64;
  return dtype == DType::f64 ? Storage::f64 : Storage::f32;
}

int storage_size(DType dtype) { return storage_of(dtype) == Storage::f32 ? 4 : 8; }

UnaryKernel unary_kernel(Fn fn, DType dtype) { return find(kUnary, fn, dtype); }
BinaryKernel binary_kernel(Fn fn, DType dtype) { return find(kBinary, fn, dtype); }
BinaryKernel compare_kernel(Fn fn, DType dtype) { return find(kCompare, fn, dtype); }
TernaryKernel fma_kernel(DType dtype) { return kFma[static_cast<size_t>(dtype)]; }
LoadKernel load_kernel(DType dtype) { return kLoad[static_cast<size_t>(dtype)]; }
StoreKernel store_kernel(DType dtype) { return kStore[static_cast<size_t>(dtype)]; }

UnaryKernel cast_kernel(DType to, DType from) {
  return kCast[static_cast<size_t>(from)][static_cast<size_t>(to)];
}

Element evaluate(Fn fn, DType dtype, Element x) {
  Element result = blank(dtype);
  unary_kernel(fn, dtype)(stored(dtype, x), target(result), 1);
  return result;
}

Element evaluate(Fn fn, DType dtype, Element x, Element y) {
  Element result = blank(dtype);
  binary_kernel(fn, dtype)(stored(dtype, x), stored(dtype, y), target(result), 1);
  return result;
}

bool compare(Fn fn, DType dtype, Element x, Element y) {
  int64_t result = 0;
  compare_kernel(fn, dtype)(stored(dtype, x), stored(dtype, y), &result, 1);
  return result != 0;
}

Element fma(DType dtype, Element x, Element y, Element z) {
  Element result = blank(dtype);
  fma_kernel(dtype)(stored(dtype, x), stored(dtype, y), stored(dtype, z), target(result), 1);
  return result;
}

Element convert(DType to, DType from, Element x) {
  Element result = blank(to);
  cast_kernel(to, from)(stored(from, x), target(result), 1);
  return result;
}

Element from_double(DType dtype, double x) { return convert(dtype, DType::f64, x); }
Element from_int(DType dtype, int64_t x) { return convert(dtype, DType::i64, x); }

Element identity(Fn fn, DType dtype) {
  if (dtype == DType::boolean) return int64_t{fn == Fn::bit_and || fn == Fn::min};
  // Saturation would make 0 of -1 in an unsigned type.
  if (fn == Fn::bit_and) return from_int(dtype, -1);
  return from_double(dtype, ir::identity_of(fn));
}

}  // namespace tilewright::numeric
