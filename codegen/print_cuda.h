// Prints a kernel as CUDA C++ that a person can read and learn from.
#pragma once

#include <string>
#include <vector>

#include "tilewright/codegen/kernel_ir.h"
#include "tilewright/codegen/target.h"

namespace tilewright::codegen {

struct PrintOptions {
  bool user_lines = true;  ///< the user's source lines as comments, where their file is there
};

/// The complete source of `kernel` for `target`, with no include: header comment, the device
/// helpers it uses, struct Shared, the kernel. Lines have at most 100 columns, a single name or
/// literal that is longer apart. strip_comments of it is independent of the options.
std::string print_cuda(const Kernel& kernel, const Target& target,
                       const PrintOptions& options = {});

/// The lines of statements indented by `indent`, as print_cuda prints them.
std::vector<std::string> print_statements(const std::vector<Stmt>& stmts, int indent,
                                          const PrintOptions& options = {});

}  // namespace tilewright::codegen
