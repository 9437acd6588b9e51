// The GPU engine beside a communicator of the program's: which calls it can take, and how they run.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "direct/group.h"
#include "edge/nccl/comm_context.h"
#include "edge/preload/comm_book.h"

namespace autoccl::preload {

struct CallFacts;

/// A group of src/direct of the communicator's ranks. Threads: run by whoever issues the
/// communicator's calls, one at a time; the rest by any.
class GpuEngine {
 public:
  /// Meets the other ranks, at the communicator's first call that can be switched; the caller waits
  /// for them, AUTOCCL_INIT_TIMEOUT at most for each step. Throws Error with the reason why the
  /// engine is not to be had, the same on all ranks but where one does not come.
  [[nodiscard]] static std::unique_ptr<GpuEngine> open(const CommEntry& entry,
                                                       const nccl::CommContext& context);

  /// HOT. NCCL's result; nothing where this config cannot run this call, which then is NCCL's, on
  /// all ranks alike.
  [[nodiscard]] std::optional<int> run(const CallFacts& facts, const Config& config) noexcept;
  /// Adds what the engine offers to a task's space. Results that are combined are a numerical class
  /// of their own: in rank order, in float32.
  void extend(Space& space) const;
  [[nodiscard]] bool broken() const noexcept { return *group_->broken() != '\0'; }
  void stop() noexcept { group_->stop(); }

 private:
  explicit GpuEngine(std::unique_ptr<direct::Group> group);
  std::unique_ptr<direct::Group> group_;
  direct::CudaContext context_ = nullptr;
};

}  // namespace autoccl::preload
