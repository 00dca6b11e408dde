// A kernel written by hand for Hopper runs without a report, and each single mistake in it is
// reported as what it is.
#include <gtest/gtest.h>

#include "tests/emulate/hopper_gemm.h"

namespace tilewright::testing {
namespace {

using runtime::FindingKind;

TEST(HopperGemmEmulated, RunsAsWritten) {
  const HopperResult result = run_hopper_gemm(HopperGemm::text());
  EXPECT_EQ(result.emulation.report(), "");
  EXPECT_EQ(result.difference, "");
}

struct Mutant {
  const char* name;
  const char* from;
  const char* to;
  int which;
  FindingKind kind;
};

const Mutant kMutants[] = {
    {"no wait for an empty stage", "tw::barrier_wait(&shared.empty[stage], phase);", "", 0,
     FindingKind::barrier_misuse},
    {"no wait for a full stage", "tw::barrier_wait(&shared.full[stage], phase);", "", 0,
     FindingKind::copy_in_flight},
    {"producer's parity", "unsigned phase = 1;", "unsigned phase = 0;", 0, FindingKind::deadlock},
    {"consumers' parity", "unsigned phase = 0;", "unsigned phase = 1;", 0,
     FindingKind::copy_in_flight},
    {"producer's phase never flips", "phase ^= 1;", "", 0, FindingKind::barrier_misuse},
    {"consumers' phase never flips", "phase ^= 1;", "", 1, FindingKind::copy_in_flight},
    {"too many bytes expected", "24576);", "24592);", 0, FindingKind::byte_count},
    {"too few bytes expected", "24576);", "24560);", 0, FindingKind::byte_count},
    {"b not expected", "24576);", "16384);", 0, FindingKind::copy_in_flight},
    {"one arrival too few expected", "barrier_init(&shared.empty[s], 4)",
     "barrier_init(&shared.empty[s], 3)", 0, FindingKind::operand_in_flight},
    {"one arrival too many expected", "barrier_init(&shared.empty[s], 4)",
     "barrier_init(&shared.empty[s], 5)", 0, FindingKind::deadlock},
    {"two arrivals at a full stage", "barrier_init(&shared.full[s], 1)",
     "barrier_init(&shared.full[s], 2)", 0, FindingKind::deadlock},
    {"stages of one block only released", "t < 2)", "t < 1)", 0, FindingKind::deadlock},
    {"last stage not released", "if (t < 2) tw::barrier_arrive_at(&shared.empty[previous], t);", "",
     0, FindingKind::deadlock},
    {"other stages released", "barrier_arrive_at(&shared.empty[previous], t)",
     "barrier_arrive_at(&shared.empty[stage], t)", 0, FindingKind::deadlock},
    {"initialized barriers without a fence", "tw::barrier_init_fence();", "", 0,
     FindingKind::fence_missing},
    {"no cluster barrier behind the initialization", "tw::cluster_sync();", "", 0,
     FindingKind::shared_race},
    {"no cluster barrier at the end", "tw::cluster_sync();", "", 1, FindingKind::block_ended},
    {"ring of two stages", "if (++stage == 3) {", "if (++stage == 2) {", 1, FindingKind::deadlock},
    {"multicast to one block", "(unsigned short)3", "(unsigned short)1", 0,
     FindingKind::byte_count},
    {"multicast to a block that is not there", "(unsigned short)3", "(unsigned short)7", 0,
     FindingKind::bad_operand},
    {"half of b at the wrong place", "rank * 2048", "rank * 1024", 0, FindingKind::copy_in_flight},
    {"a read with another swizzle", "k_major<128>", "k_major<64>", 0, FindingKind::bad_operand},
    {"b read with another swizzle", "mn_major<128>", "mn_major<32>", 0, FindingKind::bad_operand},
    {"no product fence", "tw::wgmma_fence();", "", 0, FindingKind::fence_missing},
    {"no commit", "tw::wgmma_commit();", "", 0, FindingKind::product_in_flight},
    {"wait for a group less", "wgmma_wait<1>", "wgmma_wait<2>", 0, FindingKind::operand_in_flight},
    {"last wait for products loosened", "wgmma_wait<0>", "wgmma_wait<1>", 0,
     FindingKind::product_in_flight},
    {"last wait for products removed", "tw::wgmma_wait<0>();", "", 0,
     FindingKind::product_in_flight},
    {"no wait for the store's reads", "if (t == 0) tw::tma_store_wait_read<0>();", "", 0,
     FindingKind::operand_in_flight},
    {"wait for the store's reads loosened", "tma_store_wait_read<0>", "tma_store_wait_read<1>", 0,
     FindingKind::operand_in_flight},
    {"no barrier behind that wait", "tw::sync_warps(1 + w, 128);", "", 0,
     FindingKind::operand_in_flight},
    {"no barrier before the store", "tw::sync_warps(1 + w, 128);", "", 1, FindingKind::shared_race},
    {"barriers of both warpgroups are one", "sync_warps(1 + w, 128)", "sync_warps(1, 128)", 1,
     FindingKind::shared_race},
    {"barrier of too many threads", "sync_warps(1 + w, 128)", "sync_warps(1 + w, 256)", 0,
     FindingKind::deadlock},
    {"no proxy fence", "tw::fence_async_shared();", "", 0, FindingKind::fence_missing},
    {"no store group", "tw::tma_store_commit();", "", 0, FindingKind::operand_in_flight},
    {"stores not waited for", "if (t == 0) tw::tma_store_wait<0>();", "", 0,
     FindingKind::copy_pending},
    {"producer's warp not together", "__syncwarp();", "", 0, FindingKind::warp_diverged},
    {"too many registers", "registers_up<240>", "registers_up<248>", 0, FindingKind::deadlock},
    {"registers no multiple of 8", "registers_down<24>", "registers_down<28>", 0,
     FindingKind::bad_registers},
    {"registers not given back", "tw::registers_down<24>();", "", 0, FindingKind::deadlock},
};

class HopperMutants : public ::testing::TestWithParam<size_t> {};

TEST_P(HopperMutants, IsReported) {
  const Mutant& mutant = kMutants[GetParam()];
  const HopperResult result =
      run_hopper_gemm(replaced(HopperGemm::text(), mutant.from, mutant.to, mutant.which));
  EXPECT_TRUE(result.emulation.has(mutant.kind))
      << mutant.name << ", expected: " << to_string(mutant.kind) << "\n"
      << result.emulation.report() << result.difference;
}

INSTANTIATE_TEST_SUITE_P(All, HopperMutants, ::testing::Range(size_t{0}, std::size(kMutants)));

}  // namespace
}  // namespace tilewright::testing
