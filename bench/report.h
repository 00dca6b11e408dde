// What device_bench prints and writes.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure.h"

namespace tilewright::bench {

/// The machine and its software, for the header of a report.
struct Machine {
  std::string device, driver, nvrtc, cublas, date;
  int multiprocessors = 0;
  int64_t l2_bytes = 0;
};

/// Describes device 0 and now. Needs a usable driver.
Machine describe_machine();

/// One config of ours against one peer.
struct Row {
  std::string suite;      ///< "gemm", "memory" or "launch"
  std::string shape;      ///< "matmul f32 1000x1000x1000"
  std::string config;     ///< "hand", "default", or what the user gave
  std::string json = {};  ///< the config itself
  std::string peer = {};
  Timing ours = {}, theirs = {};
  std::map<std::string, double> others = {};  ///< microseconds of further peers
  double work = 0;                            ///< operations or bytes of one call; 0: no rate
  std::string unit = {};                      ///< of the rate: "TFLOP/s" or "GB/s"
  double floor_us = 0;       ///< no call can be faster than about this; 0: not known
  double want = 0;           ///< the peer's time over ours, at least; 0: nothing
  double error = 0;          ///< of ours, over what is allowed; above 1 is wrong
  std::string problem = {};  ///< why there is no time, or why the result is wrong

  /// Work a second in the row's unit.
  double rate() const;
  /// How many times as fast as the peer; below 1 is slower.
  double speed() const { return theirs.median / ours.median; }
};

/// Prints rows as they come and keeps a JSON file up to date, so that a run that is cut off has
/// given what it measured.
class Report {
 public:
  /// An empty `json_path`: no file.
  Report(Machine machine, std::string json_path);

  void add(Row row);
  /// A line about a suite, such as why it was left out.
  void note(const std::string& text);
  /// Puts JSON beside the rows, under this key.
  void attach(const std::string& key, const std::string& json);
  /// A line about something wrong that is not one row's.
  void problem(const std::string& text);
  /// Rows with a problem, and other problems.
  int problems() const;
  const std::vector<Row>& rows() const { return rows_; }

 private:
  void write_json() const;

  Machine machine_;
  std::string path_;
  std::vector<Row> rows_;
  std::vector<std::string> notes_;
  std::vector<std::pair<std::string, std::string>> attached_;
  int other_problems_ = 0;
};

}  // namespace tilewright::bench
