// The user's names for things, read from the source around their positions.
#pragma once

#include <string>
#include <vector>

#include "tilewright/ir/loc.h"

namespace tilewright::dsl {

/// The first line of the statement that `loc` is in, as far as punctuation tells.
Loc statement_of(Loc loc);
/// The variable that the statement at `loc` declares or assigns: "acc" for `tw::Tile acc = ..` and
/// `acc = ..`. Empty when the source cannot be read, or the statement is none of these.
std::string declared_name(Loc loc);
/// The loop variables of `for (auto [rows, cols] : ..)`; `count` empty names when they cannot be
/// read or are not as many.
std::vector<std::string> loop_names(Loc loc, size_t count);
/// The parameters of the first lambda from `loc` on; "arg0", .. when they cannot be read or are not
/// as many.
std::vector<std::string> parameter_names(Loc loc, size_t count);

}  // namespace tilewright::dsl
