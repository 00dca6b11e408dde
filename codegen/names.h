// Names in printed CUDA.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

namespace tilewright::codegen {

/// Hands out identifiers, each once: "acc", then "acc_2", "acc_3". C++ keywords and the names that
/// printed kernels use themselves are taken from the start.
class Names {
 public:
  Names();
  /// `wanted`, made an identifier and unique.
  std::string unique(std::string_view wanted);

 private:
  std::unordered_set<std::string> taken_;
};

/// "rows" -> "row", "ks" -> "k": what to call one position of an axis.
std::string singular(std::string_view name);

}  // namespace tilewright::codegen
