// Who is inside a communicator's gate.
#pragma once

#include "edge/nccl/comm_context.h"

namespace autoccl::nccl {

/// Keeps the gate alive while it is used. Order matters: the thread is counted before it loads the
/// gate, and setGate stores the gate before it reads the count, all seq_cst.
class CommContext::Inside {
 public:
  explicit Inside(CommContext& context) noexcept : context_(context) {
    context_.inside_.fetch_add(1, std::memory_order_seq_cst);
    gate_ = context_.gate_.load(std::memory_order_seq_cst);
  }
  ~Inside() { context_.inside_.fetch_sub(1, std::memory_order_release); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  [[nodiscard]] CallGate* gate() const noexcept { return gate_; }

 private:
  CommContext& context_;
  CallGate* gate_;
};

}  // namespace autoccl::nccl
