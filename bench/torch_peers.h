// PyTorch's times for rows, measured by a Python script in processes of its own.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "bench/worker.h"

namespace tilewright::bench {

struct PeerTimes {
  std::map<std::string, double> us =
      {};                    ///< of a call, by peer; "copy" is a copy of the same bytes
  std::string problem = {};  ///< why some are missing
};

/// Reads an answer of the script; what cannot be read is a problem.
PeerTimes parse_peer_times(const std::string& line);

class TorchPeers {
 public:
  /// `python` runs the script, which lies beside this program.
  explicit TorchPeers(const std::string& python);

  /// Lets PyTorch compile for these rows by `count` processes, into its caches on disk.
  void prepare(std::span<const std::string> rows, int count);
  /// Measures a row. Nobody else may use the device meanwhile.
  PeerTimes measure(const std::string& row);

 private:
  Command command(const std::string& mode) const;

  std::string python_, script_;
  std::optional<Worker> worker_;
};

}  // namespace tilewright::bench
