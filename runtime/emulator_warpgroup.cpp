// Products of emulated warpgroups: asynchronous from their issue to the wait for their group.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tilewright/ir/error.h"
#include "tilewright/runtime/emulator_cluster.h"

namespace tilewright::runtime {
namespace {

constexpr size_t kMostWrites = 1024;  // that a thread's memory is looked after, between fences

bool same_operand(const ProductOperand& a, const ProductOperand& b) {
  return a.descriptor == b.descriptor && a.swizzle == b.swizzle && a.k_first == b.k_first &&
         (a.registers == nullptr) == (b.registers == nullptr);
}

bool same_product(const ProductCall& a, const ProductCall& b) {
  return a.n == b.n && a.k == b.k && a.type_a == b.type_a && a.type_b == b.type_b &&
         (a.accumulate != 0) == (b.accumulate != 0) && same_operand(a.a, b.a) &&
         same_operand(a.b, b.b);
}

}  // namespace

// A thread touches its own memory: sums of products in flight are in registers that change.
void EmulatedCluster::check_sums(uintptr_t address, int64_t bytes, bool write, const void* pc) {
  Warpgroup::Lane& lane = this->lane();
  if (!lane.fenced) return;  // no products yet
  const uintptr_t end = address + static_cast<uintptr_t>(bytes);
  for (const SumsInFlight& sums : lane.in_flight) {
    const uintptr_t begin = reinterpret_cast<uintptr_t>(sums.at);
    if (address >= begin + sums.values.size() * 4 || end <= begin) continue;
    run_.findings.add(FindingKind::product_in_flight, "sums of a product that may not be complete",
                      {{code_of(pc), static_cast<int64_t>(block()), static_cast<int>(thread()),
                        write ? "write" : "read"},
                       {running().product_code, static_cast<int64_t>(block()),
                        static_cast<int>(thread()), "product"}});
    return;
  }
  if (!write) return;
  if (!lane.written.empty() && lane.written.back().second == address)
    lane.written.back().second = end;
  else if (lane.written.size() < kMostWrites)
    lane.written.emplace_back(address, end);
}

void EmulatedCluster::on_product_fence(const void* pc) {
  converge(WarpOp::product_fence, pc);
  lane().fenced = true;
  lane().written.clear();
}

// The thread's sums are the product's until the wait.
void EmulatedCluster::take_sums(Warpgroup::Lane& lane, const ProductCall& call, const void* pc) {
  std::byte* begin = static_cast<std::byte*>(call.sums);
  const uintptr_t first = reinterpret_cast<uintptr_t>(begin);
  const bool written = std::ranges::any_of(lane.written, [&](const auto& range) {
    return range.first < first + static_cast<uintptr_t>(call.n) * 2 && range.second > first;
  });
  if (!lane.fenced || written)
    report(FindingKind::fence_missing,
           "no wgmma_fence since this thread last wrote to the product's sums", pc, "product");
  auto known = std::ranges::find(lane.in_flight, begin, &SumsInFlight::at);
  if (known == lane.in_flight.end()) {
    SumsInFlight sums{begin, std::vector<uint32_t>(static_cast<size_t>(call.n / 2))};
    std::memcpy(sums.values.data(), begin, sums.values.size() * 4);
    std::memset(begin, 0xff, sums.values.size() * 4);
    known = lane.in_flight.insert(lane.in_flight.end(), std::move(sums));
  }
  known->group = lane.committed;
}

void EmulatedCluster::on_product(const ProductCall& call, const void* pc) {
  converge(WarpOp::product, pc);
  Warpgroup& group = warpgroup();
  Warpgroup::Lane& lane = this->lane();
  const size_t self = static_cast<size_t>(running_ % kWarpgroup);
  running().product_code = code_of(pc);
  take_sums(lane, call, pc);
  const size_t number = static_cast<size_t>(lane.issued++ - group.executed);
  if (number == group.products.size()) {
    group.products.push_back({.call = call, .code = code_of(pc), .group = lane.committed});
  }
  Warpgroup::Product& product = group.products[number];
  if (!same_product(product.call, call) || product.group != lane.committed) {
    report(FindingKind::bad_operand, "threads of one warpgroup ask for different products", pc,
           "product");
    abandon();
  }
  product.sums[self] = static_cast<std::byte*>(call.sums);
  if (call.a.registers != nullptr)
    std::memcpy(product.registers[self].data(), call.a.registers, sizeof product.registers[self]);
  if (++product.arrived < kWarpgroup) return;
  execute(group, product);
  group.products.pop_front();
  ++group.executed;
  for (const int thread : group.waiting) wake(thread);
  group.waiting.clear();
}

// An operand in shared memory, which the product reads at some time between now and its wait.
OperandValues EmulatedCluster::read_operand(const Warpgroup& group,
                                            const Warpgroup::Product& product,
                                            const ProductOperand& operand, int extent,
                                            ProductType type, const View& view) {
  const int own = block_of(running_);
  const std::byte* memory = shared_[static_cast<size_t>(own)];
  const std::string problem = operand_problem(operand, type);
  const auto site = shadow_.site(group.agent, running_, product.code, false);
  if (!problem.empty()) {
    run_.findings.add(FindingKind::bad_operand, problem, {site});
    abandon();
  }
  const std::vector<OperandChunk> chunks = operand_chunks(operand, extent, type);
  AgentAccess read = {.bytes = 16,
                      .aligned = false,
                      .code = product.code,
                      .agent = group.agent,
                      .when = static_cast<Clock>(product.group + 1),
                      .issuer = running_,
                      .pattern = static_cast<uint8_t>(swizzle_of(operand.descriptor))};
  for (const OperandChunk& chunk : chunks) {
    read.address = reinterpret_cast<uintptr_t>(memory + chunk.shared);
    if (!shadow_.access(read, view, own)) abandon();
  }
  return operand_values(chunks, operand, extent, type, memory);
}

// All threads have issued the product: its sums are computed, and are theirs after the wait.
void EmulatedCluster::execute(Warpgroup& group, const Warpgroup::Product& product) {
  const int first = running_ / kWarpgroup * kWarpgroup;
  if (group.agent < 0)
    group.agent = add_agent({Agent::Kind::product, block_of(running_), first % run_.threads});
  std::vector<int> threads;
  for (int i = 0; i < kWarpgroup; ++i) threads.push_back(first + i);
  Knowledge storage;
  const View view = clocks_.common(threads, storage);
  const ProductCall& call = product.call;
  const OperandValues a =
      call.a.registers != nullptr
          ? register_values(product.registers, call.type_a)
          : read_operand(group, product, call.a, kProductRows, call.type_a, view);
  const OperandValues b = read_operand(group, product, call.b, call.n, call.type_b, view);
  for (int i = 0; i < kWarpgroup; ++i) {
    Warpgroup::Lane& lane = group.lanes[static_cast<size_t>(i)];
    const auto sums =
        std::ranges::find(lane.in_flight, product.sums[static_cast<size_t>(i)], &SumsInFlight::at);
    internal_check(sums != lane.in_flight.end(), "sums of a product are lost");
    if (call.accumulate == 0) std::ranges::fill(sums->values, 0u);
    add_product(call, i, a, b, sums->values);
  }
}

void EmulatedCluster::on_product_commit(const void* pc) {
  converge(WarpOp::product_commit, pc);
  Warpgroup::Lane& lane = this->lane();
  ++lane.committed;
  lane.group_ends.push_back(lane.issued);
}

void EmulatedCluster::on_product_wait(int pending, const void* pc) {
  converge(WarpOp::product_wait, pc);
  Warpgroup& group = warpgroup();
  Warpgroup::Lane& lane = this->lane();
  const int done = lane.committed - pending;
  if (done <= lane.done) return;
  while (group.executed < lane.group_ends[static_cast<size_t>(done - 1)]) {
    group.waiting.push_back(running_);
    block_on(Wait::products, pc);
  }
  lane.done = done;
  std::erase_if(lane.in_flight, [&](const SumsInFlight& sums) {
    if (sums.group >= done) return false;
    std::memcpy(sums.at, sums.values.data(), sums.values.size() * 4);
    return true;
  });
  if (group.agent < 0) return;
  if (group.groups.size() < static_cast<size_t>(done))
    group.groups.resize(static_cast<size_t>(done));
  KnowledgeRef& known = group.groups[static_cast<size_t>(done - 1)];
  if (known == nullptr) {
    Gathering reads;
    reads.add(group.agent, static_cast<Clock>(done));
    known = reads.result();
  }
  clocks_.acquire(running_, known);
}

}  // namespace tilewright::runtime
