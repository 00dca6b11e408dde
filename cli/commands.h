// The subcommands: each adds itself to the program.
#pragma once

namespace CLI {
class App;
}

namespace tilewright::cli {

void add_list(CLI::App& app);     ///< the kernels that are registered
void add_show(CLI::App& app);     ///< what a kernel is compiled to
void add_run(CLI::App& app);      ///< runs a kernel, and checks it
void add_explain(CLI::App& app);  ///< what a launch moves, computes and should take
void add_tune(CLI::App& app);     ///< searches for the best config
void add_cache(CLI::App& app);    ///< what is known from tuning, and where it is kept
void add_doctor(CLI::App& app);   ///< what this machine has and what is missing

}  // namespace tilewright::cli
