#include "tilewright/autotune/worker_session.h"

#include <algorithm>
#include <cstring>

#include "tilewright/autotune/measure.h"
#include "tilewright/autotune/plan_text.h"
#include "tilewright/ir/error.h"

namespace tilewright::tune {
namespace {

constexpr int64_t kAlign = 256;  // of tensors, plus what their spec takes away
constexpr int64_t kGuard = 256;  // bytes around each that nobody may write
constexpr std::byte kGuardByte{0x5c};
constexpr int kMostSets = 512;
constexpr int kRepetitions = 3;              // of a recheck on the same data
constexpr int64_t kLargeResults = 16 << 20;  // bytes; of those a recheck makes one

int64_t round_up(int64_t value) { return (value + kAlign - 1) / kAlign * kAlign; }

int64_t bytes_of(const WorkerParam& param) { return param.spec.span() * size_of(param.spec.dtype); }

bool owns_memory(const WorkerParam& param) { return param.tensor && param.same_as < 0; }

// Attempts that do not throw: what went wrong, as an answer.
std::string text_of(const std::exception& error) {
  std::string text = error.what();
  return text.empty() ? "an unknown failure" : text;
}

}  // namespace

WorkerAnswer WorkerSession::answer(const WorkerJob& job) {
  WorkerAnswer answer;
  try {
    switch (job.kind) {
      case WorkerJob::Kind::setup:
        setup(job);
        answer.verified = !expected_.empty();
        break;
      case WorkerJob::Kind::attempt:
        attempt(job, answer);
        break;
      case WorkerJob::Kind::race:
        race(job, answer);
        break;
      case WorkerJob::Kind::recheck:
        recheck(job, answer);
        break;
      case WorkerJob::Kind::keep:
        keep(job);
        break;
    }
  } catch (const std::exception& error) {
    answer.problem = text_of(error);
    must_end_ = device_ == nullptr || !device_->healthy();
  }
  answer.ends = must_end_;
  return answer;
}

WorkerSession::Layout WorkerSession::lay_out() const {
  Layout layout;
  int64_t next = kGuard;
  for (const WorkerParam& param : params_) {
    layout.offsets.push_back(-1);
    if (!param.tensor) continue;
    if (param.same_as >= 0) {
      layout.offsets.back() = layout.offsets[static_cast<size_t>(param.same_as)];
      continue;
    }
    next = round_up(next);
    // Exactly the alignment that the kernel is compiled for, so that nothing better is relied on.
    layout.offsets.back() = next + (param.spec.alignment < 16 ? param.spec.alignment : 0);
    next = layout.offsets.back() + bytes_of(param) + kGuard;
  }
  layout.bytes = round_up(next);
  return layout;
}

// What a set holds before a candidate runs: the caller's data, or random; of the second image other
// random data.
WorkerSession::Bytes WorkerSession::make_image(int number) const {
  Bytes image(static_cast<size_t>(layout_.bytes), kGuardByte);
  const std::span<const std::byte> data = data_();
  for (size_t i = 0; i < params_.size(); ++i) {
    const WorkerParam& param = params_[i];
    if (!owns_memory(param)) continue;
    std::byte* const to = image.data() + layout_.offsets[i];
    if (param.poisoned) {
      fill_poison(param.spec.dtype, to, bytes_of(param));
    } else if (param.offset >= 0) {
      const auto from =
          data.subspan(static_cast<size_t>(param.offset), static_cast<size_t>(bytes_of(param)));
      std::ranges::copy(from, to);
    } else {
      fill_random(param.spec.dtype, to, param.spec.span(),
                  param.seed + 0x9e3779b9u * static_cast<uint64_t>(number));
    }
  }
  return image;
}

ParamValues WorkerSession::values_in(std::byte* memory) const {
  ParamValues values;
  for (size_t i = 0; i < params_.size(); ++i) {
    runtime::ParamValue& value = values.emplace_back();
    value.bits = params_[i].bits;
    if (params_[i].tensor) value.bits = reinterpret_cast<uintptr_t>(memory + layout_.offsets[i]);
  }
  return values;
}

void WorkerSession::setup(const WorkerJob& job) {
  loaded_.clear();
  expected_.clear();
  expected_of_second_.clear();
  claims_.clear();
  images_.clear();
  sets_.clear();
  memories_.clear();
  if (device_ == nullptr || device_name_ != job.device) device_ = open_worker_device(job.device);
  device_name_ = job.device;
  device_->release_all();
  params_ = job.params;
  replay_us_ = job.replay_us;
  layout_ = lay_out();
  int64_t bytes = 0;  // that a call uses
  restores_ = false;
  bool known = true;
  for (const WorkerParam& param : params_) {
    if (owns_memory(param)) bytes += bytes_of(param);
    restores_ |= param.written && !param.poisoned;
    known &= !param.written || param.expected >= 0;
  }
  const int64_t fit = device_->memory_limit() / layout_.bytes - 2;
  const int count = static_cast<int>(std::clamp<int64_t>(
      sets_for_cold_cache(bytes, device_->l2_bytes()), 1, std::clamp<int64_t>(fit, 1, kMostSets)));
  for (int number = 0; number < 2; ++number) {
    const Bytes image = make_image(number);
    images_.push_back(device_->allocate(layout_.bytes));
    device_->upload(images_.back(), image.data(), layout_.bytes);
  }
  for (int set = 0; set < count; ++set) {
    memories_.push_back(device_->allocate(layout_.bytes));
    device_->copy(memories_.back(), images_[static_cast<size_t>(set) % 2], layout_.bytes);
    sets_.push_back(values_in(memories_.back()));
  }
  if (!known) return;
  const std::span<const std::byte> data = data_();
  for (const WorkerParam& param : params_) {
    Bytes& result = expected_.emplace_back();
    if (!param.written) continue;
    const auto from =
        data.subspan(static_cast<size_t>(param.expected), static_cast<size_t>(bytes_of(param)));
    result.assign(from.begin(), from.end());
  }
}

// Runs once on a fresh copy of an image: what each written parameter then holds. `broken_guard`
// names a tensor beside which something was written.
std::vector<WorkerSession::Bytes> WorkerSession::run_on(int image, LoadedPlan& plan,
                                                        std::string& broken_guard) {
  std::byte* const memory = memories_[0];
  device_->copy(memory, images_[static_cast<size_t>(image)], layout_.bytes);
  device_->run(plan, sets_[0]);
  std::vector<Bytes> results(params_.size());
  for (size_t i = 0; i < params_.size(); ++i) {
    const WorkerParam& param = params_[i];
    if (owns_memory(param)) {
      Bytes guards(2 * kGuard);
      device_->download(guards.data(), memory + layout_.offsets[i] + bytes_of(param), kGuard);
      device_->download(guards.data() + kGuard, memory + layout_.offsets[i] - kGuard, kGuard);
      const bool whole = std::ranges::all_of(guards, [](std::byte b) { return b == kGuardByte; });
      if (!whole && broken_guard.empty()) broken_guard = param.name;
    }
    if (!param.written) continue;
    results[i].resize(static_cast<size_t>(bytes_of(param)));
    device_->download(results[i].data(), memory + layout_.offsets[i], bytes_of(param));
  }
  return results;
}

// Empty when they are the same but for rounding.
std::string WorkerSession::compare_with(const std::vector<Bytes>& expected,
                                        const std::vector<Bytes>& results) const {
  for (size_t i = 0; i < params_.size(); ++i) {
    const WorkerParam& param = params_[i];
    if (!param.written) continue;
    const Difference difference = compare(param.spec.dtype, results[i].data(), expected[i].data(),
                                          param.spec.span(), param.tolerance);
    if (difference.wrong > 0)
      return fmt::format(
          "{} of {} elements of '{}' are wrong; the one at offset {} is {:.9g}, which should be "
          "{:.9g} (within {:.3g})",
          difference.wrong, param.spec.span(), param.name, difference.where, difference.found,
          difference.expected, difference.allowed);
  }
  return {};
}

// Until two candidates agree, nobody knows which result is right.
void WorkerSession::settle(int id, std::vector<Bytes> results, WorkerAnswer& answer) {
  const auto agrees = std::ranges::find_if(
      claims_, [&](const Claim& claim) { return compare_with(claim.results, results).empty(); });
  if (agrees == claims_.end()) {
    claims_.push_back({std::move(results), {id}});
    return;
  }
  expected_ = std::move(agrees->results);
  claims_.erase(agrees);
  for (const Claim& claim : claims_)
    answer.disproved.insert(answer.disproved.end(), claim.ids.begin(), claim.ids.end());
  claims_.clear();
  answer.verified = true;
}

void WorkerSession::attempt(const WorkerJob& job, WorkerAnswer& answer) {
  const int id = job.ids.at(0);
  try {
    std::unique_ptr<LoadedPlan> plan = device_->load(decode_plan(job.plan), job.binaries, params_);
    std::string broken_guard;
    std::vector<Bytes> results = run_on(0, *plan, broken_guard);
    answer.verified = !expected_.empty();
    if (!broken_guard.empty()) {
      answer.status = Trial::Status::wrong;
      answer.message =
          fmt::format("it writes past the end or before the beginning of '{}'", broken_guard);
    } else if (job.trusted) {
      expected_ = std::move(results);
      answer.verified = true;
    } else if (!expected_.empty()) {
      answer.message = compare_with(expected_, results);
      if (!answer.message.empty()) answer.status = Trial::Status::wrong;
    } else {
      settle(id, std::move(results), answer);
    }
    if (answer.status == Trial::Status::ok) loaded_[id] = std::move(plan);
  } catch (const CandidateMistake& mistake) {
    answer.status = Trial::Status::wrong;
    answer.message = text_of(mistake);
  } catch (const std::exception& error) {
    must_end_ = !device_->healthy();
    answer.status = must_end_ ? Trial::Status::crashed : Trial::Status::refused;
    answer.message = text_of(error);
  }
}

void WorkerSession::race(const WorkerJob& job, WorkerAnswer& answer) {
  std::vector<LoadedPlan*> plans;
  for (const int id : job.ids) plans.push_back(loaded_.at(id).get());
  RaceSettings settings{.sets = sets_, .rounds = job.rounds, .replay_us = replay_us_};
  if (restores_)
    settings.restore = [this] {
      for (size_t set = 0; set < memories_.size(); ++set)
        device_->copy(memories_[set], images_[set % 2], layout_.bytes);
    };
  answer.times = device_->race(plans, settings);
}

// On the data of both images, and several times: what depends on the order in which blocks run
// shows now and then only.
void WorkerSession::recheck(const WorkerJob& job, WorkerAnswer& answer) {
  answer.messages.resize(job.ids.size());
  LoadedPlan &reference = *loaded_.at(job.ids.at(0)), &rechecked = *loaded_.at(job.ids.at(1));
  int64_t bytes = 0;
  for (const WorkerParam& param : params_) bytes += param.written ? bytes_of(param) : 0;
  const int repetitions = bytes > kLargeResults ? 1 : kRepetitions;
  std::string broken_guard, &message = answer.messages[1];
  for (int image = 0; image < 2; ++image) {
    if (image == 1 && expected_of_second_.empty())
      expected_of_second_ = run_on(image, reference, broken_guard);
    const bool unverified = image == 0 && expected_.empty();
    const std::vector<Bytes> first =
        unverified ? run_on(image, reference, broken_guard) : std::vector<Bytes>();
    const std::vector<Bytes>& expected = image == 1   ? expected_of_second_
                                         : unverified ? first
                                                      : expected_;
    for (int again = 0; again < repetitions && message.empty(); ++again) {
      message = compare_with(expected, run_on(image, rechecked, broken_guard));
      if (!message.empty()) message += ", when run again";
    }
  }
}

void WorkerSession::keep(const WorkerJob& job) {
  std::erase_if(loaded_, [&](const auto& entry) {
    return std::ranges::find(job.ids, entry.first) == job.ids.end();
  });
}

}  // namespace tilewright::tune
