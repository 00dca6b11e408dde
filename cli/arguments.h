// Kernel arguments as text: what the program's command line takes. docs/cli.md describes the
// syntax.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "tilewright/ir/type.h"

namespace tilewright::cli {

/// "f32[1000,999]", "f32[8,8]:[16,1]@4", the path of a .npy file, or "f8e4m3:FILE.npy", whose
/// elements are that dtype's bits.
struct TensorArgument {
  TensorSpec spec;
  std::string path;  ///< the file with its contents; empty: random contents

  friend bool operator==(const TensorArgument&, const TensorArgument&) = default;
};

/// "f32=2.5", "i64=7", "bool=true": a scalar known at run time, or a constant of the kernel.
struct ScalarArgument {
  DType dtype = DType::f32;
  std::variant<int64_t, double> value = 0.0;  ///< double for float types

  friend bool operator==(const ScalarArgument&, const ScalarArgument&) = default;
};

using Argument = std::variant<TensorArgument, ScalarArgument>;

/// Reads one argument; a .npy file is opened to learn its dtype and sizes. Raises argument_syntax,
/// which says what is wrong at which place, or npy_file.
Argument parse_argument(std::string_view text);

/// The number as a double.
double number_of(const ScalarArgument& scalar);

}  // namespace tilewright::cli
