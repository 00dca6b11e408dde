#include "tilewright/codegen/header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tilewright/ir/builder.h"

namespace tilewright::codegen {
namespace {

std::string signature(const ir::Function& fn, const Kernel& kernel, const Target& target) {
  std::vector<std::string> inputs, outputs;
  for (size_t i = 0; i < fn.params.size(); ++i) {
    const ir::Param& param = fn.params[i];
    std::string text = kernel.names[i] + ": ";
    text += param.is_tensor() ? to_string(without_limit(param.spec))
                              : std::string(to_string(param.value->type.dtype));
    (param.allocated ? outputs : inputs).push_back(std::move(text));
  }
  std::string line = fmt::format("{}   ", kernel.name);
  if (!outputs.empty()) line += fmt::format("{} = ", fmt::join(outputs, ", "));
  return line + fmt::format("{}({})   for {}", fn.name, fmt::join(inputs, ", "), target.name());
}

/// How the grid's loop covers its axes: "rows 64 x 16 tiles, cols 64 x 16 tiles".
std::string grid_line(const ir::Function& fn, const Kernel& kernel) {
  std::string line = "grid     ";
  for (const ir::Op* op : fn.body().ops) {
    if (op->kind != ir::OpKind::tile_loop) continue;
    for (int64_t axis : op->integers(ir::AttrKey::axes))
      line += fmt::format("{} by {}, ", fn.axes[axis].name.empty() ? "tiles" : fn.axes[axis].name,
                          fn.axes[axis].block);
    const int64_t group = op->integer_or(ir::AttrKey::group, 1);
    if (group > 1) line += fmt::format("in groups of {} tile rows, ", group);
  }
  if (kernel.grid->kind == Expr::Kind::integer)
    line += fmt::format("{} blocks of ", kernel.grid->value);
  else
    line += "blocks of ";
  line += fmt::format("{} threads", kernel.threads);
  if (kernel.cluster > 1) line += fmt::format(", in clusters of {}", kernel.cluster);
  return line;
}

std::string buffer_text(const SharedBuffer& buffer) {
  std::string text = buffer.name + " " +
                     (buffer.type.empty() ? std::string(to_string(buffer.dtype)) : buffer.type);
  for (int64_t extent : buffer.extents) text += fmt::format("[{}]", extent);
  return text;
}

}  // namespace

std::vector<std::string> header_lines(const ir::Function& traced, const ir::Function& lowered,
                                      const Kernel& kernel, const Config& config,
                                      const Target& target) {
  std::vector<std::string> lines = {signature(traced, kernel, target),
                                    "config   " + to_json(config), grid_line(lowered, kernel)};
  if (!kernel.buffers.empty()) {
    std::vector<std::string> buffers;
    for (const SharedBuffer& buffer : kernel.buffers) buffers.push_back(buffer_text(buffer));
    lines.push_back(
        fmt::format("shared   {} B: {}", kernel.shared_bytes, fmt::join(buffers, ", ")));
  }
  return lines;
}

}  // namespace tilewright::codegen
