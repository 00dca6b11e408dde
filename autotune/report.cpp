#include "tilewright/autotune/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "tilewright/autotune/config_fields.h"
#include "tilewright/autotune/report_style.h"
#include "tilewright/autotune/svg_chart.h"
#include "tilewright/autotune/tune.h"
#include "tilewright/autotune/tune_key.h"

namespace tilewright::tune {
namespace {

bool ran(const Trial& trial) { return trial.status == Trial::Status::ok && trial.samples > 0; }

std::string tensors_of(const ir::Function& fn) {
  std::string text;
  for (const ir::Param& param : fn.params) {
    if (!param.is_tensor()) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", param.name, tilewright::to_string(param.spec));
  }
  return text;
}

std::string number(std::string_view value, std::string_view title, std::string_view note = {}) {
  return fmt::format("<div class=\"number\"><b>{}</b><span>{}</span><small>{}</small></div>\n",
                     escaped(value), escaped(title), escaped(note));
}

std::string time_text(const Trial& trial) { return fmt::format("{:.4g} us", trial.microseconds); }

std::string numbers(const ReportEntry& entry) {
  const SearchResult& result = entry.result;
  const auto failed = std::ranges::count_if(
      result.trials, [](const Trial& trial) { return trial.status != Trial::Status::ok; });
  std::string html = "<div class=\"numbers\">\n";
  if (result.best >= 0) {
    const Trial& best = result.winner();
    html += number(time_text(best), "best time",
                   fmt::format("± {:.2g} us, {} samples", best.error, best.samples));
    const auto against = [&](const Trial* trial, std::string_view title) {
      if (trial == nullptr) return;
      html += number(fmt::format("{:.2f}x", trial->microseconds / best.microseconds), title,
                     time_text(*trial));
    };
    against(model_choice(result), "over the model's first choice");
    against(measured_trial(result, default_config(*entry.fn, entry.target)),
            "over the default config");
  }
  html += number(fmt::format("{} of {}", result.trials.size(), result.space), "configs tried",
                 fmt::format("{} failed", failed));
  html += number(fmt::format("{:.3g} s", result.seconds), "search",
                 fmt::format("{}, seed {}", to_string(result.effort), result.seed));
  return html + "</div>\n";
}

std::string time_plots(const SearchResult& result) {
  std::vector<Dot> dots;
  for (size_t i = 0; i < result.trials.size(); ++i) {
    const Trial& trial = result.trials[i];
    if (!ran(trial) || trial.predicted <= 0) continue;
    dots.push_back({trial.predicted, trial.microseconds,
                    static_cast<int>(i) == result.best ? "dot winner" : "dot",
                    fmt::format("{}\nmeasured {:.4g} us, predicted {:.4g} us",
                                to_json(trial.config), trial.microseconds, trial.predicted)});
  }
  // The winner above the others.
  std::ranges::stable_sort(dots, {}, [](const Dot& dot) { return dot.style.size(); });
  std::vector<std::pair<double, double>> steps;
  for (const Improvement& step : result.improvements)
    steps.emplace_back(step.seconds, step.microseconds);
  return fmt::format(
      "<div class=\"plots\">\n<figure><figcaption>Measured against predicted time. On the dashed "
      "line the model is right; the winner is marked.</figcaption>\n{}</figure>\n"
      "<figure><figcaption>The best time found so far.</figcaption>\n{}</figure>\n</div>\n",
      scatter(dots, "predicted, us", "measured, us"),
      falling_steps(steps, result.seconds, "seconds of search", "best, us"));
}

// What a field is when it is not in the JSON.
std::string shown_value(const ConfigFields& fields, const std::string& name) {
  const auto it = fields.find(name);
  if (it == fields.end()) {
    const std::string known = default_value(name);
    return known.empty() ? "default" : known;
  }
  std::string value = it->second;
  std::erase(value, '"');
  return value;
}

bool less_as_number(const std::string& a, const std::string& b) {
  const double x = std::atof(a.c_str()), y = std::atof(b.c_str());
  return x != y ? x < y : a < b;
}

// For each field that was varied: the best time with each of its values.
std::string effects(const ReportEntry& entry) {
  const SearchResult& result = entry.result;
  if (result.best < 0) return {};
  struct Value {
    double best = std::numeric_limits<double>::infinity();
    int count = 0;
  };
  std::set<std::string> names;
  for (const Trial& trial : result.trials)
    for (const auto& [name, value] : fields_of(trial.config)) names.insert(name);
  const double best = result.winner().microseconds;
  const ConfigFields winner = fields_of(result.winner().config);
  std::string html = "<div class=\"effects\">\n";
  for (const std::string& name : names) {
    std::map<std::string, Value, decltype(&less_as_number)> values(less_as_number);
    for (const Trial& trial : result.trials) {
      if (!ran(trial)) continue;
      Value& value = values[shown_value(fields_of(trial.config), name)];
      value.best = std::min(value.best, trial.microseconds);
      ++value.count;
    }
    if (values.size() < 2) continue;
    std::vector<Bar> all;
    double most = 1.05;
    for (const auto& [label, value] : values) {
      all.push_back({label, std::max(1.0, value.best / best), value.count,
                     label == shown_value(winner, name)});
      most = std::max(most, std::min(all.back().value, 4.0));
    }
    html += fmt::format("<figure><figcaption>{}</figcaption>\n{}</figure>\n",
                        escaped(field_title(name, *entry.fn)), bars(all, most));
  }
  return html + "</div>\n";
}

std::string trial_row(const Trial& trial, bool winner) {
  return fmt::format(
      "<tr{}><td class=\"n\">{:.4g}</td><td class=\"n\">{:.2g}</td><td class=\"n\">{}</td>"
      "<td class=\"n\">{:.4g}</td><td><code>{}</code></td></tr>\n",
      winner ? " class=\"winner\"" : "", trial.microseconds, trial.error, trial.samples,
      trial.predicted, escaped(to_json(trial.config)));
}

std::string fastest_table(const SearchResult& result) {
  std::vector<int> order;
  for (size_t i = 0; i < result.trials.size(); ++i)
    if (ran(result.trials[i])) order.push_back(static_cast<int>(i));
  const auto time = [&](int i) { return result.trials[static_cast<size_t>(i)].microseconds; };
  std::ranges::stable_sort(order, {}, [&](int i) { return std::pair(i != result.best, time(i)); });
  constexpr size_t shown = 12;
  std::string rows, rest;
  for (size_t i = 0; i < order.size(); ++i)
    (i < shown ? rows : rest) +=
        trial_row(result.trials[static_cast<size_t>(order[i])], order[i] == result.best);
  const std::string head =
      "<thead><tr><th>us</th><th>±</th><th>samples</th><th>predicted</th><th>config</th></tr>"
      "</thead>";
  std::string html =
      fmt::format("<div class=\"wide\"><table>{}<tbody>\n{}</tbody></table></div>\n", head, rows);
  if (!rest.empty())
    html += fmt::format(
        "<details><summary>the other {} that ran</summary><div class=\"wide\"><table>{}<tbody>\n{}"
        "</tbody></table></div></details>\n",
        order.size() - shown, head, rest);
  return html;
}

std::string failures_table(const ReportEntry& entry) {
  // The same reason once, with how often.
  std::map<std::pair<std::string, std::string>, std::vector<const Trial*>> reasons;
  for (const Trial& trial : entry.result.trials)
    if (trial.status != Trial::Status::ok)
      reasons[{std::string(to_string(trial.status)), trial.message}].push_back(&trial);
  if (reasons.empty()) return "<p class=\"none\">No config failed.</p>\n";
  std::string rows;
  for (const auto& [reason, trials] : reasons) {
    std::string note;
    if (trials.front()->status == Trial::Status::wrong)
      note = fmt::format("<br/>A wrong result is a bug in Tilewright. To see it: <code>{}</code>",
                         escaped(reproducer(*entry.fn, entry.target, *trials.front())));
    rows += fmt::format(
        "<tr><td>{}</td><td class=\"n\">{}</td><td><pre class=\"reason\">{}</pre>{}</td>"
        "<td><code>{}</code></td></tr>\n",
        reason.first, trials.size(), escaped(reason.second), note,
        escaped(to_json(trials.front()->config)));
  }
  return fmt::format(
      "<div class=\"wide\"><table><thead><tr><th>what</th><th>configs</th><th>reason</th><th>the "
      "first</th></tr></thead><tbody>\n{}</tbody></table></div>\n",
      rows);
}

std::string section(const ReportEntry& entry, size_t at) {
  const SearchResult& result = entry.result;
  std::string html =
      fmt::format("<section id=\"s{}\">\n<h1>{} <span class=\"device\">on {}</span></h1>\n", at,
                  escaped(entry.fn->name), escaped(result.device));
  if (result.device.starts_with("simulated"))
    html +=
        "<p class=\"warning\">Simulated: no GPU was involved. Times are those of the time model, "
        "distorted and with noise.</p>\n";
  if (result.device.starts_with("emulated"))
    html +=
        "<p class=\"warning\">Emulated: no GPU was involved. Times are those of the emulation on "
        "the CPU.</p>\n";
  html +=
      fmt::format("<p class=\"specs\">{}</p>\n{}", escaped(tensors_of(*entry.fn)), numbers(entry));
  if (result.best >= 0)
    html += fmt::format("<p>The winner: <code class=\"config\">{}</code></p>\n",
                        escaped(to_json(result.winner().config)));
  html += fmt::format("<p>The search ended because {}.</p>\n<h2>Times</h2>\n{}",
                      to_string(result.ending), time_plots(result));
  html +=
      "<h2>What each choice does</h2>\n<p>The best time with each value, over the best of all; in "
      "brackets how many configs had it. The winner's values are marked.</p>\n" +
      effects(entry) + "<h2>The fastest configs</h2>\n" + fastest_table(result) +
      "<h2>Failures</h2>\n" + failures_table(entry);
  if (!entry.cuda.empty()) html += "<h2>The winning CUDA</h2>\n";
  for (const std::string& text : entry.cuda)
    html += fmt::format("<pre class=\"cuda\">{}</pre>\n", escaped(text));
  return html + "</section>\n";
}

// Which shapes there are, where there are several.
std::string contents(std::span<const ReportEntry> entries) {
  if (entries.size() < 2) return {};
  std::string rows;
  for (size_t i = 0; i < entries.size(); ++i) {
    const SearchResult& result = entries[i].result;
    rows += fmt::format(
        "<tr><td><a href=\"#s{}\">{}</a></td><td>{}</td><td class=\"n\">{}</td><td><code>{}</code>"
        "</td></tr>\n",
        i, escaped(entries[i].fn->name), escaped(tensors_of(*entries[i].fn)),
        result.best >= 0 ? time_text(result.winner()) : "-",
        result.best >= 0 ? escaped(to_json(result.winner().config)) : "");
  }
  return fmt::format(
      "<section><h1>{} searches</h1><div class=\"wide\"><table><thead><tr><th>kernel</th>"
      "<th>tensors</th><th>best</th><th>config</th></tr></thead><tbody>\n{}</tbody></table></div>"
      "</section>\n",
      entries.size(), rows);
}

}  // namespace

std::string failures_text(std::span<const Trial> trials) {
  std::map<Trial::Status, int> counts;
  for (const Trial& trial : trials)
    if (trial.status != Trial::Status::ok) ++counts[trial.status];
  std::string text;
  for (const auto& [status, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, to_string(status));
  return text;
}

const Trial* measured_trial(const SearchResult& result, const Config& config) {
  for (const Trial& trial : result.trials)
    if (ran(trial) && trial.config == config) return &trial;
  return nullptr;
}

const Trial* model_choice(const SearchResult& result) {
  const Trial* choice = nullptr;
  for (const Trial& trial : result.trials)
    if (ran(trial) && (choice == nullptr || trial.predicted < choice->predicted)) choice = &trial;
  return choice;
}

std::string report_page(std::span<const ReportEntry> entries) {
  std::string body = contents(entries);
  for (size_t i = 0; i < entries.size(); ++i) body += section(entries[i], i);
  const std::string title =
      entries.size() == 1 ? fmt::format("Tuning {}", entries[0].fn->name) : "Tuning";
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>{}</title>\n"
      "<style>\n{}</style>\n</head>\n<body>\n{}<footer>Made by tilewright tune.</footer>\n"
      "</body>\n</html>\n",
      escaped(title), report_style(), body);
}

}  // namespace tilewright::tune
