// Printed kernels with one mistake in them.
#pragma once

#include <string>
#include <vector>

#include "tilewright/runtime/emulator.h"

namespace tilewright::testing {

enum class MutantKind {
  barrier,  ///< one barrier removed
  wait,     ///< one wait lets one more group of copies be in flight
  commit,   ///< one commit removed
  ring,     ///< the rings used as if they had one stage less
  guard,    ///< one condition of a branch or of a copy's extent dropped
  index,    ///< one store or copy to shared memory goes to a neighbouring place
  matrix,   ///< one load of matrices transposes, or does not; one product adds to other rows
};

const char* to_string(MutantKind kind);

struct Mutant {
  MutantKind kind;
  int line = 0;        ///< of the source, from 1
  std::string before;  ///< that line
  std::string source;
};

/// Every mutant of a printed source whose rings have `stages` stages.
std::vector<Mutant> mutants_of(const std::string& source, int stages);

/// Whether the emulation says of a mutant what it is; `differs`: from the interpreter's results.
bool reported(const Mutant& mutant, const runtime::Emulation& emulation, bool differs);

}  // namespace tilewright::testing
