#include "cli/tune_progress.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright::cli {

std::string progress_text(const tune::Progress& progress) {
  std::string text = fmt::format("tried {}, failed {}", progress.tried, progress.failed);
  if (progress.best_us > 0)
    text += fmt::format(", best {:.4g} +- {:.2g} us", progress.best_us, progress.best_error);
  text += fmt::format(", {:.0f} s left", std::max(0.0, progress.budget - progress.seconds));
  if (progress.phase != "searching") text += fmt::format(" ({})", progress.phase);
  return text;
}

void TuneProgress::update(const std::string& name, const tune::Progress& progress) {
  std::lock_guard lock(mutex_);
  const std::string text = fmt::format("{}: {}", name, progress_text(progress));
  if (live_) {
    const size_t blank = shown_ > text.size() ? shown_ - text.size() : 0;
    fmt::print(to_, "\r{}{}", text, std::string(blank, ' '));
    shown_ = text.size();
  } else {
    double& best = best_[name];
    if (progress.best_us <= 0 || (best > 0 && progress.best_us > 0.995 * best)) return;
    best = progress.best_us;
    fmt::print(to_, "{}\n", text);
  }
  std::fflush(to_);
}

void TuneProgress::finish() {
  std::lock_guard lock(mutex_);
  if (live_ && shown_ > 0) fmt::print(to_, "\r{}\r", std::string(shown_, ' '));
  shown_ = 0;
  std::fflush(to_);
}

}  // namespace tilewright::cli
