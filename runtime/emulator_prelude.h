// What stands before a printed kernel when it is compiled for the CPU.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tilewright/codegen/plan.h"
#include "tilewright/codegen/prelude.h"
#include "tilewright/ir/host_function.h"
#include "tilewright/runtime/emulator_product.h"

namespace tilewright::runtime {

/// Indices as CUDA has them. The layout is shared with the host prelude.
struct Dim3 {
  unsigned x = 0, y = 0, z = 0;
};

/// What emulated code calls; a table of the loaded object, filled after loading. The layout is
/// shared with the host prelude, `pc` is where the code that calls continues.
struct EmulatorHooks {
  /// kind: 0 a read, 1 a write; plus 2 for one that the GPU may make in smaller pieces; 5 an
  /// atomic, plus 8 for one that releases; 16 after an atomic that acquires.
  void (*access)(const void* address, unsigned long bytes, int kind, const void* pc);
  unsigned char* (*shared)();
  Dim3 (*thread)();
  Dim3 (*block)();
  void (*barrier)(int line, const void* pc);
  unsigned (*shuffle)(unsigned word, int lane, int exclusive_or, const void* pc);
  void (*copy_async)(void* to, const void* from, int bytes, int read, const void* pc);
  void (*copy_async_commit)();
  void (*copy_async_wait)(int pending, const void* pc);
  float (*f16_to_float)(unsigned short bits);
  unsigned short (*float_to_f16)(float x);
  Dim3 (*grid)();
  unsigned (*shared_offset)(const void* address);
  void (*sync_warp)(const void* pc);
  void (*named_barrier)(int barrier, int threads, const void* pc);
  unsigned (*cluster_rank)();
  void (*cluster_sync)(const void* pc);
  void (*registers)(int count, int up, const void* pc);
  void (*fence)(int fence, const void* pc);  ///< an EmulatorFence
  /// action: a MbarrierAction; value: arrivals, bytes, a block of the cluster (-1: this), parity.
  void (*mbarrier)(int action, void* barrier, int value, const void* pc);
  /// blocks: a mask, 0 for the own block only.
  void (*bulk_load)(void* to, const void* map, void* barrier, unsigned blocks, int rank,
                    const int* at, const void* pc);
  void (*bulk_store)(const void* map, const void* from, int rank, const int* at, const void* pc);
  void (*bulk_commit)();
  void (*bulk_wait)(int pending, int read);
  void (*product)(const ProductCall* call, const void* pc);
  void (*product_commit)(const void* pc);
  void (*product_wait)(int pending, const void* pc);
  void (*store_at)(void* at, unsigned block, unsigned word, const void* pc);
  void (*assert_failed)(const char* message, const char* file, unsigned line);
  ir::HostFunction (*host_function)(const char* name);
  void (*grid_barrier)(int* arrivals, const void* pc);
  void (*step)(const void* pc);  ///< before each iteration of a while loop
};

/// Numbers of these are in the host prelude as well.
enum class EmulatorFence : int { proxy, mbarrier_init, product };
enum class MbarrierAction : int { init, expect, arrive, wait };

/// The part of a printed source that is the kernel itself (`struct Shared`, if there is one, and
/// the function), without header and prelude. InternalError when there is no kernel in it.
std::string_view kernel_body(std::string_view source);

/// Whether a helper of codegen/prelude.h has a host implementation.
bool has_host_twin(const codegen::Helper& helper);

/// The host implementations of all helpers of codegen/prelude.h and of the CUDA built-ins that
/// printed kernels use, as C++ without includes.
const std::string& host_prelude();

/// The translation unit for a kernel: host prelude, the body byte for byte with its lines numbered
/// as in `file`, the printed source, and `extern "C" void tw_entry(void** params)`.
std::string host_source(const codegen::KernelStep& step, const std::string& file);

}  // namespace tilewright::runtime
