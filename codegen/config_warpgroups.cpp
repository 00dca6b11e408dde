#include "tilewright/codegen/config_warpgroups.h"

#include "tilewright/codegen/config_needs.h"
#include "tilewright/codegen/dot_operands.h"
#include "tilewright/codegen/matrix_layouts.h"
#include "tilewright/codegen/matrix_unit.h"
#include "tilewright/codegen/orient_dots.h"
#include "tilewright/ir/builder.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

constexpr int64_t kRows = 64;          // of one product
constexpr int64_t kMostColumns = 256;  // likewise
constexpr int kWarps = 4;              // of a warpgroup

[[noreturn]] void refuse(const ir::Op& dot, const std::string& value, const std::string& why,
                         const std::string& use) {
  raise(ErrorId::config_unsupported, dot.loc, "matrix", value, why, use);
}

/// What a product reads from shared memory in any case has to be stored as it is read.
void check_second(const ir::Function& fn, const ir::Op& dot, int operand) {
  if (wgmma_reads_as_stored(fn, dot, operand)) return;
  refuse(dot, fmt::format("wgmma on {}", to_string(dot.operand(operand)->type.dtype)),
         fmt::format("operand {} of the dot is not contiguous along k", operand == 0 ? "a" : "b"),
         "a tensor stored by k, or another unit");
}

void check_dot(const ir::Function& fn, const ir::Op& dot, const Config& config,
               const std::vector<int64_t>& blocks, const MatrixInstruction& instruction) {
  const auto extent = [&](const ir::Dim& dim) {
    return dim.is_block() ? blocks.at(dim.axis) : dim.extent;
  };
  const ir::Shape& shape = dot.result()->type.shape;
  int64_t m = extent(shape[0]), n = extent(shape[1]);
  const bool transposed = is_transposed_for_wgmma(fn, dot, m, n);
  if (transposed) std::swap(m, n);
  const int64_t k = extent(dot.operand(0)->type.shape[1]);
  const int64_t along_rows = wgmma_groups_along_rows(m, config.warps);
  const int64_t along_columns = config.warps / kWarps / along_rows;
  const std::string tile = fmt::format("wgmma on a {} by {} tile over {} of k", m, n, k);
  if (m % kRows != 0)
    refuse(dot, tile, "warpgroups compute 64 rows at a time", "a multiple of 64 rows, or mma");
  if (n % (8 * along_columns) != 0 || n / along_columns > kMostColumns)
    refuse(dot, tile, "a warpgroup computes 8 to 256 columns, by eights",
           fmt::format("a multiple of {} up to {} columns, or mma", 8 * along_columns,
                       kMostColumns * along_columns));
  const int64_t each = n / along_columns;
  if (instruction.acc == DType::i32 && each > 24 && each % 16 != 0)
    refuse(dot, tile, "a warpgroup computes 8, 16, 24 or a multiple of 16 columns of integers",
           fmt::format("{} columns", each / 16 * 16 * along_columns));
  if (k % instruction.k != 0)
    refuse(dot, tile, fmt::format("a product is {} deep", instruction.k),
           fmt::format("a multiple of {} for k, or mma", instruction.k));
  const int bytes = size_of(dot.operand(0)->type.dtype);
  const int first = transposed ? 1 : 0;
  check_second(fn, dot, 1 - first);
  const bool first_by_k = is_stored_by_k(fn, dot, first);
  const bool second_by_k = is_stored_by_k(fn, dot, 1 - first);
  for (const int64_t row : {first_by_k ? k : m, second_by_k ? k : each})
    if (row * bytes % 32 != 0)
      refuse(dot, tile, "rows of operands in shared memory are whole 32 bytes for each warpgroup",
             fmt::format("multiples of {}, or mma", 32 / bytes));
}

}  // namespace

void check_warpgroups(const Config& config, const ir::Function& fn, const Target& target) {
  if (config.matrix != MatrixUnit::wgmma) return;
  if (config.warps % kWarps != 0)
    raise(ErrorId::config_field, {}, "warps", "a multiple of 4 with wgmma: whole warpgroups",
          config.warps);
  const std::vector<int64_t> blocks = bind_axes(config, fn);
  ir::for_each_op(fn.body(), [&](const ir::Op& op) {
    if (op.kind != ir::OpKind::dot || unit_of(op, config, target) != MatrixUnit::wgmma) return;
    check_dot(fn, op, config, blocks, *find_instruction(MatrixUnit::wgmma, op, target));
  });
}

}  // namespace tilewright::codegen
