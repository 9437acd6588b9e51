#include "transport/rendezvous.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "transport/unix_socket.h"

namespace autoccl {
namespace {

constexpr uint64_t kMagic =
    0x31306c6363614341ULL;                   // layout of UniqueId, Hello and Welcome, version 1
constexpr int64_t kHelloNs = 2'000'000'000;  // a connected rank has this long to say who it is
constexpr int64_t kGraceNs = 3'000'000'000;  // rank 0's own time-out comes first, with the names

struct IdBytes {
  uint64_t magic;
  std::array<uint8_t, 16> key;
  std::array<char, 100> name;
};
static_assert(sizeof(IdBytes) <= UniqueId::kBytes);

struct Hello {
  uint64_t magic = kMagic;
  std::array<uint8_t, 16> key{};
  int32_t rank = 0;
  int32_t nRanks = 0;
  uint64_t layout = 0;
  uint64_t bytes = 0;
};

struct Welcome {
  uint64_t magic = kMagic;
  uint64_t session = 0;
  std::array<uint8_t, 16> key{};
  int32_t code = -1;  // an ErrorCode, or -1: all are there
  std::array<char, 512> text{};
};

IdBytes read(const UniqueId& id) {
  IdBytes bytes{};
  std::memcpy(&bytes, id.bytes.data(), sizeof bytes);
  return bytes;
}

std::string nameOf(const IdBytes& id) {
  return std::string(id.name.data(), ::strnlen(id.name.data(), id.name.size()));
}

void randomBytes(void* data, size_t bytes) {
  if (::getrandom(data, bytes, 0) != static_cast<ssize_t>(bytes))
    throw Error(ErrorCode::kSystem, "getrandom gave too few bytes");
}

std::string hex(const uint8_t* data, size_t n) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < n; ++i) {
    text += kDigits[data[i] >> 4];
    text += kDigits[data[i] & 15];
  }
  return text;
}

UniqueId pack(const std::array<uint8_t, 16>& key, std::string_view suffix) {
  IdBytes bytes{};
  bytes.magic = kMagic;
  bytes.key = key;
  const std::string name = "autoccl-" + std::to_string(::geteuid()) + "-" + std::string(suffix);
  std::copy_n(name.data(), std::min(name.size(), bytes.name.size() - 1), bytes.name.data());
  UniqueId id;
  std::memcpy(id.bytes.data(), &bytes, sizeof bytes);
  return id;
}

/// FNV-1a (Fowler, Noll, Vo), two lanes: names a token, guards nothing.
std::array<uint8_t, 16> keyFrom(std::string_view token) {
  uint64_t lanes[2] = {0xcbf29ce484222325ULL, 0x84222325cbf29ce4ULL};
  for (const char c : token)
    for (uint64_t& lane : lanes) lane = (lane ^ static_cast<uint8_t>(c)) * 0x100000001b3ULL;
  std::array<uint8_t, 16> key;
  std::memcpy(key.data(), lanes, sizeof lanes);
  return key;
}

void nap(int64_t ns) {
  const timespec t{0, static_cast<long>(ns)};
  ::nanosleep(&t, nullptr);
}

/// The segments that this process has mapped, by session.
std::shared_ptr<Segment> shared(uint64_t session, const std::array<uint8_t, 16>& key, const Fd& fd,
                                size_t bytes) {
  static std::mutex mutex;
  static std::map<uint64_t, std::weak_ptr<Segment>> mapped;
  const std::lock_guard lock(mutex);
  std::erase_if(mapped, [](const auto& entry) { return entry.second.expired(); });
  auto& slot = mapped[session];
  if (auto segment = slot.lock()) return segment;
  auto segment = std::make_shared<Segment>();
  segment->mapping = Mapping(fd, bytes, false);
  segment->session = session;
  segment->key = key;
  slot = segment;
  return segment;
}

/// Rank 0's side: collects one connection per rank.
class Host {
 public:
  explicit Host(const JoinRequest& request)
      : request_(request), id_(read(request.id)), ranks_(static_cast<size_t>(request.nRanks)) {}

  std::shared_ptr<Segment> run() {
    const int64_t deadline = nowNs() + request_.timeoutNs;
    Welcome welcome;
    randomBytes(&welcome.session, sizeof welcome.session);
    welcome.session |= 1;
    randomBytes(welcome.key.data(), welcome.key.size());
    try {
      const Fd memory = newSharedMemory(
          request_.bytes, "a communicator of " + std::to_string(request_.nRanks) + " ranks");
      if (request_.nRanks > 1) {
        const Fd listener = listenOn(nameOf(id_));
        while (missing() > 0) admit(acceptFrom(listener, deadline));
      }
      auto segment = shared(welcome.session, welcome.key, memory, request_.bytes);
      tellAll(welcome, memory.get());
      return segment;
    } catch (const Error& e) {
      welcome.code = static_cast<int32_t>(e.code());
      std::strncpy(welcome.text.data(), e.what(), welcome.text.size() - 1);
      tellAll(welcome, -1);
      throw;
    }
  }

 private:
  int missing() const {
    return static_cast<int>(
        std::count_if(ranks_.begin() + 1, ranks_.end(), [](const Fd& fd) { return !fd; }));
  }

  std::string missingNames() const {
    std::string names;
    for (size_t i = 1; i < ranks_.size(); ++i)
      if (!ranks_[i]) names += (names.empty() ? "" : ", ") + std::to_string(i);
    return names;
  }

  void admit(Fd connection) {
    if (!connection)
      throw Error(ErrorCode::kTimeout,
                  "of " + std::to_string(request_.nRanks) + " ranks these did not come within " +
                      std::to_string(request_.timeoutNs / 1'000'000'000) + " s: rank " +
                      missingNames(),
                  "see their output, or raise AUTOCCL_INIT_TIMEOUT");
    Hello hello;
    if (!receiveAll(connection, &hello, sizeof hello, nullptr, nowNs() + kHelloNs))
      return;  // no rank of ours
    if (hello.magic != kMagic || hello.key != id_.key) return;
    const std::string who = "rank " + std::to_string(hello.rank);
    // It is told of whatever goes wrong from here, as every rank that has come.
    if (hello.rank < 1 || hello.rank >= request_.nRanks) {
      strangers_.push_back(std::move(connection));
      throw Error(ErrorCode::kUsage,
                  who + " is not in [0, " + std::to_string(request_.nRanks) + ")");
    }
    Fd& place = ranks_[static_cast<size_t>(hello.rank)];
    const bool twice = static_cast<bool>(place);
    (twice ? strangers_.emplace_back() : place) = std::move(connection);
    if (twice)
      throw Error(ErrorCode::kUsage, who + " joined twice", "give every rank a number of its own");
    if (hello.nRanks != request_.nRanks)
      throw Error(ErrorCode::kUsage, who + " counts " + std::to_string(hello.nRanks) +
                                         " ranks, rank 0 counts " +
                                         std::to_string(request_.nRanks));
    if (hello.layout != request_.layout || hello.bytes != request_.bytes)
      throw Error(ErrorCode::kInput, who + " runs another version of libautoccl than rank 0",
                  "start all ranks with one library");
  }

  void tellAll(const Welcome& welcome, int fd) {
    const int64_t deadline = nowNs() + kHelloNs;
    for (const Fd& rank : ranks_)
      if (rank) (void)sendAll(rank, &welcome, sizeof welcome, fd, deadline);
    for (const Fd& stranger : strangers_)
      (void)sendAll(stranger, &welcome, sizeof welcome, -1, deadline);
  }

  const JoinRequest& request_;
  IdBytes id_;
  std::vector<Fd> ranks_;
  std::vector<Fd> strangers_;  // refused, but to be told why
};

std::shared_ptr<Segment> visit(const JoinRequest& request) {
  const IdBytes id = read(request.id);
  const int64_t deadline = nowNs() + request.timeoutNs;
  Fd host;
  for (int64_t pauseNs = 200'000; !host; pauseNs = std::min<int64_t>(2 * pauseNs, 20'000'000)) {
    host = connectTo(nameOf(id));
    if (host) break;
    if (nowNs() > deadline)
      throw Error(
          ErrorCode::kTimeout,
          "rank " + std::to_string(request.rank) + ": rank 0 did not come within " +
              std::to_string(request.timeoutNs / 1'000'000'000) + " s",
          "see its output, check that all ranks got the same id, or raise AUTOCCL_INIT_TIMEOUT");
    nap(pauseNs);
  }
  if (!sameUser(host))
    throw Error(ErrorCode::kSystem, "rendezvous '" + nameOf(id) + "' belongs to another user",
                "make a new unique id");
  Hello hello;
  hello.key = id.key;
  hello.rank = request.rank;
  hello.nRanks = request.nRanks;
  hello.layout = request.layout;
  hello.bytes = request.bytes;
  Welcome welcome;
  Fd memory;
  if (!sendAll(host, &hello, sizeof hello, -1, deadline) ||
      !receiveAll(host, &welcome, sizeof welcome, &memory, deadline + kGraceNs) ||
      welcome.magic != kMagic)
    throw Error(ErrorCode::kRemote,
                "rank " + std::to_string(request.rank) + ": rank 0 went away during start-up",
                "see its output");
  if (welcome.code >= 0) {
    welcome.text.back() = 0;
    throw Error(static_cast<ErrorCode>(welcome.code), welcome.text.data());
  }
  if (!memory) throw Error(ErrorCode::kInternal, "rank 0 sent no memory");
  return shared(welcome.session, welcome.key, memory, request.bytes);
}

}  // namespace

UniqueId newUniqueId() {
  std::array<uint8_t, 16> key;
  randomBytes(key.data(), key.size());
  std::array<uint8_t, 16> name;  // not the key: the name can be read by anyone in /proc/net/unix
  randomBytes(name.data(), name.size());
  return pack(key, hex(name.data(), name.size()));
}

UniqueId uniqueIdFrom(std::string_view token) {
  const bool good =
      !token.empty() && token.size() <= 64 && std::all_of(token.begin(), token.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-';
      });
  if (!good)
    throw Error(ErrorCode::kUsage, "job id '" + std::string(token) + "' cannot name a rendezvous",
                "allowed: 1 to 64 characters of A-Z a-z 0-9 _ -");
  return pack(keyFrom(token), token);
}

void checkUniqueId(const UniqueId& id) {
  if (read(id).magic != kMagic)
    throw Error(ErrorCode::kUsage, "the unique id was not made by this version of acclGetUniqueId",
                "make it on one rank and send all 128 bytes to the others");
}

std::shared_ptr<Segment> joinSegment(const JoinRequest& request) {
  checkUniqueId(request.id);
  if (request.nRanks < 1 || request.rank < 0 || request.rank >= request.nRanks)
    throw Error(ErrorCode::kUsage,
                "rank " + std::to_string(request.rank) + " of " + std::to_string(request.nRanks) +
                    " is no rank",
                "allowed: 0 to ranks-1");
  return request.rank == 0 ? Host(request).run() : visit(request);
}

}  // namespace autoccl
