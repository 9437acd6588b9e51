// How ranks find each other: the unique id holds a random word and the address of a listener in the
// process that made it, as NCCL's does; the ranks connect there and learn of each other.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/nccl_double/nccl.h"

namespace autoccl::nccl_double {

/// What every rank tells the others at the start.
struct PeerInfo {
  int rank = 0;
  int nRanks = 0;
  int version = 0;
  int device = 0;
  uint64_t hostHash = 0;
  uint64_t busId = 0;
  uint64_t pid = 0;
};

/// A fresh id, and a thread that serves one start under it. False: no socket.
[[nodiscard]] bool makeUniqueId(ncclUniqueId& id);

/// Tells `mine` and hears of all, by rank. False: nobody listens, the connection broke, nRanks
/// differ, or *abort became true. Blocks while ranks are missing.
[[nodiscard]] bool exchange(const ncclUniqueId& id, const PeerInfo& mine,
                            std::vector<PeerInfo>& peers, const volatile bool* abort);

/// FNV-1a of bytes: NCCL's commHash has another formula; only its equality matters.
[[nodiscard]] uint64_t hashOf(const void* bytes, size_t size, uint64_t seed = 0);
/// NCCL_HOSTID, else the host's boot id, hashed.
[[nodiscard]] uint64_t hostHash();

}  // namespace autoccl::nccl_double
