// The tilewright program.
#pragma once

namespace tilewright::cli {

/// Runs the command line. Returns the exit code: 0 for success, 1 for an error the user can fix
/// (its message is on stderr), 2 for wrong usage, 3 for a bug in Tilewright.
int run_program(int argc, const char* const* argv);

}  // namespace tilewright::cli
