// The functions that emulated code calls.
#include "tilewright/ir/error.h"
#include "tilewright/ir/node.h"
#include "tilewright/runtime/emulator_cluster.h"
#include "tilewright/runtime/half.h"

namespace tilewright::runtime {
namespace {

void on_access(const void* address, unsigned long bytes, int kind, const void* pc) {
  EmulatedCluster::current().on_access(reinterpret_cast<uintptr_t>(address),
                                       static_cast<int64_t>(bytes), kind, pc);
}

unsigned char* shared() {
  return reinterpret_cast<unsigned char*>(EmulatedCluster::current().shared());
}

Dim3 thread() { return {EmulatedCluster::current().thread(), 0, 0}; }

Dim3 block() { return {EmulatedCluster::current().block(), 0, 0}; }

void on_barrier(int line, const void* pc) { EmulatedCluster::current().on_barrier(line, pc); }

unsigned on_shuffle(unsigned word, int lane, int exclusive_or, const void* pc) {
  return EmulatedCluster::current().on_shuffle(word, lane, exclusive_or != 0, pc);
}

void on_copy(void* to, const void* from, int bytes, int read, const void* pc) {
  EmulatedCluster::current().on_copy(to, from, bytes, read, pc);
}

void on_commit() { EmulatedCluster::current().on_commit(); }

void on_wait(int pending, const void* pc) { EmulatedCluster::current().on_wait(pending, pc); }

float from_f16(unsigned short bits) { return f16_to_float(bits); }

unsigned short to_f16(float x) { return f16_from_double(x); }

Dim3 grid() { return {EmulatedCluster::current().grid(), 1, 1}; }

unsigned shared_offset(const void* address) {
  return static_cast<unsigned>(static_cast<const std::byte*>(address) -
                               EmulatedCluster::current().shared());
}

void on_sync_warp(const void* pc) { EmulatedCluster::current().on_sync_warp(pc); }

void on_named_barrier(int barrier, int threads, const void* pc) {
  EmulatedCluster::current().on_named_barrier(barrier, threads, pc);
}

unsigned cluster_rank() { return EmulatedCluster::current().rank(); }

void on_cluster_sync(const void* pc) { EmulatedCluster::current().on_cluster_sync(pc); }

void on_registers(int count, int up, const void* pc) {
  EmulatedCluster::current().on_registers(count, up != 0, pc);
}

void on_fence(int fence, const void* pc) {
  EmulatedCluster& cluster = EmulatedCluster::current();
  switch (static_cast<EmulatorFence>(fence)) {
    case EmulatorFence::proxy:
      return cluster.on_proxy_fence();
    case EmulatorFence::mbarrier_init:
      return cluster.on_mbarrier_fence();
    case EmulatorFence::product:
      return cluster.on_product_fence(pc);
  }
}

void on_mbarrier(int action, void* barrier, int value, const void* pc) {
  EmulatedCluster& cluster = EmulatedCluster::current();
  switch (static_cast<MbarrierAction>(action)) {
    case MbarrierAction::init:
      return cluster.on_mbarrier_init(barrier, value, pc);
    case MbarrierAction::expect:
      return cluster.on_mbarrier_expect(barrier, value, pc);
    case MbarrierAction::arrive:
      return cluster.on_mbarrier_arrive(barrier, value, pc);
    case MbarrierAction::wait:
      return cluster.on_mbarrier_wait(barrier, static_cast<unsigned>(value), pc);
  }
}

void on_bulk_load(void* to, const void* map, void* barrier, unsigned blocks, int rank,
                  const int* at, const void* pc) {
  EmulatedCluster::current().on_bulk_load(to, map, barrier, blocks, {at, static_cast<size_t>(rank)},
                                          pc);
}

void on_bulk_store(const void* map, const void* from, int rank, const int* at, const void* pc) {
  EmulatedCluster::current().on_bulk_store(map, from, {at, static_cast<size_t>(rank)}, pc);
}

void on_bulk_commit() { EmulatedCluster::current().on_bulk_commit(); }

void on_bulk_wait(int pending, int read) {
  EmulatedCluster::current().on_bulk_wait(pending, read != 0);
}

void on_product(const ProductCall* call, const void* pc) {
  EmulatedCluster::current().on_product(*call, pc);
}

void on_product_commit(const void* pc) { EmulatedCluster::current().on_product_commit(pc); }

void on_product_wait(int pending, const void* pc) {
  EmulatedCluster::current().on_product_wait(pending, pc);
}

void on_store_at(void* at, unsigned block, unsigned word, const void* pc) {
  EmulatedCluster::current().on_store_at(at, static_cast<int>(block), word, pc);
}

void assert_failed(const char* message, const char* file, unsigned line) {
  EmulatedCluster::current().on_assert_failed(message, {ir::intern(file), static_cast<int>(line)});
}

void on_grid_barrier(int* arrivals, const void* pc) {
  EmulatedCluster::current().on_grid_barrier(arrivals, pc);
}

void on_step(const void* pc) { EmulatedCluster::current().on_step(pc); }

}  // namespace

void fill_hooks(const SharedLibrary& library) {
  EmulatorHooks* hooks = nullptr;
  internal_check(library.find("tw_hooks", hooks), "an emulated kernel has no hooks");
  *hooks = {.access = on_access,
            .shared = shared,
            .thread = thread,
            .block = block,
            .barrier = on_barrier,
            .shuffle = on_shuffle,
            .copy_async = on_copy,
            .copy_async_commit = on_commit,
            .copy_async_wait = on_wait,
            .f16_to_float = from_f16,
            .float_to_f16 = to_f16,
            .grid = grid,
            .shared_offset = shared_offset,
            .sync_warp = on_sync_warp,
            .named_barrier = on_named_barrier,
            .cluster_rank = cluster_rank,
            .cluster_sync = on_cluster_sync,
            .registers = on_registers,
            .fence = on_fence,
            .mbarrier = on_mbarrier,
            .bulk_load = on_bulk_load,
            .bulk_store = on_bulk_store,
            .bulk_commit = on_bulk_commit,
            .bulk_wait = on_bulk_wait,
            .product = on_product,
            .product_commit = on_product_commit,
            .product_wait = on_product_wait,
            .store_at = on_store_at,
            .assert_failed = assert_failed,
            .host_function = [](const char* name) { return ir::find_host_function(name); },
            .grid_barrier = on_grid_barrier,
            .step = on_step};
}

}  // namespace tilewright::runtime
