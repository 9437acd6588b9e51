#include "edge/nccl/open_session.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/error.h"
#include "base/launchers.h"
#include "base/log.h"
#include "base/settings.h"
#include "edge/nccl/user_limits.h"
#include "edge/session/rendezvous.h"
#include "edge/session/session.h"

namespace autoccl::nccl {
namespace {

constexpr size_t kAddressInId = 8;  // NCCL's id: a magic word, then a socket address
constexpr const char* kOff = "tuning is switched off (AUTOCCL_DISABLE or AUTOCCL_TUNE)";
constexpr const char* kOneRank = "it has one rank";
constexpr const char* kLoopback = "127.0.0.1";

struct Meeting {
  Rendezvous rendezvous;
  std::vector<std::string> addresses;
};

/// Where the process that made the id listens, which is rank 0's host as a rule.
std::optional<std::string> addressIn(const std::array<std::byte, kUniqueIdBytes>& id) {
  sockaddr_in address{};
  std::memcpy(&address, id.data() + kAddressInId, sizeof address);
  std::array<char, INET_ADDRSTRLEN> text{};
  if (address.sin_family != AF_INET ||
      inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size()) == nullptr)
    return std::nullopt;
  return std::string(text.data());
}

std::optional<Meeting> meetingById(const Origin& o) {
  if (o.known == nullptr || !o.known->hasId) return std::nullopt;
  Meeting m;
  m.rendezvous = deriveRendezvous(std::span(o.known->uniqueId));
  if (o.known->path != 0)
    m.rendezvous = splitRendezvous(m.rendezvous, 0, static_cast<int64_t>(o.known->path));
  if (const auto address = addressIn(o.known->uniqueId)) m.addresses.push_back(*address);
  return m;
}

std::optional<Meeting> meetingByName(const Origin& o) {
  if (o.commId == 0) return std::nullopt;
  const auto coordinator = readCoordinator();
  if (!coordinator) return std::nullopt;
  return Meeting{deriveRendezvous(*coordinator, std::as_bytes(std::span(&o.commId, 1))),
                 {coordinator->address}};
}

std::optional<Meeting> meetingOf(const Origin& o) {
  auto meeting = meetingById(o);
  if (!meeting) meeting = meetingByName(o);
  if (!meeting) return meeting;
  if (o.nNodes == 1) {
    meeting->addresses = {kLoopback};
  } else {  // rank 0 of a split may be on any host
    for (std::string& host : knownHosts())
      if (std::find(meeting->addresses.begin(), meeting->addresses.end(), host) ==
          meeting->addresses.end())
        meeting->addresses.push_back(std::move(host));
  }
  return meeting;
}

/// How graph capture is known here: all ranks must know it alike.
const char* captureText(const Origin& o) {
  if (o.known != nullptr) return "interposer";
  return tellsOfCapture(o.profilerVersion) ? "profiler" : "unknown";
}

std::string variantsText() {
  const std::string words = settingText("AUTOCCL_VARIANTS");
  return words.empty() ? "" : ", variants '" + words + "'";
}

std::string capabilitiesOf(const Origin& o) {
  return "tuner v" + std::to_string(o.tunerVersion) + ", profiler v" +
         std::to_string(o.profilerVersion) + ", capture by " + captureText(o) + ", " +
         std::to_string(o.nNodes) + " nodes, settings '" + userLimits().text + "'" + variantsText();
}

std::string nameOf(const Meeting& meeting) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "nccl-%016llx",
                static_cast<unsigned long long>(meeting.rendezvous.session));
  return text.data();
}

/// A unique id is another one in every run; what a crash leaves behind must be found again. The
/// leader's place in the job and the how-manieth communicator of its size it is are the same.
std::string journalOf(const Origin& o) {
  static std::mutex mutex;
  static std::map<int, int>& met = *new std::map<int, int>;
  const std::lock_guard lock(mutex);
  return "nccl-" + launchedRankText() + "-x" + std::to_string(o.nRanks) + "-" +
         std::to_string(met[o.nRanks]++);
}

TuningSession::Seat seatOf(const Origin& o, const Meeting& meeting, CommContext& context) {
  TuningSession::Seat seat;
  seat.rank = o.rank;
  seat.nRanks = o.nRanks;
  seat.name = nameOf(meeting);
  if (o.rank == 0) seat.journal = journalOf(o);
  seat.sessionId = meeting.rendezvous.session;
  seat.key = meeting.rendezvous.key;
  seat.engine = "nccl";
  seat.library = "NCCL (tuner v" + std::to_string(o.tunerVersion) + ", profiler v" +
                 std::to_string(o.profilerVersion) + ")";
  seat.capabilities = capabilitiesOf(o);
  seat.link = TuningSession::Tcp{candidatesAt(meeting.addresses, meeting.rendezvous)};
  seat.joinRule = JoinRule::kOwnDurations;
  seat.measuring = Measuring::kTrials;
  seat.setGate = [&context](CallGate* gate) { context.setGate(gate); };
  seat.spaceFor = [&context](const Task& task) { return context.spaceOf(task); };
  seat.canRun = [&context](const Config& config) { return context.canRun(config); };
  seat.describeDefault = [&context](const Task& task) { return context.ownChoiceText(task); };
  return seat;
}

/// Static text for why there is nothing to do; empty where there is.
const char* obstacle(const Origin& o) {
  if (!tuningWanted()) return kOff;
  if (o.nRanks < 2) return kOneRank;
  if (o.tunerVersion == 0 && !o.variantsOnly) return "NCCL has not loaded the tuner plugin";
  if (o.rank < 0 || o.rank >= o.nRanks)
    return "its rank is not known to a plugin of this NCCL version; preload the library as well";
  if (o.tunerVersion < 3 && userLimits().choosesPairs)
    return "NCCL_ALGO or NCCL_PROTO is set, and this NCCL version would not hold us to it";
  return "";
}

/// The same reason holds for many communicators of a process.
void tellOnce(const char* why) {
  static std::atomic<const char*> told{nullptr};
  if (why == kOneRank || why == kOff || told.exchange(why) == why) return;
  logLine(autoccl::LogLevel::kWarn, std::string("calls of a communicator stay untouched: ") + why);
}

/// What the user has told NCCL stays in force, and is told once.
void tellLimits() {
  static std::atomic<bool> told{false};
  const std::string& set = userLimits().text;
  if (!set.empty() && !told.exchange(true))
    logLine(autoccl::LogLevel::kInfo, "the search stays within " + set);
}

Opened tryOpen(const Origin& o, CommContext& context) {
  if (const char* why = obstacle(o); *why != 0) return {nullptr, why};
  const auto meeting = meetingOf(o);
  if (!meeting)
    return {nullptr,
            "its ranks have nowhere to meet: start the job with autoccl run, preload the "
            "library, or set AUTOCCL_COORDINATOR and AUTOCCL_KEY_FILE"};
  if (meeting->addresses.empty())
    return {nullptr,
            "its unique id holds no IPv4 address; set AUTOCCL_COORDINATOR and "
            "AUTOCCL_KEY_FILE"};
  tellLimits();
  auto session = TuningSession::open(seatOf(o, *meeting, context));
  logLine(autoccl::LogLevel::kInfo, "rank " + std::to_string(o.rank) + " of " +
                                        std::to_string(o.nRanks) + " on " + nameOf(*meeting) +
                                        ": " + capabilitiesOf(o));
  return {session.release(), ""};
}

}  // namespace

bool tuningWanted() noexcept {
  const auto is = [](const char* name, const char* value) {
    const char* set = std::getenv(name);
    return set != nullptr && std::strcmp(set, value) == 0;
  };
  return !is("AUTOCCL_DISABLE", "1") && !is("AUTOCCL_TUNE", "0");
}

SpaceRules rulesOf(const Origin& o) {
  const UserLimits& limits = userLimits();
  SpaceRules rules;
  rules.tunerVersion = o.tunerVersion;
  rules.nNodes = o.nNodes;
  rules.minChannels = limits.minChannels;
  rules.maxChannels = limits.maxChannels;
  if (setting("AUTOCCL_MAX_CHANNELS").fromEnvironment)
    rules.maxChannels =
        std::min(rules.maxChannels, static_cast<int>(settingNumber("AUTOCCL_MAX_CHANNELS")));
  if (setting("AUTOCCL_MAX_CHUNK").fromEnvironment)
    rules.maxChunk = static_cast<uint32_t>(settingSize("AUTOCCL_MAX_CHUNK"));
  rules.minChannels = std::min(rules.minChannels, rules.maxChannels);
  return rules;
}

std::optional<TcpLinks::Options> linksForVariants(const Origin& o) {
  constexpr int64_t kVariants = -2;  // no colour: ncclCommSplit takes none below -1
  if (*obstacle(o) != 0) return std::nullopt;
  auto meeting = meetingOf(o);
  if (!meeting || meeting->addresses.empty()) return std::nullopt;
  meeting->rendezvous = splitRendezvous(meeting->rendezvous, 0, kVariants);
  TcpLinks::Options options;
  options.rank = o.rank;
  options.nRanks = o.nRanks;
  options.session = meeting->rendezvous.session;
  options.key = meeting->rendezvous.key;
  options.candidates = candidatesAt(meeting->addresses, meeting->rendezvous);
  return options;
}

Opened openSession(const Origin& o, CommContext& context) noexcept {
  try {
    const Opened opened = tryOpen(o, context);
    if (opened.session == nullptr) tellOnce(opened.why);
    return opened;
  } catch (const std::exception& error) {
    logLine(autoccl::LogLevel::kWarn, std::string("no tuning of a communicator: ") + error.what());
  } catch (...) {
    logLine(autoccl::LogLevel::kWarn, "no tuning of a communicator: its session failed to open");
  }
  context.setGate(nullptr);
  return {nullptr, "its session could not be opened; the log says why"};
}

}  // namespace autoccl::nccl
