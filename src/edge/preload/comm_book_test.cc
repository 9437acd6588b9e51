#include "edge/preload/comm_book.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace autoccl::preload {
namespace {

Comm handle(uintptr_t n) {
  return reinterpret_cast<Comm>(0x7f0000000000 + n * 4096);
}

Task task(uint64_t bytes) {
  Task t;
  t.bytes = bytes;
  t.nRanks = 2;
  return t;
}

class Book : public ::testing::Test {
 protected:
  CommEntry* make(Comm comm) {
    CommEntry* entry = book_->take();
    return entry != nullptr && book_->enter(*entry, comm) ? entry : nullptr;
  }
  std::unique_ptr<CommBook> book_ = std::make_unique<CommBook>();
};

TEST_F(Book, FindsEveryCommunicatorByItsHandle) {
  std::vector<CommEntry*> made;
  for (uintptr_t n = 0; n < CommBook::kCommunicators; ++n) made.push_back(make(handle(n)));
  for (uintptr_t n = 0; n < CommBook::kCommunicators; ++n) {
    ASSERT_NE(made[n], nullptr) << n;
    EXPECT_EQ(book_->find(handle(n)), made[n]);
  }
  EXPECT_EQ(book_->find(handle(9999)), nullptr);
}

TEST_F(Book, IsFullAtItsBoundAndHasRoomAgainWhenOneEnds) {
  for (uintptr_t n = 0; n < CommBook::kCommunicators; ++n) ASSERT_NE(make(handle(n)), nullptr);
  EXPECT_EQ(book_->take(), nullptr);
  book_->leave(*book_->find(handle(5)));
  EXPECT_NE(make(handle(1000)), nullptr);
}

TEST_F(Book, AHandleThatIsUsedAgainIsANewCommunicator) {
  CommEntry* first = make(handle(1));
  first->known.rank = 7;
  first->counts.count(task(64));
  book_->leave(*first);
  EXPECT_EQ(book_->find(handle(1)), nullptr);
  CommEntry* second = make(handle(1));
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->known.rank, -1);
  EXPECT_EQ(second->counts.total(), 0u);
  EXPECT_EQ(book_->calls(), 1u) << "calls of ended communicators stay counted";
}

TEST_F(Book, TenThousandCommunicatorsInARowLeaveNoTrace) {
  for (uintptr_t n = 0; n < 10000; ++n) {
    CommEntry* entry = make(handle(n % 777));
    ASSERT_NE(entry, nullptr) << n;
    book_->leave(*entry);
  }
  EXPECT_EQ(book_->communicators(), 10000u);
}

TEST_F(Book, AHandleStandsInItOnce) {
  ASSERT_NE(make(handle(1)), nullptr);
  EXPECT_EQ(make(handle(1)), nullptr);
}

TEST_F(Book, CallsAreCountedByTaskFromAllThreads) {
  CommEntry* entry = make(handle(1));
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < 1000; ++i) entry->counts.count(task(64 << (i % 4)));
    });
  for (auto& thread : threads) thread.join();
  int rows = 0;
  entry->counts.forEach([&](const Task& t, uint64_t calls) {
    ++rows;
    EXPECT_EQ(t.nRanks, 2);
    EXPECT_EQ(calls, 1000u);
  });
  EXPECT_EQ(rows, 4);
}

TEST_F(Book, TasksBeyondTheTableAreCountedTogether) {
  CommEntry* entry = make(handle(1));
  for (uint64_t i = 1; i <= 1000; ++i) entry->counts.count(task(i));
  EXPECT_EQ(entry->counts.total(), 1000u);
}

TEST_F(Book, AnAbortFromAnotherThreadMeetsNoStaleMemory) {
  std::atomic<bool> stop{false};
  std::thread caller([&] {
    while (!stop.load())
      if (CommEntry* entry = book_->find(handle(3))) entry->counts.count(task(64));
  });
  for (int i = 0; i < 2000; ++i)
    if (CommEntry* entry = make(handle(3))) book_->leave(*entry);
  stop.store(true);
  caller.join();
}

}  // namespace
}  // namespace autoccl::preload
