#include "edge/session/rendezvous.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <mutex>

#include "agree/key_file.h"
#include "base/error.h"
#include "base/settings.h"

namespace autoccl {
namespace {

constexpr uint32_t kFirstPort = 20000;
constexpr uint32_t kPortCount = 12768;  // up to 32767
constexpr uint32_t kPortStride = 1597;  // no common divisor with either span: no port comes twice
constexpr size_t kWord = sizeof(uint64_t);

std::span<const uint8_t> bytesOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

/// A part of what a key stands for, by the part's name.
MacTag part(const MacKey& key, const char* name) {
  return sipHash128(key, {reinterpret_cast<const uint8_t*>(name), std::strlen(name)});
}

uint64_t wordOf(const MacTag& tag) {
  uint64_t word = 0;
  std::memcpy(&word, tag.data(), sizeof(word));
  return word;
}

Rendezvous expand(const MacKey& key, uint32_t firstPort, uint32_t nPorts) {
  Rendezvous r;
  r.key = part(key, "autoccl key");
  const uint64_t session = wordOf(part(key, "autoccl session"));
  r.session = session == 0 ? 1 : session;
  const uint64_t start = wordOf(part(key, "autoccl ports"));
  for (size_t i = 0; i < r.ports.size(); ++i)
    r.ports[i] = static_cast<uint16_t>(firstPort + (start % nPorts + i * kPortStride) % nPorts);
  return r;
}

std::string resolved(const std::string& host, const std::string& setting) {
  addrinfo wanted{};
  wanted.ai_family = AF_INET;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int status = getaddrinfo(host.c_str(), nullptr, &wanted, &found);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, [](addrinfo* a) {
    if (a) freeaddrinfo(a);
  });
  if (status != 0)
    throw Error(ErrorCode::kUsage,
                "AUTOCCL_COORDINATOR='" + setting + "': " + host + ": " + gai_strerror(status),
                "allowed: host:port, the host having an IPv4 address");
  char text[INET_ADDRSTRLEN] = "";
  (void)inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_addr, text,
                  sizeof(text));
  return text;
}

struct HostList {
  std::mutex mutex;
  std::vector<std::string> hosts;
};

// Never destroyed: a program may end with sessions open, whose agent threads then still run.
HostList& hostList() {
  static auto* const list = new HostList;
  return *list;
}

}  // namespace

Rendezvous deriveRendezvous(std::span<const std::byte> id) {
  return expand(sipHash128(MacKey{}, bytesOf(id)), kFirstPort, kPortCount);
}

Rendezvous splitRendezvous(const Rendezvous& parent, uint64_t nthSplit, int64_t colour) {
  std::array<uint8_t, 3 * kWord> words{};
  std::memcpy(words.data(), &parent.session, kWord);
  std::memcpy(words.data() + kWord, &nthSplit, kWord);
  std::memcpy(words.data() + 2 * kWord, &colour, kWord);
  return expand(sipHash128(parent.key, words), kFirstPort, kPortCount);
}

std::optional<Coordinator> readCoordinator() {
  const std::string place = settingText("AUTOCCL_COORDINATOR");
  const std::string keyFile = settingText("AUTOCCL_KEY_FILE");
  if (place.empty() && keyFile.empty()) return std::nullopt;
  if (place.empty() || keyFile.empty())
    throw Error(ErrorCode::kUsage,
                place.empty() ? "AUTOCCL_KEY_FILE is set, AUTOCCL_COORDINATOR is not"
                              : "AUTOCCL_COORDINATOR is set, AUTOCCL_KEY_FILE is not",
                "set both or neither");
  const size_t colon = place.rfind(':');
  unsigned port = 0;
  const char* const end = place.data() + place.size();
  const char* const digits = colon == std::string::npos ? end : place.data() + colon + 1;
  const auto [stop, error] = std::from_chars(digits, end, port);
  const unsigned most = 65536U - Coordinator::kPortSpan;
  if (colon == 0 || digits == end || stop != end || error != std::errc() || port < 1 || port > most)
    throw Error(ErrorCode::kUsage, "AUTOCCL_COORDINATOR='" + place + "' is no place to meet",
                "allowed: host:port with a port from 1 to " + std::to_string(most));
  return Coordinator{resolved(place.substr(0, colon), place), static_cast<uint16_t>(port),
                     readKeyFile(keyFile)};
}

Rendezvous deriveRendezvous(const Coordinator& coordinator, std::span<const std::byte> name) {
  return expand(sipHash128(coordinator.key, bytesOf(name)), coordinator.port,
                Coordinator::kPortSpan);
}

std::vector<std::string> knownHosts() {
  HostList& list = hostList();
  const std::lock_guard lock(list.mutex);
  return list.hosts;
}

void noteHosts(std::span<const std::string> hosts) {
  HostList& list = hostList();
  const std::lock_guard lock(list.mutex);
  for (const std::string& host : hosts)
    if (list.hosts.size() < kMostHosts &&
        std::find(list.hosts.begin(), list.hosts.end(), host) == list.hosts.end())
      list.hosts.push_back(host);
}

std::vector<TcpEndpoint> candidatesAt(std::span<const std::string> addresses,
                                      const Rendezvous& rendezvous) {
  std::vector<TcpEndpoint> candidates;
  for (const std::string& address : addresses)
    for (const uint16_t port : rendezvous.ports) candidates.push_back({address, port});
  return candidates;
}

}  // namespace autoccl
