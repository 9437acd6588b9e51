// The variables of the library as NCCL reads them: through the env plugin, cached or not.
#pragma once

#include <atomic>
#include <cstdint>

namespace autoccl::nccl_double {

/// A variable's text now, from the env plugin where there is one, else from the environment. Null:
/// not set. The first call loads the plugin.
[[nodiscard]] const char* variable(const char* name);

/// A number that is read once per process, as NCCL's parameters are; where NCCL_NO_CACHE names it
/// (2.29.7+, full names or ALL, read once), it is read at every use.
class Parameter {
 public:
  constexpr Parameter(const char* name, int64_t fallback) : name_(name), fallback_(fallback) {}
  [[nodiscard]] int64_t value();

 private:
  const char* name_;
  int64_t fallback_;
  std::atomic<bool> read_{false};
  std::atomic<int64_t> cached_{0};
};

}  // namespace autoccl::nccl_double
