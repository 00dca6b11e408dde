#include "tilewright/autotune/svg_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tilewright::tune {
namespace {

constexpr double kWidth = 640, kHeight = 360;
constexpr double kLeft = 64, kRight = 16, kTop = 12, kBottom = 46;

// The range of some values with a little room on both sides; of one value too.
std::pair<double, double> padded(double least, double most, Scale::Kind kind) {
  if (kind == Scale::Kind::logarithmic) {
    const double room = std::max(0.06 * std::log(most / least), 0.05);
    return {least * std::exp(-room), most * std::exp(room)};
  }
  const double room = std::max(0.08 * (most - least), 0.02 * std::abs(most) + 1e-9);
  return {least - room, most + room};
}

// Grid lines, the values on them and the titles of both axes.
std::string frame(const Scale& x, const Scale& y, std::string_view x_title,
                  std::string_view y_title) {
  std::string svg;
  const double bottom = kHeight - kBottom, right = kWidth - kRight;
  for (const double tick : x.ticks())
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>"
        "<text class=\"tick\" x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>\n",
        x.at(tick), kTop, bottom, bottom + 16, Scale::text(tick));
  for (const double tick : y.ticks())
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{1}\" x2=\"{2}\" y1=\"{0:.1f}\" y2=\"{0:.1f}\"/>"
        "<text class=\"tick\" x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
        y.at(tick), kLeft, right, kLeft - 8, y.at(tick) + 4, Scale::text(tick));
  svg +=
      fmt::format("<text class=\"title\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                  (kLeft + right) / 2, kHeight - 8, escaped(x_title));
  svg += fmt::format(
      "<text class=\"title\" transform=\"translate(14 {:.1f}) rotate(-90)\" "
      "text-anchor=\"middle\">{}</text>\n",
      (kTop + bottom) / 2, escaped(y_title));
  return svg;
}

std::string picture(double width, double height, const std::string& label,
                    const std::string& contents) {
  return fmt::format(
      "<svg viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" role=\"img\" "
      "aria-label=\"{2}\">\n{3}</svg>\n",
      width, height, escaped(label), contents);
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else if (static_cast<unsigned char>(c) >= 32 || c == '\n' || c == '\t')
      result += c;
  }
  return result;
}

Scale::Scale(Kind kind, double least, double most, double from, double to)
    : kind_(kind), least_(least), most_(most), from_(from), to_(to) {
  if (most_ <= least_) most_ = least_ + 1;
}

double Scale::at(double value) const {
  const double part = kind_ == Kind::linear ? (value - least_) / (most_ - least_)
                                            : std::log(value / least_) / std::log(most_ / least_);
  return from_ + part * (to_ - from_);
}

std::vector<double> Scale::ticks() const {
  std::vector<double> ticks;
  // 1, 2 and 5 times powers of ten on a wide logarithmic scale, else evenly spaced round values.
  if (kind_ == Kind::logarithmic && most_ / least_ > 6) {
    const bool wide = most_ / least_ > 300;
    for (double power = std::pow(10, std::floor(std::log10(least_))); power <= most_; power *= 10)
      for (const double digit : {1.0, 2.0, 5.0})
        if ((!wide || digit == 1) && digit * power >= least_ && digit * power <= most_)
          ticks.push_back(digit * power);
    return ticks;
  }
  const double rough = (most_ - least_) / 5, power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double digit : {1.0, 2.0, 5.0})
    if (digit * power >= rough) {
      step = digit * power;
      break;
    }
  for (double tick = std::ceil(least_ / step) * step; tick <= most_; tick += step)
    ticks.push_back(std::abs(tick) < step / 100 ? 0 : tick);
  return ticks;
}

std::string Scale::text(double value) {
  if (value >= 10000) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value);
}

std::string scatter(const std::vector<Dot>& dots, std::string_view x_title,
                    std::string_view y_title) {
  if (dots.empty()) return "<p class=\"none\">nothing was measured</p>\n";
  const auto [x_least, x_most] = std::ranges::minmax(dots, {}, &Dot::x);
  const auto [y_least, y_most] = std::ranges::minmax(dots, {}, &Dot::y);
  constexpr auto kind = Scale::Kind::logarithmic;
  const auto [x0, x1] = padded(x_least.x, x_most.x, kind);
  const auto [y0, y1] = padded(y_least.y, y_most.y, kind);
  const Scale x(kind, x0, x1, kLeft, kWidth - kRight), y(kind, y0, y1, kHeight - kBottom, kTop);
  std::string svg = frame(x, y, x_title, y_title);
  const double from = std::max(x0, y0), to = std::min(x1, y1);
  if (from < to)
    svg += fmt::format(
        "<line class=\"equal\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
        x.at(from), y.at(from), x.at(to), y.at(to));
  for (const Dot& dot : dots)
    svg += fmt::format(
        "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"><title>{}</title></circle>\n",
        dot.style, x.at(dot.x), y.at(dot.y), dot.style == "dot" ? 3.5 : 6, escaped(dot.title));
  return picture(kWidth, kHeight, fmt::format("{} against {}", y_title, x_title), svg);
}

std::string falling_steps(const std::vector<std::pair<double, double>>& points, double end,
                          std::string_view x_title, std::string_view y_title) {
  if (points.empty()) return "<p class=\"none\">nothing was measured</p>\n";
  const auto [y0, y1] = padded(points.back().second, points.front().second, Scale::Kind::linear);
  const Scale x(Scale::Kind::linear, 0, 1.02 * std::max(end, 1e-3), kLeft, kWidth - kRight);
  const Scale y(Scale::Kind::linear, y0, y1, kHeight - kBottom, kTop);
  std::string svg = frame(x, y, x_title, y_title), path;
  for (const auto& [time, value] : points)
    path += path.empty() ? fmt::format("M{:.1f} {:.1f}", x.at(time), y.at(value))
                         : fmt::format("H{:.1f}V{:.1f}", x.at(time), y.at(value));
  svg += fmt::format("<path class=\"line\" d=\"{}H{:.1f}\"/>\n", path, x.at(end));
  for (size_t i = 0; i < points.size(); ++i)
    svg += fmt::format(
        "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"><title>{} us after {} "
        "s</title></circle>\n",
        i + 1 == points.size() ? "dot winner" : "dot", x.at(points[i].first),
        y.at(points[i].second), i + 1 == points.size() ? 6 : 3.5, Scale::text(points[i].second),
        Scale::text(points[i].first));
  return picture(kWidth, kHeight, fmt::format("{} against {}", y_title, x_title), svg);
}

std::string bars(const std::vector<Bar>& all, double most) {
  constexpr double width = 320, label = 76, row = 20, right = 86;
  const Scale x(Scale::Kind::linear, 1, std::max(most, 1.05), label, width - right);
  std::string svg;
  double y = 2;
  for (const Bar& bar : all) {
    const double length = std::max(x.at(std::min(bar.value, most)) - label, 3.0);
    svg += fmt::format(
        "<g><title>{0}: {1:.2f}x the best, of {2} configs</title>"
        "<text class=\"tick{11}\" x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{0}</text>"
        "<rect class=\"{5}\" x=\"{6}\" y=\"{7:.1f}\" width=\"{8:.1f}\" height=\"{9}\" rx=\"2\"/>"
        "<text class=\"tick\" x=\"{10:.1f}\" y=\"{4:.1f}\">{1:.2f}x <tspan "
        "class=\"faint\">({2})</tspan></text></g>\n",
        escaped(bar.label), bar.value, bar.count, label - 6, y + 13,
        bar.chosen ? "bar chosen" : "bar", label, y + 3, length, row - 6, label + length + 6,
        bar.chosen ? " chosen" : "");
    y += row;
  }
  svg += fmt::format("<line class=\"axis\" x1=\"{0}\" x2=\"{0}\" y1=\"0\" y2=\"{1}\"/>\n", label,
                     y + 2);
  return picture(width, y + 4, "time over the best by value", svg);
}

}  // namespace tilewright::tune
