// Which values each field of a config may take for a kernel on a target.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tilewright/codegen/config.h"
#include "tilewright/codegen/target.h"
#include "tilewright/ir/node.h"

namespace tilewright::tune {

/// One choice: a tile size, or one field (the matrix unit and the copies that suit it are one).
struct FieldChoice {
  std::string name;
  std::vector<std::string> values;  ///< as text, for reports
  bool is_block = false;
  bool is_unit = false;    ///< matrix unit and copies
  bool is_core = false;    ///< no tile size, but what registers depend on: unit, warps, chunks
  bool is_stages = false;  ///< slots of rings
  /// Which value a config has; -1 when none of these.
  std::function<int(const Config&)> find;
  std::function<void(Config&, int)> set;
};

/// The choices, tile sizes first. Those with a single value are among them.
std::vector<FieldChoice> choices_for(const ir::Function& fn, const Target& target);

/// The same config with fields that change nothing for this kernel at their defaults, and with the
/// kernel's own tunables as it was traced for.
class Canonical {
 public:
  Canonical(const ir::Function& fn, const Target& target);
  Config operator()(Config config) const;
  /// Whether fields go together in a way that makes sense: what only some copies and units use is
  /// left alone with others.
  bool sensible(const Config& config) const;

 private:
  size_t grid_axes_ = 0;
  bool dots_ = false, padded_ = false, rows_ = false;
  std::map<std::string, int64_t> tunables_;  // values that the kernel was traced for
  std::vector<int64_t> grid_sizes_;          // of axes that are known, else 0
  std::vector<int> grid_blocks_;             // position in Config::block, -1 when pinned
  std::vector<int64_t> pinned_;              // sizes of pinned ones
};

}  // namespace tilewright::tune
