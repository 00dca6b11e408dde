// What device_bench and the processes that compile and measure its products say to each other: one
// line of JSON each.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/measure.h"
#include "bench/variant.h"
#include "tilewright/codegen/config.h"
#include "tilewright/codegen/target.h"

namespace tilewright::bench {

/// A job: what to do with a row.
struct Job {
  enum class Kind {
    compile,  ///< variants[0] to machine code for `target`; needs no GPU
    heats,    ///< run each variant and race it shortly against the rival
    race,     ///< run and check each variant, then race all of them and the rival
    copy,     ///< measure the device's copy bandwidth
  };
  Kind kind = Kind::race;
  std::string row = {};  ///< name of the problem
  std::vector<Variant> variants = {};
  std::optional<Config> rival_config = {};  ///< where the rival is a kernel of ours
  bool check = true;
  RaceOptions race = {};
  Target target = {};
};

/// Something that happened during a job.
struct Message {
  enum class Kind {
    rival,   ///< chosen: `text`; or `problem`: there is none
    begin,   ///< `variant` is about to run
    tried,   ///< it ran (its config, error, and in heats times), or `problem`
    racing,  ///< all that ran are about to be raced
    result,  ///< of `variant`
    done,    ///< the job is: `theirs` are the rival's times (of a copy: GB/s in `number`)
    failed,  ///< the job cannot be done: `problem`
  };
  Kind kind = Kind::done;
  int variant = -1;
  std::string text = {}, problem = {};
  std::string config = {};  ///< JSON, defaults filled in
  double number = 0;        ///< tried: largest error over what is allowed; compile: seconds
  Timing ours = {}, theirs = {};
};

std::string to_line(const Job& job);
std::string to_line(const Message& message);
/// Read those lines; throw std::exception when they are something else.
Job parse_job(std::string_view line);
Message parse_message(std::string_view line);

}  // namespace tilewright::bench
