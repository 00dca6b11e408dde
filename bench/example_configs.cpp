#include "bench/example_row.h"

namespace tilewright::bench {
namespace {

// The first that matches a row counts. Found by sweeps on an H200.
constexpr const char* kHandSet = R"([
  {"shape":"matmul bf16 *",
   "config":{"block":[128,256,64],"warps":8,"stages":4,"copy":"tma","matrix":"wgmma","persistent":true,"cluster":2,"group":8}},
  {"shape":"linear_gelu bf16 *",
   "config":{"block":[128,256,64],"warps":8,"stages":4,"copy":"tma","matrix":"wgmma","persistent":true,"cluster":2,"group":8}},
  {"shape":"batched_matmul bf16 *",
   "config":{"block":[128,256,64],"warps":8,"stages":4,"copy":"tma","matrix":"wgmma","persistent":true,"group":8}},
  {"shape":"fp8_matmul *",
   "config":{"block":[128,256,128],"warps":8,"stages":4,"copy":"tma","matrix":"wgmma","persistent":true,"cluster":2,"group":8}}
])";

}  // namespace

const std::vector<ConfigEntry>& example_configs() {
  static const std::vector<ConfigEntry> entries = parse_config_entries(kHandSet);
  return entries;
}

}  // namespace tilewright::bench
