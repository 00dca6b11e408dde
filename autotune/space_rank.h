// The configs of a space that the time model finds fastest.
#pragma once

#include <functional>
#include <vector>

#include "tilewright/autotune/calibration.h"
#include "tilewright/autotune/space_choices.h"

namespace tilewright::tune {

/// The best `count`, best first: tiles, warps, units and copies are tried in all combinations with
/// as many stages as fit, then the other fields of the best ones. Few of one tile shape are taken,
/// so that the list is worth trying.
std::vector<Config> rank(const ir::Function& fn, const Target& target,
                         const Calibration& calibration, const std::vector<FieldChoice>& choices,
                         const Canonical& canonical,
                         const std::function<bool(const Config&)>& contains, size_t count);

}  // namespace tilewright::tune
