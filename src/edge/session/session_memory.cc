#include "edge/session/session_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "agree/shm_links.h"
#include "base/error.h"
#include "edge/session/sample_board.h"

namespace autoccl {
namespace {

constexpr size_t kAlign = 64;

size_t boardBytes(int nRanks) {
  return (SampleBoard::requiredBytes(nRanks) + kAlign - 1) / kAlign * kAlign;
}

}  // namespace

size_t SessionMemory::sharedBytes(int nRanks) {
  return boardBytes(nRanks) + ShmLinks::requiredBytes(nRanks);
}

SessionMemory::SessionMemory(std::optional<std::span<std::byte>> shared, int nRanks) {
  const size_t bytes = boardBytes(nRanks);
  if (shared) {
    if (shared->size() < sharedBytes(nRanks))
      throw Error(ErrorCode::kInternal, "tuning session: the shared area is too small");
    board_ = shared->first(bytes);
    links_ = shared->subspan(bytes);
    return;
  }
  void* const map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED)
    throw Error(ErrorCode::kSystem, "tuning session: no memory for the samples of " +
                                        std::to_string(nRanks) + " ranks: " + std::strerror(errno));
  board_ = {static_cast<std::byte*>(map), bytes};
  owned_ = true;
}

SessionMemory::~SessionMemory() {
  if (owned_) munmap(board_.data(), board_.size());
}

}  // namespace autoccl
