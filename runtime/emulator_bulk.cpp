// Bulk tensor copies of emulated blocks (PTX ISA, "cp.async.bulk.tensor").
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tilewright/runtime/emulator_cluster.h"
#include "tilewright/runtime/emulator_tensor_map.h"

namespace tilewright::runtime {

// The description behind a tensor map, for a copy to or from `place` in shared memory.
const EmulatedTensorMap& EmulatedCluster::checked_map(const void* map, int64_t place,
                                                      std::span<const int> at, const void* pc) {
  const auto& described = *static_cast<const EmulatedTensorMap*>(map);
  std::string problem = "the tensor map is none that the host made";
  if (described.mark == EmulatedTensorMap::kMark) {
    problem = bulk_copy_problem(*described.spec, at, place);
    if (problem.empty() && (place < 0 || place + box_bytes(*described.spec) > run_.shared_bytes)) {
      report(FindingKind::out_of_bounds,
             fmt::format("bytes {} to {} of shared memory, which has {} bytes", place,
                         place + box_bytes(*described.spec) - 1, run_.shared_bytes),
             pc, "bulk copy");
      abandon();
    }
  }
  if (!problem.empty()) {
    report(FindingKind::bad_operand, problem, pc, "bulk copy");
    abandon();
  }
  return described;
}

// Reads the box from the tensor.
EmulatedCluster::Load EmulatedCluster::begin_load(const EmulatedTensorMap& map, int64_t place,
                                                  std::span<const int> at, int agent, Clock when,
                                                  const void* pc) {
  Load load;
  load.bytes = box_bytes(*map.spec);
  load.code = code_of(pc);
  load.issuer = running_;
  AgentAccess read = {
      .aligned = false, .code = load.code, .agent = agent, .when = when, .issuer = running_};
  for_each_piece(*map.spec, at, place, [&](const BoxPiece& piece) {
    std::array<unsigned char, 16> data{};
    if (piece.inside > 0) {
      read.address = reinterpret_cast<uintptr_t>(map.base) +
                     static_cast<uintptr_t>(piece.tensor + piece.before);
      read.bytes = piece.inside;
      if (!shadow_.access(read, clocks_.view(running_), block_of(running_))) abandon();
      if (run_.counts) log(read.address, read.bytes, read.code);
      std::memcpy(data.data() + piece.before, reinterpret_cast<const void*>(read.address),
                  static_cast<size_t>(piece.inside));
    }
    load.pieces.emplace_back(piece.shared, data);
  });
  return load;
}

void EmulatedCluster::on_bulk_load(void* to, const void* map, void* barrier, unsigned blocks,
                                   std::span<const int> at, const void* pc) {
  const int own = block_of(running_);
  const int64_t place = place_of(to, own);
  const EmulatedTensorMap& described = checked_map(map, place, at, pc);
  if (blocks == 0) blocks = 1u << own;
  if (blocks >> run_.cluster != 0) {
    report(FindingKind::bad_operand,
           fmt::format("blocks {:#x} of a cluster of {}", blocks, run_.cluster), pc, "bulk load");
    abandon();
  }
  Load load;
  for (int block = 0; block < run_.cluster; ++block) {
    if ((blocks >> block & 1) == 0) continue;
    Mbarrier& mbarrier = mbarrier_at(barrier, block, pc);
    if (!mbarrier.fenced)
      run_.findings.add(
          FindingKind::fence_missing,
          "no fence makes the initialization of the mbarrier known to bulk loads",
          {{code_of(pc), static_cast<int64_t>(this->block()), static_cast<int>(thread()),
            "bulk load"},
           shadow_.site(mbarrier.init_thread, mbarrier.init_thread, mbarrier.init_code, true)});
    const Clock when = ++mbarrier.loads;
    if (block != own) note_remote_use(block, mbarrier.agent, when, pc);
    if (load.pieces.empty()) load = begin_load(described, place, at, mbarrier.agent, when, pc);
    load.barriers.emplace_back(block, place_of(barrier, own));
    load.when.push_back(when);
    AgentAccess write = {.bytes = 16,
                         .write = true,
                         .code = load.code,
                         .agent = mbarrier.agent,
                         .when = when,
                         .issuer = running_,
                         .pattern = static_cast<uint8_t>(described.spec->swizzle)};
    std::byte* memory = shared_[static_cast<size_t>(block)];
    for (const auto& [at_byte, data] : load.pieces) {
      write.address = reinterpret_cast<uintptr_t>(memory + at_byte);
      if (!shadow_.access(write, clocks_.view(running_), block)) abandon();
      std::memset(memory + at_byte, 0xff, data.size());
    }
  }
  loads_.push_back(std::move(load));
}

// The oldest bulk load arrives; whether there was one. That is as late as it can be: when no
// thread can go on without it.
bool EmulatedCluster::complete_load() {
  if (loads_.empty()) return false;
  const Load load = std::move(loads_.front());
  loads_.pop_front();
  const Agent& issuer = agents_[static_cast<size_t>(load.issuer)];
  const auto found = [&](FindingKind kind, std::string what) {
    run_.findings.add(kind, std::move(what),
                      {{load.code, first_block_ + issuer.block, issuer.thread, "bulk load"}});
  };
  for (size_t i = 0; i < load.barriers.size(); ++i) {
    const auto [block, place] = load.barriers[i];
    BlockState& state = blocks_[static_cast<size_t>(block)];
    if (state.running == 0) {
      found(FindingKind::copy_pending,
            "a bulk load to shared memory of a block had not arrived when the block ended");
      continue;
    }
    std::byte* memory = shared_[static_cast<size_t>(block)];
    for (const auto& [at, data] : load.pieces) std::memcpy(memory + at, data.data(), data.size());
    Mbarrier& mbarrier = state.mbarriers.at(place);
    mbarrier.gathering.add(mbarrier.agent, load.when[i]);
    mbarrier.bytes -= load.bytes;
    ++mbarrier.arrived;
    try_complete(mbarrier);
  }
  return true;
}

void EmulatedCluster::on_bulk_store(const void* map, const void* from, std::span<const int> at,
                                    const void* pc) {
  const int own = block_of(running_);
  const int64_t place = place_of(from, own);
  const EmulatedTensorMap& described = checked_map(map, place, at, pc);
  Thread& thread = running();
  if (thread.store_agent < 0) {
    thread.store_agent =
        add_agent({Agent::Kind::store_read, own, static_cast<int>(this->thread())});
    add_agent({Agent::Kind::store_write, own, static_cast<int>(this->thread())});
  }
  ++thread.stores_open;
  thread.store_code = code_of(pc);
  AgentAccess read = {.aligned = false,
                      .code = thread.store_code,
                      .agent = thread.store_agent,
                      .when = static_cast<Clock>(thread.store_groups + 1),
                      .issuer = running_,
                      .pattern = static_cast<uint8_t>(described.spec->swizzle)};
  AgentAccess write = read;
  write.write = true;
  write.agent = thread.store_agent + 1;
  for_each_piece(*described.spec, at, place, [&](const BoxPiece& piece) {
    if (piece.inside == 0) return;
    const std::byte* source = shared_[static_cast<size_t>(own)] + piece.shared + piece.before;
    read.address = reinterpret_cast<uintptr_t>(source);
    write.address = reinterpret_cast<uintptr_t>(described.base) +
                    static_cast<uintptr_t>(piece.tensor + piece.before);
    // An H200 writes whole 16 bytes, also where the tensor ends within them.
    read.bytes = write.bytes = piece.before == 0 ? piece.bytes : piece.inside;
    const View view = clocks_.view(running_);
    if (!shadow_.access(read, view, own) || !shadow_.access(write, view, own)) abandon();
    if (run_.counts) log(write.address, write.bytes, write.code);
    std::memcpy(reinterpret_cast<void*>(write.address), source, static_cast<size_t>(write.bytes));
  });
}

void EmulatedCluster::on_bulk_commit() {
  Thread& thread = running();
  ++thread.store_groups;
  thread.stores_open = 0;
}

void EmulatedCluster::on_bulk_wait(int pending, bool read) {
  Thread& thread = running();
  const int done = thread.store_groups - pending;
  thread.store_groups_read = std::max(thread.store_groups_read, done);
  if (thread.store_agent < 0 || done <= 0) return;
  Gathering known;
  known.add(thread.store_agent, static_cast<Clock>(done));
  if (!read) known.add(thread.store_agent + 1, static_cast<Clock>(done));
  clocks_.acquire(running_, known.result());
}

}  // namespace tilewright::runtime
