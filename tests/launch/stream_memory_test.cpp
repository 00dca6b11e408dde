// Workspace on a GPU without memory pools. The first test to need a pool decides for the process,
// so these run in processes of their own.
#include "tilewright/runtime/stream_memory.h"

#include <gtest/gtest.h>

#include "tests/support/use_fake_cuda.h"
#include "tilewright/ir/error.h"
#include "tilewright/runtime/stream.h"

namespace tilewright::runtime {
namespace {

using testing::fake_cuda;
using testing::FakeCuda;

constexpr int kNotSupported = 801;

// Runs `body` in a fresh process where the next pool cannot be made; it returns whether all is
// well.
template <class Body>
void expect_without_pools(const Body& body, const char* output) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        FakeCuda& fake = fake_cuda();
        const ContextScope scope(0);
        const Stream stream = Stream::create();
        fake.fail_in = "cuMemPoolCreate";
        fake.fail_code = kNotSupported;
        std::exit(body(fake, stream) ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), output);
}

TEST(StreamMemoryWithoutPools, IsOrdinaryMemory) {
  expect_without_pools(
      [](FakeCuda& fake, const Stream& stream) {
        bool right = true;
        {
          const StreamMemory memory(0, 100, stream.handle());
          right = fake.allocations == 1 && fake.pool_allocated == 0 && memory.data() != nullptr;
        }
        return right && fake.allocations == 0;
      },
      "");
}

TEST(StreamMemoryWithoutPools, CannotBeHadInCapture) {
  expect_without_pools(
      [](FakeCuda& fake, const Stream& stream) {
        fake.capturing = stream.handle();
        try {
          const StreamMemory memory(0, 100, stream.handle());
        } catch (const Error& error) {
          std::fprintf(stderr, "%s\n", error.what());
          return error.id() == ErrorId::workspace_in_capture;
        }
        return false;
      },
      "100 bytes of workspace cannot be allocated while the stream is captured.*pass .workspace");
}

}  // namespace
}  // namespace tilewright::runtime
