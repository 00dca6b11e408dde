// The style sheet of reports.
#pragma once

#include <string_view>

namespace tilewright::tune {

/// CSS for light and dark; it holds no character that XML would need escaped.
std::string_view report_style();

}  // namespace tilewright::tune
