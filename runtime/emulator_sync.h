// What threads of emulated blocks meet at: the state of barriers, warps and warpgroups.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tilewright/runtime/emulator_clock.h"

namespace tilewright::runtime {

/// Threads of a barrier that waits for a number of them.
struct Meeting {
  int arrived = 0;
  int needed = 0;
  Gathering gathering = {};
  std::vector<int> waiting = {};  ///< threads
};

/// An mbarrier object, by the PTX ISA.
struct Mbarrier {
  int expected = 0;    ///< arrivals of a phase
  int missing = 0;     ///< arrivals of the current phase
  int64_t bytes = 0;   ///< that the current phase still waits for
  uint32_t phase = 0;  ///< the current one; those before are complete
  int arrived = 0;     ///< bulk loads in the current phase
  int usual = 0;       ///< and in the one before
  int agent = 0;       ///< of bulk loads that arrive here
  Clock loads = 0;     ///< issued so far
  int init_thread = 0;
  Clock init_clock = 0;
  uint32_t init_code = 0;
  bool fenced = false;  ///< initialization is known to asynchronous units and other blocks
  /// Whether all loads have come that usually do, but with other bytes than it waits for.
  bool wrong_bytes() const { return missing == 0 && bytes != 0 && arrived >= usual; }

  Gathering gathering = {};
  KnowledgeRef complete = nullptr;  ///< what who waits for the last complete phase learns
  std::vector<int> waiting = {};    ///< threads
};

/// Operations that all lanes of a warp must reach together.
enum class WarpOp : uint8_t {
  none,
  shuffle,
  sync,
  named_barrier,
  cluster_barrier,
  registers,
  product_fence,
  product,
  product_commit,
  product_wait,
};

const char* to_string(WarpOp op);

struct Warp {
  unsigned words[2][32] = {};
  int shuffles = 0;  ///< finished
  int waiting = 0;   ///< lanes at the next operation
  WarpOp op = WarpOp::none;
  Gathering gathering = {};
};

/// Registers of a block, as setmaxnreg moves them.
struct RegisterPool {
  int free = 0;
  std::vector<int> waiting = {};  ///< warpgroups
};

/// What another block of the cluster did to a block's shared memory; the last by that agent there.
struct RemoteUse {
  Clock when = 0;
  int issuer = 0;  ///< thread
};

struct BlockState {
  std::map<int64_t, Mbarrier> mbarriers = {};  ///< by their offset in shared memory
  Meeting named[16] = {};                      ///< number 0 is __syncthreads
  RegisterPool registers = {};
  int running = 0;       ///< threads that have not ended
  Gathering ended = {};  ///< what the others knew at their end
  std::map<std::pair<int, uint32_t>, RemoteUse> remote_uses = {};  ///< by agent and code
};

}  // namespace tilewright::runtime
