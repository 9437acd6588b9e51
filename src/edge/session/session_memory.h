// The memory a session works in: shared by the ranks, or its own.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace autoccl {

/// Shared: a sample board, then the area of ShmLinks, in memory that belongs to the engine.
/// Its own: a sample board in pages that cost nothing until they are touched (117 KiB for each rank
/// that this process holds samples of). Throws Error where the shared area is too small or the
/// kernel gives no memory.
class SessionMemory {
 public:
  [[nodiscard]] static size_t sharedBytes(int nRanks);

  SessionMemory(std::optional<std::span<std::byte>> shared, int nRanks);
  ~SessionMemory();
  SessionMemory(const SessionMemory&) = delete;
  SessionMemory& operator=(const SessionMemory&) = delete;

  [[nodiscard]] void* board() const noexcept { return board_.data(); }
  /// Empty where nothing is shared.
  [[nodiscard]] std::span<std::byte> links() const noexcept { return links_; }

 private:
  std::span<std::byte> board_;
  std::span<std::byte> links_;
  bool owned_ = false;
};

}  // namespace autoccl
