// The other side of the server in regions.cc: maps what it gives.
#include <map>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "transport/region_wire.h"
#include "transport/regions.h"
#include "transport/unix_socket.h"

namespace autoccl {
namespace {

constexpr int64_t kAnswerNs = 5'000'000'000;

struct Mapped {
  RegionServerAddress owner;
  std::shared_ptr<const PeerRegion> region;
};

using Key = std::pair<uint64_t, uint32_t>;  // process, region

bool ask(const RegionServerAddress& owner, uint32_t id, RegionReply& reply, Fd* fd) {
  const Fd socket = connectTo(owner.name.data());
  if (!socket) return false;
  RegionRequest request;
  request.key = owner.key;
  request.id = id;
  request.wantDescriptor = fd != nullptr;
  const int64_t deadline = nowNs() + kAnswerNs;
  return sendAll(socket, &request, sizeof request, -1, deadline) &&
         receiveAll(socket, &reply, sizeof reply, fd, deadline);
}

/// Mappings that nobody holds and whose owner has freed them (or is gone).
void dropDead(std::map<Key, Mapped>& mapped) {
  std::erase_if(mapped, [](const auto& entry) {
    RegionReply reply;
    return entry.second.region.use_count() == 1 &&
           (!ask(entry.second.owner, entry.first.second, reply, nullptr) || reply.begin == 0);
  });
}

std::shared_ptr<const PeerRegion> mapNow(const RegionServerAddress& owner, uint32_t id) {
  RegionReply reply;
  Fd fd;
  if (!ask(owner, id, reply, &fd) || reply.begin == 0 || !fd) return nullptr;
  struct Holder {
    Mapping mapping;
    PeerRegion region;
  };
  auto holder = std::make_shared<Holder>();
  holder->mapping = Mapping(fd, reply.bytes, true);
  holder->region = {holder->mapping.data(), reply.begin, reply.bytes};
  return {holder, &holder->region};
}

}  // namespace

std::shared_ptr<const PeerRegion> mapPeerRegion(const RegionServerAddress& owner, uint32_t id) {
  static std::mutex mutex;
  static std::map<Key, Mapped> mapped;
  const std::lock_guard lock(mutex);
  const Key key{owner.process, id};
  if (const auto found = mapped.find(key); found != mapped.end()) return found->second.region;
  try {
    dropDead(mapped);
    auto region = mapNow(owner, id);
    if (region) mapped[key] = {owner, region};
    return region;
  } catch (const Error&) {
    return nullptr;  // the caller reports which rank's buffer it was
  }
}

}  // namespace autoccl
