// Kernel IR: one CUDA kernel as statements and expressions, printed almost one to one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/ir/loc.h"
#include "tilewright/ir/type.h"

namespace tilewright::codegen {

struct Expr;
using ExprRef = std::shared_ptr<const Expr>;

/// An immutable expression. Integer expressions are C ints unless a cast says otherwise.
struct Expr {
  enum class Kind : uint8_t {
    integer,      ///< value
    real,         ///< number, of `dtype` f32 or f64
    name,         ///< a variable, parameter or constant: text
    unary,        ///< text is the C operator: - ! ~
    binary,       ///< text is the C operator
    conditional,  ///< args[0] ? args[1] : args[2]
    call,         ///< helper or builtin `text`(args)
    cast,         ///< (text)args[0]: text is a C type
    element,      ///< register array element: text[args[0]][args[1]]..
    shared,       ///< element of shared buffer `text`: shared.text[args[0]]..
    global,       ///< element of tensor parameter `text` at offset args[0]: text[offset]
    address,      ///< &args[0]
    member,       ///< args[0].text
  };
  Kind kind;
  std::string text;
  std::vector<ExprRef> args;
  int64_t value = 0;
  double number = 0;
  DType dtype = DType::i32;
};

// Constructors. The arithmetic ones fold constants and drop neutral elements (x + 0, x * 1, 0 * x,
// (x * a) / a, ..), so that index expressions print as a person would write them. They are for
// index arithmetic, which does not overflow, and whose variables (names, members) are not negative:
// / and % fold on that. A kernel's own integer values go through fn_expr (function_exprs.h)
// instead.
ExprRef integer(int64_t value, DType dtype = DType::i32);  ///< i64: a long long
/// An infinity or a NaN becomes a call of the helper that makes one.
ExprRef real(double value, DType dtype = DType::f32);
ExprRef name(std::string text);
ExprRef unary(std::string op, ExprRef x);
ExprRef binary(std::string op, ExprRef x, ExprRef y);
ExprRef operator+(ExprRef x, ExprRef y);
ExprRef operator-(ExprRef x, ExprRef y);
ExprRef operator*(ExprRef x, ExprRef y);
ExprRef operator/(ExprRef x, ExprRef y);
ExprRef operator%(ExprRef x, ExprRef y);
ExprRef operator<(ExprRef x, ExprRef y);
ExprRef operator&&(ExprRef x, ExprRef y);  ///< a null operand is "true"
ExprRef conditional(ExprRef condition, ExprRef x, ExprRef y);
ExprRef call(std::string function, std::vector<ExprRef> args);
ExprRef cast(std::string type, ExprRef x);
ExprRef element(std::string array, std::vector<ExprRef> indices);
ExprRef shared(std::string buffer, std::vector<ExprRef> indices);
ExprRef global(std::string tensor, ExprRef offset);
ExprRef address(ExprRef x);
ExprRef member(ExprRef x, std::string field);

bool is_integer(const ExprRef& x, int64_t value);
/// Whether both are the same expression, structurally; null equals null only.
bool same(const ExprRef& x, const ExprRef& y);
/// The value of an integer expression over variables; `lookup` gives a name's value. For sizes that
/// the host needs at launch. Throws InternalError on anything but integer arithmetic.
int64_t evaluate(const Expr& x, const std::function<int64_t(const std::string&)>& lookup);

/// A statement. Which fields count depends on the kind.
struct Stmt {
  enum class Kind : uint8_t {
    declare,  ///< [const] type name = value;
    array,    ///< type name[extents].. [= {}]; (zeroed when `zero`)
    assign,   ///< target op value;  op is =, += ..
    call,     ///< value, a call expression, for its effect
    loop,  ///< for (int name = begin; name < limit; name += step) body; `unroll` prints the pragma;
           ///< with a `value`: while (value) body
    branch,   ///< if (value) body else otherwise
    lambda,   ///< auto name = [&](params) { body };
    barrier,  ///< __syncthreads(), or the call `value`: every thread of the role; comment says why
    order,    ///< an ordering edge, turned into barriers by synchronize; prints nothing. Of rings:
              ///< op is acquire, wait or release, params are their buffers. Of memory: op is
              ///< release_all before an atomic that releases, acquire_all after one that acquires
    source,   ///< the user's line `loc`, printed as a comment; indentation as written
    comment,  ///< free text in `comment`
  };
  Kind kind;
  std::string type, name, op = "=";
  std::vector<int64_t> extents;
  bool is_const = true, zero = false, unroll = false;
  bool uniform = false;   ///< loop, branch: all threads take it alike, so it may hold barriers
  bool roles = false;     ///< branch: its sides are the roles of a block's warps
  bool programs = false;  ///< loop: iterations are programs of the grid, which share no tensor
                          ///< elements that one of them writes
  ExprRef target, value, begin, limit, step;
  std::vector<std::string> params;  ///< lambda: "int ks"; loop: see lower_plain_loop
  std::vector<Stmt> body, otherwise;
  std::string comment;  ///< printed at the end of the line when the kind is not comment
  Loc loc;
};

Stmt declare(std::string type, std::string name, ExprRef value, bool is_const = true);
Stmt array(std::string type, std::string name, std::vector<int64_t> extents, bool zero = false);
Stmt assign(ExprRef target, ExprRef value, std::string op = "=");
Stmt call_stmt(ExprRef call);
Stmt loop(std::string name, ExprRef begin, ExprRef limit, ExprRef step, bool unroll,
          std::vector<Stmt> body);
Stmt repeat(ExprRef condition,
            std::vector<Stmt> body);  ///< a while loop that all threads run alike
Stmt branch(ExprRef condition, std::vector<Stmt> body, std::vector<Stmt> otherwise = {});
Stmt lambda(std::string name, std::vector<std::string> params, std::vector<Stmt> body);
Stmt barrier(std::string why, ExprRef call = nullptr);
Stmt order(std::string op, std::vector<std::string> buffers);
Stmt source_line(Loc loc);
Stmt comment(std::string text);

/// A buffer in shared memory: a member of the printed `struct Shared`.
struct SharedBuffer {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> extents;  ///< as declared: padding included
  int alignment = 16;            ///< bytes
  std::string comment = {};      ///< e.g. "[stage][row][k]"
  int64_t offset = -1;           ///< bytes from the start; set by plan_shared
  std::string type = {};         ///< of an element, where that is no dtype: "tw::Barrier"
  int type_bytes = 0;            ///< its size
  bool ring = false;             ///< used while loops run only
  bool after_rings = false;      ///< used after all of those only, so that it may take their bytes
  int element_bytes() const;
  int64_t bytes() const;
};

/// How bulk tensor copies see a tensor: what the host encodes into a CUtensorMap at launch (CUDA
/// driver API, cuTensorMapEncodeTiled). Dimensions are listed fastest first; the first has
/// stride 1.
struct TensorMapSpec {
  DType dtype = DType::f32;
  std::vector<int64_t> sizes;    ///< elements
  std::vector<int64_t> strides;  ///< elements; strides[0] is 1
  std::vector<int> box;          ///< elements one copy moves along each dimension
  int swizzle = 0;               ///< bytes: 0 (none), 32, 64 or 128
  /// The dimension whose size is known at launch only, and at most what `sizes` says; -1: none.
  int dynamic = -1;
  int size_source = -1;  ///< of the dynamic one: the scalar parameter that has it, by index
  friend bool operator==(const TensorMapSpec&, const TensorMapSpec&) = default;
};

/// A parameter of the kernel: a pointer to a tensor's elements, a tensor map or a scalar.
struct KernelParam {
  std::string name;
  DType dtype = DType::f32;
  bool tensor = true;
  bool written = false;    ///< a pointer to non-const
  bool may_alias = false;  ///< no __restrict__
  int source = 0;          ///< index among the function's params, then the plan's workspaces
  /// Set: the parameter is a tensor map of the tensor `source`, passed by value as
  /// `const __grid_constant__ tw::TensorMap`.
  std::optional<TensorMapSpec> map = std::nullopt;
};

/// PTX that the kernel's author wrote, as a function of namespace tw.
struct PtxFunction {
  std::string name;
  std::string ptx;   ///< %0 is the result, %1, .. are the operands
  std::string twin;  ///< its host function (ir/host_function.h); empty: none
  DType result = DType::f32;
  std::vector<DType> operands;
  Loc loc;
};

/// One kernel.
struct Kernel {
  std::string name;                 ///< the symbol: <kernel>_<hash8>
  std::vector<std::string> header;  ///< comment lines: shapes, config, map, traffic
  std::vector<KernelParam> params;
  std::vector<std::string> names;  ///< printed names of the function's parameters, in its order
  std::vector<SharedBuffer> buffers;
  std::vector<PtxFunction> ptx;  ///< that the body calls
  std::vector<Stmt> body;
  ExprRef grid;  ///< number of blocks, an expression of scalar parameters
  int threads = 128;
  int blocks_per_sm = 1;
  /// Says so even when it is 1: the compiler then spills nothing to leave room for more.
  bool exact_blocks_per_sm = false;
  int cluster = 1;  ///< blocks that run together and reach each other's shared memory
  int64_t shared_bytes = 0;
  /// Threads that compute together, when others only copy; 0: all of them.
  int consumers = 0;
  std::string turn;  ///< the variable that numbers such groups; empty: there is one
  /// Its blocks meet at barriers of the whole grid, so that all must be resident at one time.
  bool cooperative = false;
};

}  // namespace tilewright::codegen
