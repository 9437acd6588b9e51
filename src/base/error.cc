#include "base/error.h"

#include <cstdio>
#include <cstdlib>

namespace autoccl {

void checkFailed(const char* file, int line, const char* condition) noexcept {
  std::fprintf(stderr, "autoccl: %s:%d: internal check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace autoccl
