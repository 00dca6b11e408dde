// Plots as inline SVG, coloured by the classes of the page they stand in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::tune {

/// Text for an element or an attribute of HTML.
std::string escaped(std::string_view text);

/// One dimension of a plot: from a value to a pixel.
class Scale {
 public:
  enum class Kind { linear, logarithmic };
  /// Logarithmic scales need positive values.
  Scale(Kind kind, double least, double most, double from, double to);

  double at(double value) const;
  /// Round values inside, a few, and how they are written.
  std::vector<double> ticks() const;
  static std::string text(double value);

 private:
  Kind kind_;
  double least_, most_, from_, to_;
};

/// A point of a scatter plot.
struct Dot {
  double x = 0, y = 0;
  std::string style;  ///< class: "dot", "dot winner", ..
  std::string title;  ///< shown when pointed at
};

/// Dots over two logarithmic axes of the same unit, with the diagonal where both are equal.
std::string scatter(const std::vector<Dot>& dots, std::string_view x_title,
                    std::string_view y_title);

/// A line that falls in steps: (x, y) where it changes, to `end` on the right.
std::string falling_steps(const std::vector<std::pair<double, double>>& points, double end,
                          std::string_view x_title, std::string_view y_title);

/// One bar for each value of a choice.
struct Bar {
  std::string label;
  double value = 0;     ///< at least 1: over the best
  int count = 0;        ///< configs that it is of
  bool chosen = false;  ///< by the winner
};
/// Horizontal bars that begin at 1.
std::string bars(const std::vector<Bar>& bars, double most);

}  // namespace tilewright::tune
