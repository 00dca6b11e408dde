// Element types, tile shapes and the types of IR values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

/// Element types. `boolean` is one byte in memory. f8e4m3 is the kind without infinities (largest
/// value 448), f8e5m2 has IEEE's (57344); converting to either saturates.
enum class DType : uint8_t { boolean, i8, u8, i16, i32, i64, f8e4m3, f8e5m2, f16, bf16, f32, f64 };

inline constexpr int kDTypeCount = 12;

std::string_view to_string(DType dtype);  ///< "bool", "i8", .. "f64"
/// The dtype named by `text`; false when there is none.
bool parse_dtype(std::string_view text, DType& out);
int size_of(DType dtype);           ///< bytes
bool is_float(DType dtype);         ///< f8e4m3, f8e5m2, f16, bf16, f32, f64
bool is_half(DType dtype);          ///< f16, bf16
bool is_f8(DType dtype);            ///< f8e4m3, f8e5m2
bool is_narrow_float(DType dtype);  ///< f8 and half types: arithmetic is done in f32 and rounded
bool is_integer(DType dtype);       ///< i8, u8, i16, i32, i64
int float_digits(DType dtype);      ///< significand bits of a float type, the hidden one included

/// The memory of one tensor: dtype, sizes and element strides, and the alignment (bytes, a power of
/// two) its base pointer is known to have. A dynamic one has any first size up to sizes[0], known
/// when a kernel is launched; what follows from the sizes then is the most it can be.
struct TensorSpec {
  DType dtype = DType::f32;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  int alignment = 16;
  bool dynamic = false;

  int rank() const { return static_cast<int>(sizes.size()); }
  int64_t elements() const;
  /// Number of elements from the first to the last addressed, plus one; 0 when empty.
  int64_t span() const;
  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

/// A row-major spec of the given sizes.
TensorSpec contiguous_spec(DType dtype, std::vector<int64_t> sizes, int alignment = 16);
/// The largest first size of a dynamic tensor; what "?" stands for.
inline constexpr int64_t kMostDynamic = int64_t{1} << 30;
/// A row-major spec whose first size is dynamic: `dynamic_spec(bf16, {1024, 4096})` has at most
/// 1024 rows. Without sizes it is the same as contiguous_spec.
TensorSpec dynamic_spec(DType dtype, std::vector<int64_t> sizes, int alignment = 16);
/// The same spec; of a dynamic one, with kMostDynamic as the limit.
TensorSpec without_limit(TensorSpec spec);
/// "f32[1000,999]", with ":[s0,s1]" strides when not row-major and "@N" when alignment is not 16;
/// "f32[?1024,999]" for at most 1024 rows, "f32[?,999]" for at most kMostDynamic.
std::string to_string(const TensorSpec& spec);

namespace ir {

/// One dimension of a tile: the block of a tile axis (`axis` indexes Function::axes) or a constant.
struct Dim {
  int axis = -1;
  int64_t extent = 0;  ///< meaningful when axis < 0

  static Dim block(int axis) { return {axis, 0}; }
  static Dim constant(int64_t extent) { return {-1, extent}; }
  bool is_block() const { return axis >= 0; }
  friend bool operator==(const Dim&, const Dim&) = default;
};

using Shape = std::vector<Dim>;

/// The type of an IR value.
struct Type {
  enum class Kind : uint8_t {
    value,   ///< a tile of `shape`; the empty shape is a scalar, uniform over the program
    tensor,  ///< global memory, of `rank` dimensions
    slice,   ///< a range of positions along shape[0], clipped at a limit; what tensors are indexed
             ///< by
    ring,    ///< shared-memory buffer of `stages` slots, each a tile of `shape`
    shared,  ///< a tile that lives in shared memory (one slot of a ring)
  };
  Kind kind = Kind::value;
  DType dtype = DType::f32;
  Shape shape;
  int rank = 0;    ///< tensor only
  int stages = 0;  ///< ring only

  static Type value(DType dtype, Shape shape) { return {Kind::value, dtype, std::move(shape)}; }
  static Type scalar(DType dtype) { return {Kind::value, dtype, {}}; }
  static Type tensor(DType dtype, int rank) { return {Kind::tensor, dtype, {}, rank}; }
  static Type slice(Dim dim) { return {Kind::slice, DType::i64, {dim}}; }
  static Type ring(DType dtype, Shape shape, int stages) {
    return {Kind::ring, dtype, std::move(shape), 0, stages};
  }
  static Type shared(DType dtype, Shape shape) { return {Kind::shared, dtype, std::move(shape)}; }

  bool is_value() const { return kind == Kind::value; }
  bool is_scalar() const { return kind == Kind::value && shape.empty(); }
  bool is_tile() const { return kind == Kind::value && !shape.empty(); }
  friend bool operator==(const Type&, const Type&) = default;
};

std::string to_string(const Dim& dim);      ///< "B0" or "128"
std::string to_string(const Shape& shape);  ///< "[B0,128]"
/// "f32", "f32[B0,128]", "tensor<f32,2>", "slice<B0>", "ring<f32[B0,B2],3>", "shared<f32[B0,B2]>".
std::string to_string(const Type& type);

}  // namespace ir
}  // namespace tilewright
