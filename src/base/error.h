// Errors of set-up: the world refused something (a bad variable, no memory, a rank that never
// came). What cannot go wrong at run time is an enum or a bool; a bug of ours is ACCL_CHECK.
#pragma once

#include <stdexcept>
#include <string>

namespace autoccl {

enum class ErrorCode {
  kUsage,    // an argument or a variable is out of its range
  kInput,    // a file or a frame cannot be read
  kSystem,   // a system call failed
  kRemote,   // another rank died or failed
  kTimeout,  // a rank did not come in time
  kInternal  // a fault of ours
};

/// What went wrong, where, and what to do about it. Thrown from constructors and readers only, and
/// caught at an edge (the C ABI, main); never crosses either.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& what, const std::string& hint = "")
      : std::runtime_error(hint.empty() ? what : what + "; " + hint), code_(code) {}
  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

/// Prints file, line and the condition, then aborts: only for states that a fault of ours can make.
[[noreturn]] void checkFailed(const char* file, int line, const char* condition) noexcept;

}  // namespace autoccl

#define ACCL_CHECK(condition) \
  ((condition) ? void(0) : ::autoccl::checkFailed(__FILE__, __LINE__, #condition))
