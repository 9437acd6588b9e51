#include "agree/tcp_links.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
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
#include "base/error.h"

namespace autoccl {
namespace {

// Frame types of the links themselves, above those of messages.
enum LinkFrame : uint8_t { kHello = 250, kWelcome = 251, kConfirm = 252, kRoster = 253 };
// What a derived key is for.
enum KeyUse : uint64_t { kForHello = 1, kForWelcome, kForInitiator, kForAcceptor };

constexpr int64_t kHandshakeNs = 2'000'000'000;
constexpr int64_t kRetryNs = 50'000'000;
constexpr size_t kMaxQueued = size_t{1} << 20;
constexpr size_t kMaxStrangers = 64;  // sockets accepted that have not yet shown the key

struct Endpoint {
  uint32_t address = 0;  // network order; 0: unknown
  uint16_t port = 0;     // host order
};

struct Hello {
  uint32_t rank = 0, nRanks = 0;
  uint64_t nonce = 0;
  uint16_t port = 0;
};

std::vector<uint8_t> packHello(const Hello& hello) {
  std::vector<uint8_t> body;
  ByteWriter w(body);
  w.put(hello.rank);
  w.put(hello.nRanks);
  w.put(hello.nonce);
  w.put(hello.port);
  return body;
}

std::optional<Hello> readHello(std::span<const uint8_t> body) {
  ByteReader r(body);
  Hello hello;
  hello.rank = r.get<uint32_t>();
  hello.nRanks = r.get<uint32_t>();
  hello.nonce = r.get<uint64_t>();
  hello.port = r.get<uint16_t>();
  if (!r.complete()) return std::nullopt;
  return hello;
}

uint64_t freshNonce() {
  uint64_t nonce = 0;
  if (getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce))
    throw Error(ErrorCode::kSystem, std::string("getrandom: ") + std::strerror(errno));
  return nonce;
}

sockaddr_in socketAddress(const Endpoint& e) {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_addr.s_addr = e.address;
  a.sin_port = htons(e.port);
  return a;
}

int newSocket(int type = SOCK_STREAM) {
  const int fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) throw Error(ErrorCode::kSystem, std::string("socket: ") + std::strerror(errno));
  return fd;
}

/// The address of this host's interface towards `remote`. A datagram socket sends nothing here.
uint32_t interfaceTowards(const Endpoint& remote) {
  const int fd = newSocket(SOCK_DGRAM);
  sockaddr_in to = socketAddress({remote.address, 9});
  sockaddr_in own{};
  socklen_t size = sizeof(own);
  const bool found = connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) == 0;
  close(fd);
  return found ? own.sin_addr.s_addr : htonl(INADDR_LOOPBACK);
}

int listenOn(const Endpoint& where) {
  const int fd = newSocket();
  const int on = 1;
  (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in a = socketAddress(where);
  if (bind(fd, reinterpret_cast<sockaddr*>(&a), sizeof(a)) == 0 && listen(fd, 128) == 0) return fd;
  const std::string why = std::strerror(errno);
  close(fd);
  char text[INET_ADDRSTRLEN] = "";
  inet_ntop(AF_INET, &a.sin_addr, text, sizeof(text));
  throw Error(ErrorCode::kSystem,
              "agreement: cannot listen on " + std::string(text) + ":" +
                  std::to_string(where.port) + ": " + why,
              "choose another address or port with AUTOCCL_COORDINATOR");
}

Endpoint endpointOf(int fd, bool remote) {
  sockaddr_in a{};
  socklen_t size = sizeof(a);
  if (remote)
    (void)getpeername(fd, reinterpret_cast<sockaddr*>(&a), &size);
  else
    (void)getsockname(fd, reinterpret_cast<sockaddr*>(&a), &size);
  return {a.sin_addr.s_addr, ntohs(a.sin_port)};
}

}  // namespace

/// One socket, from the first byte to the last.
class TcpLinks::Connection {
 public:
  enum class Stage { kConnecting, kAwaitHello, kAwaitWelcome, kAwaitConfirm, kOpen, kClosed };

  Connection(int fd, Stage first, const MacKey& helloKey, uint64_t session, int64_t nowNs)
      : stage(first),
        sinceNs(nowNs),
        fd_(fd),
        reader(helloKey, session),
        writer(helloKey, session) {
    const int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  ~Connection() { shut(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void shut() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
    stage = Stage::kClosed;
  }
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool wantsWrite() const { return stage == Stage::kConnecting || !queue_.empty(); }
  [[nodiscard]] size_t queued() const { return queue_.size(); }

  bool say(uint8_t type, std::span<const uint8_t> body) {
    return writer.append(queue_, type, body);
  }
  /// Bytes in and out as far as they go now; closes on any error.
  void readAll() {
    uint8_t chunk[16384];
    for (size_t got = 0; got < kMaxFrame;) {  // the rest waits for the next poll
      const ssize_t n = recv(fd_, chunk, sizeof(chunk), 0);
      if (n > 0) reader.feed({chunk, static_cast<size_t>(n)});
      got += sizeof(chunk);
      if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) ended = true;
      if (n < static_cast<ssize_t>(sizeof(chunk))) return;
    }
  }
  void writeAll() {
    if (queue_.empty() || stage == Stage::kClosed || stage == Stage::kConnecting) return;
    const ssize_t n = ::send(fd_, queue_.data(), queue_.size(), MSG_NOSIGNAL);
    if (n > 0) queue_.erase(queue_.begin(), queue_.begin() + n);
    if (n < 0 && errno != EAGAIN && errno != EINTR) ended = true;
  }

  Stage stage;
  int64_t sinceNs;
  int peer = -1;           // known after HELLO
  bool ended = false;      // the other side closed it; what came before is still to be read
  bool initiated = false;  // by this rank
  uint64_t nonce = 0;      // the initiator's
  Endpoint listens{};      // where the initiator can be called, by its own word

 private:
  int fd_;

 public:
  FrameReader reader;
  FrameWriter writer;

 private:
  std::vector<uint8_t> queue_;
};

class TcpLinks::Impl {
 public:
  explicit Impl(const Options& options);
  ~Impl() {
    if (listener_ >= 0) close(listener_);
  }

  void poll(int64_t nowNs, std::vector<LinkEvent>& events);
  bool send(int to, const Message& message);
  void cut(int peer, bool cut);
  [[nodiscard]] uint16_t port() const { return endpointOf(listener_, false).port; }

 private:
  using Stage = Connection::Stage;
  [[nodiscard]] MacKey keyFor(KeyUse use, uint64_t a = 0, uint64_t b = 0, uint64_t c = 0) const {
    const uint64_t words[] = {options_.session, use, a, b, c};
    return deriveKey(options_.key, words);
  }
  void accept(int64_t nowNs);
  void connectTo(int peer, int64_t nowNs);
  void finishConnect(Connection& c);
  void handleFrames(Connection& c, std::vector<LinkEvent>& events);
  void handle(Connection& c, const FrameReader::Frame& frame, std::vector<LinkEvent>& events);
  void welcome(Connection& c, const FrameReader::Frame& frame);
  void opened(Connection& c, std::vector<LinkEvent>& events);
  void sendRoster(Connection& c);
  void readRoster(std::span<const uint8_t> body);
  void sweep(int64_t nowNs, std::vector<LinkEvent>& events);
  [[nodiscard]] Connection* openTo(int peer);
  [[nodiscard]] bool tryingTo(int peer) const;
  [[nodiscard]] size_t at(int rank) const { return static_cast<size_t>(rank); }

  const Options options_;
  int listener_ = -1;
  std::vector<Endpoint> roster_;  // where each rank listens
  std::vector<bool> cut_;
  std::vector<int64_t> triedNs_;
  std::vector<std::unique_ptr<Connection>> connections_;
  int64_t nowNs_ = 0;
};

TcpLinks::Impl::Impl(const Options& options) : options_(options) {
  const auto n = static_cast<size_t>(std::max(options.nRanks, 0));
  in_addr address{};
  if (options.rank < 0 || options.rank >= options.nRanks ||
      inet_pton(AF_INET, options.address.c_str(), &address) != 1)
    throw Error(ErrorCode::kUsage,
                "agreement: rank " + std::to_string(options.rank) + " of " +
                    std::to_string(options.nRanks) + " at '" + options.address + "'",
                "allowed: a rank below the number of ranks and an IPv4 address");
  roster_.resize(n);
  cut_.resize(n);
  triedNs_.resize(n);
  roster_[0] = {address.s_addr, options.port};
  const bool leading = options.rank == 0;
  listener_ = listenOn(leading ? roster_[0] : Endpoint{interfaceTowards(roster_[0]), 0});
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
    connections_.push_back(std::make_unique<Connection>(fd, Stage::kAwaitHello, keyFor(kForHello),
                                                        options_.session, nowNs));
  }
}

void TcpLinks::Impl::connectTo(int peer, int64_t nowNs) {
  if (cut_[at(peer)] || roster_[at(peer)].port == 0 || tryingTo(peer)) return;
  if (triedNs_[at(peer)] != 0 && nowNs - triedNs_[at(peer)] < kRetryNs) return;
  triedNs_[at(peer)] = nowNs;
  const int fd = newSocket();
  sockaddr_in to = socketAddress(roster_[at(peer)]);
  if (connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to)) != 0 && errno != EINPROGRESS) {
    close(fd);
    return;
  }
  auto c = std::make_unique<Connection>(fd, Stage::kConnecting, keyFor(kForHello), options_.session,
                                        nowNs);
  c->peer = peer;
  c->initiated = true;
  c->nonce = freshNonce();
  connections_.push_back(std::move(c));
}

void TcpLinks::Impl::finishConnect(Connection& c) {
  int error = 0;
  socklen_t size = sizeof(error);
  if (getsockopt(c.fd(), SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) return c.shut();
  c.stage = Stage::kAwaitWelcome;
  c.reader.rekey(keyFor(kForWelcome, c.nonce));
  (void)c.say(kHello, packHello({static_cast<uint32_t>(options_.rank),
                                 static_cast<uint32_t>(options_.nRanks), c.nonce, port()}));
}

// The acceptor's half of the handshake.
void TcpLinks::Impl::welcome(Connection& c, const FrameReader::Frame& frame) {
  const auto hello = frame.type == kHello ? readHello(frame.body) : std::nullopt;
  if (!hello || hello->rank >= roster_.size() || hello->nRanks != roster_.size() ||
      static_cast<int>(hello->rank) == options_.rank || cut_[hello->rank])
    return c.shut();
  c.peer = static_cast<int>(hello->rank);
  c.nonce = hello->nonce;
  c.listens = {endpointOf(c.fd(), true).address, hello->port};
  const uint64_t own = freshNonce();
  std::vector<uint8_t> body;
  ByteWriter(body).put(own);
  c.writer.rekey(keyFor(kForWelcome, c.nonce));
  (void)c.say(kWelcome, body);
  c.writer.rekey(keyFor(kForAcceptor, c.nonce, own, hello->rank));
  c.reader.rekey(keyFor(kForInitiator, c.nonce, own, hello->rank));
  c.stage = Stage::kAwaitConfirm;
}

void TcpLinks::Impl::opened(Connection& c, std::vector<LinkEvent>& events) {
  // One link with rank 0: the newest. Whatever was under way on an older one is lost.
  for (auto& other : connections_)
    if (other.get() != &c && other->peer == c.peer && other->stage == Stage::kOpen &&
        other->initiated == c.initiated)
      other->shut();
  c.stage = Stage::kOpen;
  events.push_back({LinkEvent::Kind::kUp, c.peer, {}, {}});
  if (options_.rank != 0) return;
  roster_[at(c.peer)] = c.listens;
  const bool complete = std::all_of(roster_.begin() + 1, roster_.end(),
                                    [](const Endpoint& e) { return e.port != 0; });
  for (auto& each : connections_)
    if (complete && each->stage == Stage::kOpen) sendRoster(*each);
}

void TcpLinks::Impl::sendRoster(Connection& c) {
  std::vector<uint8_t> body;
  ByteWriter w(body);
  for (const auto& e : roster_) {
    w.put(e.address);
    w.put(e.port);
  }
  (void)c.say(kRoster, body);  // a job too large for one frame does without links between workers
}

void TcpLinks::Impl::readRoster(std::span<const uint8_t> body) {
  ByteReader r(body);
  std::vector<Endpoint> all(roster_.size());
  for (auto& e : all) {
    e.address = r.get<uint32_t>();
    e.port = r.get<uint16_t>();
  }
  if (!r.complete()) return;
  all[0] = roster_[0];  // as this rank reaches it
  roster_ = std::move(all);
}

void TcpLinks::Impl::handle(Connection& c, const FrameReader::Frame& frame,
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

void TcpLinks::Impl::handleFrames(Connection& c, std::vector<LinkEvent>& events) {
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

TcpLinks::Connection* TcpLinks::Impl::openTo(int peer) {
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
    Connection& c = *connections_[i];
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
  Connection* c = openTo(to);
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

void TcpLinks::Impl::cut(int peer, bool cut) {
  cut_[at(peer)] = cut;
}

TcpLinks::TcpLinks(const Options& options) : impl_(std::make_unique<Impl>(options)) {}
TcpLinks::~TcpLinks() = default;
void TcpLinks::poll(int64_t nowNs, std::vector<LinkEvent>& events) {
  impl_->poll(nowNs, events);
}
bool TcpLinks::send(int to, const Message& message) {
  return impl_->send(to, message);
}
uint16_t TcpLinks::port() const {
  return impl_->port();
}
void TcpLinks::cut(int peer, bool cut) {
  impl_->cut(peer, cut);
}

}  // namespace autoccl
