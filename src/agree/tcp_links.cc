#include "agree/tcp_links.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "agree/bytes.h"
#include "agree/tcp_connection.h"
#include "base/error.h"

namespace autoccl {
namespace {

// Frame types of the links themselves, above those of messages.
enum LinkFrame : uint8_t {
  kHello = 250,
  kWelcome = 251,
  kConfirm = 252,
  kRoster = 253,
  kBye = 254
};
// What a derived key is for.
enum KeyUse : uint64_t { kForHello = 1, kForWelcome, kForInitiator, kForAcceptor };

constexpr int64_t kHandshakeNs = 2'000'000'000;
constexpr int64_t kRetryNs = 50'000'000;
constexpr int64_t kLongestRetryNs = 800'000'000;  // a search for rank 0 slows down to this
constexpr size_t kMaxAttempts = 16;               // calls to candidates under way at once
constexpr size_t kMaxQueued = size_t{1} << 20;
constexpr size_t kMaxStrangers = 64;  // sockets accepted that have not yet shown the key

uint64_t freshNonce() {
  uint64_t nonce = 0;
  if (getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce))
    throw Error(ErrorCode::kSystem, std::string("getrandom: ") + std::strerror(errno));
  return nonce;
}

}  // namespace

class TcpLinks::Impl {
 public:
  explicit Impl(const Options& options);
  ~Impl();

  void poll(int64_t nowNs, std::vector<LinkEvent>& events);
  bool send(int to, const Message& message);
  [[nodiscard]] bool idle(int to);
  [[nodiscard]] std::vector<std::string> hosts() const;
  void cut(int peer, bool cut) { cut_[at(peer)] = cut; }
  [[nodiscard]] uint16_t port() const { return localAddress(listener_).port; }

 private:
  using Stage = TcpConnection::Stage;
  [[nodiscard]] MacKey keyFor(KeyUse use, uint64_t a = 0, uint64_t b = 0, uint64_t c = 0) const {
    const uint64_t words[] = {options_.session, use, a, b, c};
    return deriveKey(options_.key, words);
  }
  void listen();
  void accept(int64_t nowNs);
  void seekLeader(int64_t nowNs);
  void connectTo(int peer, int64_t nowNs);
  void call(int peer, const TcpAddress& where, int64_t nowNs);
  void finishConnect(TcpConnection& c);
  void handleFrames(TcpConnection& c, std::vector<LinkEvent>& events);
  void handle(TcpConnection& c, const FrameReader::Frame& frame, std::vector<LinkEvent>& events);
  void welcome(TcpConnection& c, const FrameReader::Frame& frame);
  void opened(TcpConnection& c, std::vector<LinkEvent>& events);
  void sendRoster(TcpConnection& c);
  void readRoster(std::span<const uint8_t> body);
  void sweep(int64_t nowNs, std::vector<LinkEvent>& events);
  [[nodiscard]] TcpConnection* openTo(int peer);
  [[nodiscard]] bool tryingTo(int peer) const;
  [[nodiscard]] size_t at(int rank) const { return static_cast<size_t>(rank); }

  const Options options_;
  int listener_ = -1;
  std::vector<TcpAddress> roster_;  // where each rank listens
  std::vector<TcpAddress> candidates_;
  std::vector<bool> cut_;
  std::vector<bool> gone_;  // said that it leaves
  std::vector<int64_t> triedNs_;
  std::vector<std::unique_ptr<TcpConnection>> connections_;
  int64_t nowNs_ = 0;
  bool found_ = false;  // one of the candidates is rank 0
  size_t nextCandidate_ = 0;
  int64_t nextSeekNs_ = 0, seekGapNs_ = kRetryNs;
};

TcpLinks::Impl::Impl(const Options& options) : options_(options) {
  for (const TcpEndpoint& e : options.candidates) {
    const auto host = hostOf(e.address);
    if (!host)
      throw Error(ErrorCode::kUsage, "agreement: '" + e.address + "' is no address of rank 0",
                  "allowed: an IPv4 address");
    candidates_.push_back({*host, e.port});
  }
  if (options.rank < 0 || options.rank >= options.nRanks || candidates_.empty())
    throw Error(ErrorCode::kUsage,
                "agreement: rank " + std::to_string(options.rank) + " of " +
                    std::to_string(options.nRanks) + " with " + std::to_string(candidates_.size()) +
                    " places to meet",
                "allowed: a rank below the number of ranks and one place or more");
  const auto n = static_cast<size_t>(options.nRanks);
  roster_.resize(n);
  cut_.resize(n);
  gone_.resize(n);
  triedNs_.resize(n);
  listen();
}

TcpLinks::Impl::~Impl() {
  for (auto& c : connections_)
    if (c->stage == Stage::kOpen) {
      (void)c->say(kBye, {});
      c->endGently();
    }
  if (listener_ >= 0) close(listener_);
}

void TcpLinks::Impl::listen() {
  std::string fault, places;
  if (options_.rank != 0) {
    listener_ = listenOn({interfaceTowards(candidates_[0].host), 0}, fault);
    if (listener_ >= 0) return;
  }
  for (size_t i = 0; options_.rank == 0 && i < candidates_.size(); ++i) {
    listener_ = listenOn(candidates_[i], fault);
    if (listener_ >= 0) {
      roster_[0] = candidates_[i];
      return;
    }
    places += (places.empty() ? " on " : ", ") + hostText(candidates_[i].host) + ":" +
              std::to_string(candidates_[i].port);
  }
  throw Error(ErrorCode::kSystem, "agreement: cannot listen" + places + ": " + fault,
              "choose another address or port with AUTOCCL_COORDINATOR");
}

void TcpLinks::Impl::accept(int64_t nowNs) {
  for (;;) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    const auto strangers = std::count_if(connections_.begin(), connections_.end(), [](auto& c) {
      return c->stage == Stage::kAwaitHello || c->stage == Stage::kAwaitConfirm;
    });
    if (static_cast<size_t>(strangers) >= kMaxStrangers + roster_.size()) {
      close(fd);
      continue;
    }
    connections_.push_back(std::make_unique<TcpConnection>(
        fd, Stage::kAwaitHello, keyFor(kForHello), options_.session, nowNs));
  }
}

// One candidate a turn, several calls under way at once: a stranger who listens on the first may
// stay silent. Round after round, slower each time.
void TcpLinks::Impl::seekLeader(int64_t nowNs) {
  if (nowNs < nextSeekNs_) return;
  const auto underWay = std::count_if(connections_.begin(), connections_.end(),
                                      [](const auto& c) { return c->initiated && c->peer == 0; });
  if (static_cast<size_t>(underWay) >= kMaxAttempts) return;
  const TcpAddress& where = candidates_[nextCandidate_];
  if (std::none_of(connections_.begin(), connections_.end(),
                   [&](const auto& c) { return c->initiated && c->called == where; }))
    call(0, where, nowNs);
  if (++nextCandidate_ < candidates_.size()) return;
  nextCandidate_ = 0;
  nextSeekNs_ = nowNs + seekGapNs_;
  seekGapNs_ = std::min(seekGapNs_ * 2, kLongestRetryNs);
}

void TcpLinks::Impl::connectTo(int peer, int64_t nowNs) {
  if (cut_[at(peer)] || gone_[at(peer)]) return;
  if (peer == 0 && !found_) return seekLeader(nowNs);
  if (roster_[at(peer)].port == 0 || tryingTo(peer)) return;
  if (triedNs_[at(peer)] != 0 && nowNs - triedNs_[at(peer)] < kRetryNs) return;
  triedNs_[at(peer)] = nowNs;
  call(peer, roster_[at(peer)], nowNs);
}

void TcpLinks::Impl::call(int peer, const TcpAddress& where, int64_t nowNs) {
  const int fd = openSocket(SOCK_STREAM);
  if (fd < 0) return;
  auto c = std::make_unique<TcpConnection>(fd, Stage::kConnecting, keyFor(kForHello),
                                           options_.session, nowNs);
  if (!c->connectTo(where)) return;
  c->peer = peer;
  c->initiated = true;
  c->called = where;
  c->nonce = freshNonce();
  connections_.push_back(std::move(c));
}

void TcpLinks::Impl::finishConnect(TcpConnection& c) {
  if (!c.connected()) return c.shut();
  c.stage = Stage::kAwaitWelcome;
  c.reader.rekey(keyFor(kForWelcome, c.nonce));
  (void)c.say(kHello, packHello({static_cast<uint32_t>(options_.rank),
                                 static_cast<uint32_t>(options_.nRanks), c.nonce, port()}));
}

// The acceptor's half of the handshake.
void TcpLinks::Impl::welcome(TcpConnection& c, const FrameReader::Frame& frame) {
  const auto hello = frame.type == kHello ? readHello(frame.body) : std::nullopt;
  if (!hello || hello->rank >= roster_.size() || hello->nRanks != roster_.size() ||
      static_cast<int>(hello->rank) == options_.rank || cut_[hello->rank])
    return c.shut();
  c.peer = static_cast<int>(hello->rank);
  c.nonce = hello->nonce;
  c.listens = {remoteAddress(c.fd()).host, hello->port};
  const uint64_t own = freshNonce();
  std::vector<uint8_t> body;
  ByteWriter(body).put(own);
  c.writer.rekey(keyFor(kForWelcome, c.nonce));
  (void)c.say(kWelcome, body);
  c.writer.rekey(keyFor(kForAcceptor, c.nonce, own, hello->rank));
  c.reader.rekey(keyFor(kForInitiator, c.nonce, own, hello->rank));
  c.stage = Stage::kAwaitConfirm;
}

void TcpLinks::Impl::opened(TcpConnection& c, std::vector<LinkEvent>& events) {
  // One link with rank 0: the newest. Whatever was under way on an older one is lost.
  for (auto& other : connections_)
    if (other.get() != &c && other->peer == c.peer && other->initiated == c.initiated &&
        (c.initiated || other->stage == Stage::kOpen))
      other->shut();
  c.stage = Stage::kOpen;
  if (c.initiated && c.peer == 0) {
    found_ = true;
    roster_[0] = c.called;
  }
  events.push_back({LinkEvent::Kind::kUp, c.peer, {}, {}});
  if (options_.rank != 0) return;
  roster_[at(c.peer)] = c.listens;
  const bool complete = std::all_of(roster_.begin() + 1, roster_.end(),
                                    [](const TcpAddress& e) { return e.port != 0; });
  for (auto& each : connections_)
    if (complete && each->stage == Stage::kOpen) sendRoster(*each);
}

void TcpLinks::Impl::sendRoster(TcpConnection& c) {
  std::vector<uint8_t> body;
  ByteWriter w(body);
  for (const auto& e : roster_) {
    w.put(e.host);
    w.put(e.port);
  }
  (void)c.say(kRoster, body);  // a job too large for one frame does without links between workers
}

void TcpLinks::Impl::readRoster(std::span<const uint8_t> body) {
  ByteReader r(body);
  std::vector<TcpAddress> all(roster_.size());
  for (auto& e : all) {
    e.host = r.get<uint32_t>();
    e.port = r.get<uint16_t>();
  }
  if (!r.complete()) return;
  all[0] = roster_[0];  // as this rank reaches it
  roster_ = std::move(all);
}

void TcpLinks::Impl::handle(TcpConnection& c, const FrameReader::Frame& frame,
                            std::vector<LinkEvent>& events) {
  if (c.stage == Stage::kAwaitHello) return welcome(c, frame);
  if (c.stage == Stage::kAwaitWelcome) {
    ByteReader r(frame.body);
    const auto other = r.get<uint64_t>();
    if (frame.type != kWelcome || !r.complete()) return c.shut();
    const auto rank = static_cast<uint64_t>(options_.rank);
    c.writer.rekey(keyFor(kForInitiator, c.nonce, other, rank));
    c.reader.rekey(keyFor(kForAcceptor, c.nonce, other, rank));
    (void)c.say(kConfirm, {});
    return opened(c, events);
  }
  if (c.stage == Stage::kAwaitConfirm) {
    if (frame.type != kConfirm) return c.shut();
    return opened(c, events);
  }
  if (frame.type == kRoster) {
    if (c.peer == 0) readRoster(frame.body);
    return;
  }
  if (frame.type == kBye) {
    gone_[at(c.peer)] = true;
    events.push_back({LinkEvent::Kind::kLeft, c.peer, {}, {}});
    return c.shut();
  }
  if (auto message = unpack(frame.type, frame.body)) {
    events.push_back({LinkEvent::Kind::kMessage, c.peer, std::move(*message), {}});
    return;
  }
  events.push_back(
      {LinkEvent::Kind::kFault,
       c.peer,
       {},
       "message of type " + std::to_string(frame.type) + " that this version cannot read"});
}

void TcpLinks::Impl::handleFrames(TcpConnection& c, std::vector<LinkEvent>& events) {
  const bool wasOpen = c.stage == Stage::kOpen;
  c.readAll();
  while (c.stage != Stage::kClosed) {
    const auto frame = c.reader.next();
    if (!frame) break;
    handle(c, *frame, events);
  }
  if (c.stage != Stage::kClosed && (c.ended || !c.reader.fault().empty())) {
    const bool isOpen = c.stage == Stage::kOpen;
    c.shut();
    if ((isOpen || wasOpen) && !openTo(c.peer))
      events.push_back({LinkEvent::Kind::kDown, c.peer, {}, {}});
  }
}

TcpConnection* TcpLinks::Impl::openTo(int peer) {
  for (auto& c : connections_)
    if (c->peer == peer && c->stage == Stage::kOpen) return c.get();
  return nullptr;
}

bool TcpLinks::Impl::tryingTo(int peer) const {
  return std::any_of(connections_.begin(), connections_.end(), [&](const auto& c) {
    return c->peer == peer && c->stage != Stage::kClosed &&
           (c->initiated || c->stage == Stage::kOpen);
  });
}

// Drops closed connections and handshakes that take too long.
void TcpLinks::Impl::sweep(int64_t nowNs, std::vector<LinkEvent>& events) {
  for (auto& c : connections_) {
    if (c->stage != Stage::kOpen && nowNs - c->sinceNs > kHandshakeNs) c->shut();
    if (c->stage == Stage::kOpen && cut_[at(c->peer)]) {
      const int peer = c->peer;
      c->shut();
      events.push_back({LinkEvent::Kind::kDown, peer, {}, {}});
    }
  }
  std::erase_if(connections_, [](const auto& c) { return c->stage == Stage::kClosed; });
}

void TcpLinks::Impl::poll(int64_t nowNs, std::vector<LinkEvent>& events) {
  nowNs_ = nowNs;
  accept(nowNs);
  if (options_.rank != 0 && !openTo(0)) connectTo(0, nowNs);
  sweep(nowNs, events);
  std::vector<pollfd> ready;
  for (auto& c : connections_)
    ready.push_back({c->fd(), static_cast<short>(POLLIN | (c->wantsWrite() ? POLLOUT : 0)), 0});
  if (!ready.empty()) (void)::poll(ready.data(), ready.size(), 0);
  for (size_t i = 0; i < ready.size(); ++i) {
    TcpConnection& c = *connections_[i];
    if (ready[i].revents == 0 || c.stage == Stage::kClosed) continue;
    if (c.stage == Stage::kConnecting)
      finishConnect(c);
    else if ((ready[i].revents & (POLLIN | POLLERR | POLLHUP)) != 0)
      handleFrames(c, events);
  }
  for (auto& c : connections_) c->writeAll();
}

bool TcpLinks::Impl::send(int to, const Message& message) {
  if (to < 0 || at(to) >= roster_.size() || to == options_.rank) return false;
  TcpConnection* c = openTo(to);
  if (!c) {
    if (options_.rank != 0 && to != 0) connectTo(to, nowNs_);
    return false;
  }
  const Packed packed = pack(message);
  if (c->queued() + packed.body.size() > kMaxQueued) return false;
  const bool queued = c->say(packed.type, packed.body);
  c->writeAll();
  return queued;
}

bool TcpLinks::Impl::idle(int to) {
  const TcpConnection* c = openTo(to);
  return c && c->queued() == 0;
}

std::vector<std::string> TcpLinks::Impl::hosts() const {
  std::vector<TcpAddress> all(roster_);
  all.push_back(localAddress(listener_));
  std::vector<std::string> hosts;
  for (const TcpAddress& a : all) {
    std::string host = hostText(a.host);
    if (a.host != 0 && std::find(hosts.begin(), hosts.end(), host) == hosts.end())
      hosts.push_back(std::move(host));
  }
  return hosts;
}

TcpLinks::TcpLinks(const Options& options) : impl_(std::make_unique<Impl>(options)) {}
TcpLinks::~TcpLinks() = default;
void TcpLinks::poll(int64_t nowNs, std::vector<LinkEvent>& events) {
  impl_->poll(nowNs, events);
}
bool TcpLinks::send(int to, const Message& message) {
  return impl_->send(to, message);
}
bool TcpLinks::idle(int to) const {
  return impl_->idle(to);
}
std::vector<std::string> TcpLinks::hosts() const {
  return impl_->hosts();
}
uint16_t TcpLinks::port() const {
  return impl_->port();
}
void TcpLinks::cut(int peer, bool cut) {
  impl_->cut(peer, cut);
}

}  // namespace autoccl
