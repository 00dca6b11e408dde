// Configs as named choices, for learning from them and for reports.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tilewright/codegen/config.h"
#include "tilewright/ir/node.h"

namespace tilewright::tune {

/// Every field that differs from its default, as its JSON value; block sizes one by one, always:
/// {"block[0]": "128", "warps": "8", ..}.
using ConfigFields = std::map<std::string, std::string>;

ConfigFields fields_of(const Config& config);
/// The config with these fields; the others have their defaults. Raises the errors of parse_config.
Config config_of(const ConfigFields& fields);

/// What a field is where fields_of leaves it out: "4" for warps. Empty for fields without one
/// default.
std::string default_value(const std::string& field);

/// "block rows" for "block[0]" of a function whose first free axis is called rows; other names as
/// they are.
std::string field_title(const std::string& field, const ir::Function& fn);

}  // namespace tilewright::tune
