#include "edge/session/sample_board.h"

namespace autoccl {
namespace {

constexpr size_t kHeadBytes = 64;

}  // namespace

size_t SampleBoard::requiredBytes(int nRanks) {
  return kHeadBytes + sizeof(RankBoard) * static_cast<size_t>(nRanks);
}

SampleBoard::SampleBoard(void* area, int) noexcept
    : head_(static_cast<std::atomic<uint64_t>*>(area)),
      ranks_(reinterpret_cast<RankBoard*>(static_cast<std::byte*>(area) + kHeadBytes)) {}

}  // namespace autoccl
