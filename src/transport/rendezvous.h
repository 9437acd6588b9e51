// How the ranks of one communicator find each other and come to share one segment of memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "transport/shared_memory.h"

namespace autoccl {

/// Names one rendezvous: a key of 128 random bits and the abstract socket name made from it.
/// Trivially copyable text-free bytes, as a program sends them to its other ranks.
struct UniqueId {
  static constexpr size_t kBytes = 128;
  std::array<char, kBytes> bytes{};
  friend bool operator==(const UniqueId&, const UniqueId&) = default;
};

/// A fresh id. Throws Error if the kernel gives no random bytes.
[[nodiscard]] UniqueId newUniqueId();
/// The id that every rank derives from one token of its job (AUTOCCL_ID: 1-64 characters
/// [A-Za-z0-9_-]; a parent's session). Only this user's processes can meet under it.
[[nodiscard]] UniqueId uniqueIdFrom(std::string_view token);
/// Throws Error unless the bytes were made by one of the two above, by this version.
void checkUniqueId(const UniqueId& id);

/// One communicator's memory, mapped once per process: ranks that are threads of one process share
/// the mapping, so an address in it means the same to all of them.
struct Segment {
  Mapping mapping;
  uint64_t session = 0;           // random, equal on all ranks, never 0
  std::array<uint8_t, 16> key{};  // secret of the session
};

struct JoinRequest {
  UniqueId id;
  int rank = 0;
  int nRanks = 1;
  size_t bytes = 0;     // of the segment
  uint64_t layout = 0;  // fingerprint of what is laid out in it: ranks must agree
  int64_t timeoutNs = 60'000'000'000;
};

/// Blocks until all ranks are there. Rank 0 makes the segment and hands its descriptor to the
/// others over a socket with an abstract name; the name is gone when all have it. Throws Error: a
/// time-out that names the missing ranks, a rank of another version, too little memory (with
/// bytes). Cost: one connection per rank, at set-up only.
[[nodiscard]] std::shared_ptr<Segment> joinSegment(const JoinRequest& request);

}  // namespace autoccl
