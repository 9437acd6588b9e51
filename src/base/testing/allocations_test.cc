#include "base/testing/allocations.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <new>

namespace {
thread_local uint64_t allocations = 0;
}  // namespace

#ifndef AUTOCCL_SANITIZED
// The array forms come by here.
[[gnu::noinline]] void* operator new(size_t bytes) {
  ++allocations;
  if (void* p = std::malloc(bytes ? bytes : 1)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, size_t) noexcept {
  std::free(p);
}
#endif

namespace autoccl::testing {

uint64_t allocationsOfThisThread() noexcept {
  return allocations;
}

namespace {

TEST(Allocations, AreCounted) {
#ifdef AUTOCCL_SANITIZED
  GTEST_SKIP() << "a sanitizer has an allocator of its own";
#endif
  const uint64_t before = allocationsOfThisThread();
  const auto one = std::make_unique<int>(1);
  const auto many = std::make_unique<int[]>(5);
  EXPECT_EQ(allocationsOfThisThread() - before, 2u);
}

}  // namespace
}  // namespace autoccl::testing
