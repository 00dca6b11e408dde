#include "cli/program.h"

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "tilewright/ir/error.h"

namespace tilewright::cli {

int run_program(int argc, const char* const* argv) {
  CLI::App app("Tilewright: tile kernels in C++, compiled to CUDA.", "tilewright");
  app.require_subcommand(1);
  app.footer("'tilewright COMMAND --help' describes a command.");
  add_list(app);
  add_show(app);
  add_run(app);
  add_explain(app);
  add_tune(app);
  add_cache(app);
  add_doctor(app);
  try {
    app.parse(argc, argv);  // runs the subcommand
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const Error& error) {
    fmt::print(stderr, "tilewright: {}\n", error.what());
    return 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "tilewright: {}\n", error.what());
    return 3;
  }
}

}  // namespace tilewright::cli
