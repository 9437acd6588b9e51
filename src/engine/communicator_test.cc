// Ranks as threads of this process: every path against a plain reference.
#include "engine/communicator.h"

#include <gtest/gtest.h>

#include "engine/testing/ranks.h"

namespace autoccl {
namespace {

TEST(Communicator, SumsInPlaceOnEveryDirectPath) {
  testing::runAsThreads(2, [](Communicator& comm) {
    for (const char* spec : {"oneshot/simple/shm c=64K", "twoshot/simple/shm c=64K", "twoshot/simple/cma c=64K",
                             "twoshot/zero/shm c=4K", "oneshot/zero/shm c=4K"}) {
      comm.pin(parseConfig(spec));
      for (const size_t n : {0, 1, 100, 10000, 100000}) {
        std::vector<float> data(n, static_cast<float>(comm.rank() + 1));
        Call call;
        call.collective = Collective::kAllReduce;
        call.dtype = DataType::kFloat32;
        call.send = call.recv = data.data();
        call.count = n;
        ASSERT_TRUE(comm.execute(call, comm.issue(call))) << comm.failure().text;
        for (const float v : data) ASSERT_EQ(v, 3.0f) << spec << " " << n;
      }
    }
  });
}

}  // namespace
}  // namespace autoccl
