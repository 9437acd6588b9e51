// Mailboxes where nothing but the segment is shared: no kernel copies, no registered memory.
#include "engine/mail.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <numeric>
#include <thread>
#include <vector>

namespace autoccl {
namespace {

constexpr bool kNoCma = false;

Mail::Reach nothingShared() {
  return {nullptr, [](void*, int, uint32_t, uint64_t) noexcept -> std::byte* { return nullptr; },
          [](void*) noexcept { return false; }, [](void*, int) noexcept -> pid_t { return 0; },
          &kNoCma};
}

TEST(Mail, LargeMessagesPassThroughTheSlotsInBothDirectionsAtOnce) {
  Layout layout(2, 0, 0);
  void* memory = ::mmap(nullptr, layout.bytes(), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  layout.place(static_cast<std::byte*>(memory));
  for (int r = 0; r < 2; ++r) layout.info(r).server.process = static_cast<uint64_t>(r) + 1;
  std::vector<std::thread> ranks;
  ranks.reserve(2);
  for (int r = 0; r < 2; ++r)
    ranks.emplace_back([&, r] {
      Mail mail(layout, r, nothingShared());
      WaitRules rules;
      rules.policy = WaitPolicy::kYield;
      for (const size_t count : {0UL, 10UL, 300'000UL, 7UL, 1'000'003UL}) {
        std::vector<uint32_t> out(count), in(count), want(count);
        std::iota(out.begin(), out.end(), static_cast<uint32_t>(r));
        std::iota(want.begin(), want.end(), static_cast<uint32_t>(1 - r));
        const Letter letters[] = {{true, 1 - r, out.data(), 4 * count},
                                  {false, 1 - r, in.data(), 4 * count}};
        uint8_t state[2] = {};
        ASSERT_EQ(mail.deliver(letters, state, rules), Mail::Outcome::kDone);
        ASSERT_EQ(in, want);
      }
    });
  for (auto& rank : ranks) rank.join();
  ::munmap(memory, layout.bytes());
}

}  // namespace
}  // namespace autoccl
