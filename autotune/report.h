// A search as one page of HTML that needs nothing else: plots, the winning CUDA, what failed.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tilewright/autotune/search.h"
#include "tilewright/codegen/target.h"
#include "tilewright/ir/node.h"

namespace tilewright::tune {

/// One search.
struct ReportEntry {
  const ir::Function* fn = nullptr;
  Target target = {};
  SearchResult result = {};
  std::vector<std::string> cuda = {};  ///< of the winner, one text for each kernel of its plan
};

/// The whole page. It refers to no other file and no address, can be read in light and dark, and is
/// well-formed XML.
std::string report_page(std::span<const ReportEntry> entries);

/// How many trials ended in each way but ok, for people: "2 crashed, 1 wrong"; empty when none did.
std::string failures_text(std::span<const Trial> trials);
/// The trial of a config; null when it was not tried, or failed.
const Trial* measured_trial(const SearchResult& result, const Config& config);
/// The one that the model predicted to be the fastest among those that ran; null when none did.
const Trial* model_choice(const SearchResult& result);

}  // namespace tilewright::tune
