#include "tilewright/runtime/emulator_findings.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright::runtime {
namespace {

constexpr size_t kMostFindings = 200;  // more say nothing new

std::string site_text(const AccessSite& site, int line, const EmulatorModule& module) {
  std::string text =
      fmt::format("  {} by thread {} of block {}", site.what, site.thread, site.block);
  if (line == 0) return text + "\n";
  text += fmt::format(", line {}: {}\n", line, module.text_of(line));
  const std::string user = module.user_line_of(line);
  if (!user.empty()) text += fmt::format("    from {}\n", user);
  return text;
}

}  // namespace

void Findings::add(FindingKind kind, std::string what, std::vector<AccessSite> sites) {
  Key key{kind, {}};
  for (size_t i = 0; i < std::min<size_t>(2, sites.size()); ++i)
    key.code[i] = sites[i].code != 0 ? sites[i].code : static_cast<uint32_t>(sites[i].line);
  std::ranges::sort(key.code);  // a race is one, whichever access comes second
  std::lock_guard lock(mutex_);
  const auto known = entries_.find(key);
  if (known != entries_.end()) {
    ++known->second.count;
  } else if (entries_.size() < kMostFindings) {
    entries_[key] = {std::move(what), std::move(sites), 1};
  }
}

std::vector<Finding> Findings::resolve(const EmulatorModule& module) const {
  std::lock_guard lock(mutex_);
  std::vector<uint32_t> offsets;
  for (const auto& [key, entry] : entries_)
    for (const AccessSite& site : entry.sites)
      if (site.code != 0) offsets.push_back(site.code);
  const std::vector<int> lines = module.lines_of(offsets);
  std::vector<Finding> found;
  size_t next = 0;
  for (const auto& [key, entry] : entries_) {
    Finding made{
        key.kind, fmt::format("{}: {}\n", to_string(key.kind), entry.what), {}, entry.count};
    for (const AccessSite& site : entry.sites) {
      const int line = site.code != 0 ? lines[next++] : site.line;
      made.lines.push_back(line);
      made.text += site_text(site, line, module);
    }
    // Code that the compiler copied is one statement still.
    const auto same = std::ranges::find_if(found, [&](const Finding& f) {
      return f.kind == made.kind && std::ranges::is_permutation(f.lines, made.lines);
    });
    if (same != found.end())
      same->count += made.count;
    else
      found.push_back(std::move(made));
  }
  return found;
}

}  // namespace tilewright::runtime
