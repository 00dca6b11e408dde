#include "tilewright/autotune/simulated_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tilewright/autotune/config_fields.h"
#include "tilewright/runtime/hash.h"

namespace tilewright::tune {
namespace {

// Seconds that the work of a real search takes, roughly, on a machine of 16 cores.
constexpr double kCompileSeconds = 0.8 / 16;
constexpr double kAttemptSeconds = 0.02;
constexpr double kReplaySeconds = 0.002;
constexpr double kHangSeconds = 4;
constexpr double kRestartSeconds = 0.8;

// In 0 .. 1 by a text. The hash alone would give texts that end alike numbers that begin alike.
double in_unit(const std::string& text) {
  const runtime::Hash128 hash = runtime::hash_bytes(text);
  uint64_t bits = hash.low ^ hash.high;
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
  return static_cast<double>((bits ^ bits >> 31) >> 11) * 0x1p-53;
}

// Standard normal, from two uniform numbers.
double normal(double u, double v) {
  return std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * std::numbers::pi * v);
}

}  // namespace

SimulatedDevice::SimulatedDevice(const ir::Function& fn, const Target& target,
                                 const Calibration& calibration, const SimulationOptions& options)
    : fn_(fn), target_(target), options_(options), model_(fn, target, calibration) {}

// In 0 .. 1, by the seed and a text.
double SimulatedDevice::uniform(const std::string& what) const {
  return in_unit(fmt::format("{} {} {}", options_.seed, fn_.name, what));
}
double SimulatedDevice::noise(const std::string& what) const {
  return in_unit(fmt::format("noise {} {}", options_.noise_seed, what));
}

double SimulatedDevice::true_microseconds(const Config& config) const {
  const ConfigFields fields = fields_of(config);
  double factor = 0;  // logarithm
  for (auto a = fields.begin(); a != fields.end(); ++a) {
    const std::string value = a->first + "=" + a->second;
    factor += options_.value_spread * (2 * uniform(value) - 1);
    for (auto b = std::next(a); b != fields.end(); ++b)
      factor += options_.pair_spread * (2 * uniform(value + " " + b->first + "=" + b->second) - 1);
  }
  double time = model_.microseconds(config) * std::exp(factor);
  if (outcome(config).status == Trial::Status::wrong) time /= 2;
  return time;
}

Attempt SimulatedDevice::outcome(const Config& config) const {
  double left = uniform("outcome " + to_json(config));
  const auto happens = [&](double part) {
    left -= part;
    return left < 0;
  };
  using Status = Trial::Status;
  if (happens(options_.crashes)) return {Status::crashed, "simulated: an illegal memory access"};
  if (happens(options_.hangs)) return {Status::timed_out, "simulated: no answer"};
  if (happens(options_.wrong)) return {Status::wrong, "simulated: elements of the result differ"};
  if (happens(options_.refused)) return {Status::failed_compile, "simulated: the compiler refuses"};
  return {};
}

std::vector<Attempt> SimulatedDevice::attempt(std::span<const Config> configs) {
  std::vector<Attempt> attempts;
  for (const Config& config : configs) {
    ++attempts_;
    const Attempt& made = attempts.emplace_back(outcome(config));
    seconds_ += kCompileSeconds + kAttemptSeconds;
    if (made.status == Trial::Status::crashed) seconds_ += kRestartSeconds;
    if (made.status == Trial::Status::timed_out) seconds_ += kHangSeconds + kRestartSeconds;
  }
  return attempts;
}

double SimulatedDevice::sample(const Config& config) {
  const std::string name = to_json(config);
  const std::string number = fmt::format("{} {}", name, sampled_[name]++);
  double time = true_microseconds(config);
  time *= std::exp(options_.noise * normal(noise("a " + number), noise("b " + number)));
  return noise("c " + number) < options_.outliers ? 1.5 * time : time;
}

std::vector<std::vector<double>> SimulatedDevice::race(std::span<const Config> configs,
                                                       int rounds) {
  std::vector<std::vector<double>> times(configs.size());
  for (size_t i = 0; i < configs.size(); ++i) {
    if (outcome(configs[i]).status != Trial::Status::ok) continue;
    for (int round = 0; round < rounds; ++round) times[i].push_back(sample(configs[i]));
    seconds_ += rounds * std::max(kReplaySeconds, 1e-6 * true_microseconds(configs[i]));
  }
  return times;
}

std::vector<Attempt> SimulatedDevice::recheck(std::span<const Config> configs) {
  std::vector<Attempt> attempts;
  for (const Config& config : configs) attempts.push_back(outcome(config));
  seconds_ += kAttemptSeconds * static_cast<double>(configs.size());
  return attempts;
}

}  // namespace tilewright::tune
