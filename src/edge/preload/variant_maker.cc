#include "edge/preload/variant_maker.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/settings.h"
#include "edge/nccl/contexts.h"
#include "edge/nccl/open_session.h"
#include "edge/nccl/plugin_side.h"
#include "edge/nccl/user_limits.h"
#include "edge/nccl/variant_table.h"
#include "edge/preload/init_gate.h"
#include "edge/preload/signals.h"
#include "edge/preload/watcher.h"
#include "edge/session/exchange.h"
#include "store/nccl/settings.h"

namespace autoccl::preload {
namespace {

using nccl::VariantRow;
using Bytes = Exchange::Bytes;

constexpr const char* kLost = "another rank has not come, or has left";
constexpr int64_t kLongestGateNs = 5'000'000'000;  // for an init of the program's that is under way
constexpr int kUsualChannels = 16;
constexpr int kFirstTuner = 21900;
constexpr int kFirstContext = 22100;       // tuner v2: before, a context is made at the first call
constexpr unsigned kEventWithoutTime = 2;  // CU_EVENT_DISABLE_TIMING

std::string inMiB(uint64_t bytes) {
  return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB";
}

/// The user's own variable that the variant would change, or null.
const char* usersOwn(const VariantRow& row, const nccl::Sources& sources) {
  for (const auto& [name, value] : row.variables)
    if (sources.inForce(name) != nullptr) return name;
  return nullptr;
}

/// The function of the library that a variant is made with.
template <class Function>
Function functionOf(PrivateLibrary* library, Symbol symbol) {
  void* found =
      library != nullptr
          ? library->of(symbol)
          : findTarget(kSymbolNames[static_cast<size_t>(symbol)], targets.library()).address;
  if (found == nullptr)
    throw Error(ErrorCode::kSystem,
                std::string("NCCL has no ") + kSymbolNames[static_cast<size_t>(symbol)]);
  return reinterpret_cast<Function>(found);
}

/// Of the current device, in bytes; 0 where the driver does not say.
uint64_t freeMemory() {
  size_t free = 0, total = 0;
  const Driver* driver = Driver::found();
  return driver->memoryInfo != nullptr && driver->memoryInfo(&free, &total) == 0 ? free : 0;
}

Bytes bytesOf(VariantSet set) {
  return {static_cast<uint8_t>(set), static_cast<uint8_t>(set >> 8),
          static_cast<uint8_t>(set >> 16), static_cast<uint8_t>(set >> 24)};
}

VariantSet setOf(const Bytes& bytes) {
  VariantSet set = 0;
  for (size_t i = 0; i < sizeof set && i < bytes.size(); ++i) set |= VariantSet{bytes[i]} << 8 * i;
  return set;
}

Bytes common(const std::vector<Bytes>& ofRanks) {
  VariantSet set = ~VariantSet{0};
  for (const Bytes& bytes : ofRanks) set &= setOf(bytes);
  return bytesOf(set);
}

Bytes ofRankZero(const std::vector<Bytes>& ofRanks) {
  return ofRanks.front();
}

int ncclVersion() {
  const Target target = findTarget("ncclGetVersion", targets.library());
  int version = 0;
  if (target.address != nullptr) (void)reinterpret_cast<int (*)(int*)>(target.address)(&version);
  return version;
}

void say(LogLevel level, const CommEntry& entry, const std::string& text) {
  logLine(level, "variants on rank " + std::to_string(entry.known.rank) + " of " +
                     std::to_string(entry.known.nRanks) + ": " + text);
}

/// The context in which the communicator's calls are counted; null where there is none.
nccl::CommContext* contextOf(CommEntry& entry, int version) {
  auto* context = static_cast<nccl::CommContext*>(entry.known.context.load());
  if (context != nullptr || version >= kFirstContext) return context;
  nccl::announcePlugins();
  return nccl::Contexts::ofProcess().ofCurrentCall(version < kFirstTuner ? 0 : 1);
}

/// Lives for good: a late call may look, and so may a making that has hung.
Family& newFamily() {
  static std::mutex mutex;
  static auto* const all = new std::deque<Family>;
  const std::lock_guard lock(mutex);
  return all->emplace_back();
}

}  // namespace

/// One making, shared with the thread that does it, which may outlive all of this.
struct VariantMaker::Attempt {
  NcclVariables variables;
  PrivateLibrary* library = nullptr;
  Member* member = nullptr;
  UniqueId id{};
  UserConfig config;
  Driver::Context context = nullptr;
  uint64_t freeBefore = 0;  // bytes of GPU memory

  std::mutex mutex;
  bool over = false, givenUp = false;
  int result = kInternalError;
  Comm comm = nullptr;

  [[nodiscard]] std::optional<bool> ended();
  void giveUp() noexcept;
  void abort() noexcept {
    if (comm == nullptr) return;
    const Inside inside;
    try {
      (void)functionOf<int (*)(Comm)>(library, Symbol::kCommAbort)(comm);
    } catch (const Error&) {  // an NCCL without ncclCommAbort is older than any we know
    }
    comm = nullptr;
  }
  static void begin(const std::shared_ptr<Attempt>& attempt) {
    const SignalsBlocked blocked;
    std::thread([attempt] { attempt->work(); }).detach();
  }
  /// The thread's work: NCCL's init, which blocks until all ranks have come.
  void work() noexcept;
};

void VariantMaker::Attempt::work() noexcept {
  const Inside inside;
  (void)Driver::found()->contextSetCurrent(context);
  nccl::noteInit(member->known);
  nccl::callNote.initialising = &member->known;
  int made = kInternalError;
  try {
    const nccl::KnownCommunicator& known = member->known;
    if (void* own = config.get())
      made = functionOf<int (*)(Comm*, int, UniqueId, int, void*)>(
          library, Symbol::kCommInitRankConfig)(&comm, known.nRanks, id, known.rank, own);
    else
      made = functionOf<int (*)(Comm*, int, UniqueId, int)>(library, Symbol::kCommInitRank)(
          &comm, known.nRanks, id, known.rank);
  } catch (const std::exception&) {
  }
  nccl::callNote.initialising = nullptr;
  nccl::forgetInit(member->known);
  const std::lock_guard lock(mutex);
  over = true;
  result = made;
  if (givenUp || made != kSuccess) abort();
}

/// The environment is the variant's while it lives.
class VariantMaker::Environment {
 public:
  Environment() = default;
  ~Environment() {
    if (entered_) InitGate::ofProcess().end();
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  [[nodiscard]] bool enter(const NcclVariables& variables, int64_t deadlineNs) {
    return entered_ = InitGate::ofProcess().begin(variables, deadlineNs);
  }

 private:
  bool entered_ = false;
};

/// The exchange, and no more steps once one has failed.
class VariantMaker::Steps {
 public:
  Steps(const TcpLinks::Options& options, int64_t deadlineNs, std::function<bool()> cancelled)
      : exchange_(options, deadlineNs, std::move(cancelled)) {}
  /// Throws where the ranks have lost each other.
  Bytes step(const Bytes& mine, const Exchange::Answer& answer) {
    auto all = exchange_.step(mine, answer);
    if (!all) throw Error(ErrorCode::kSystem, kLost);
    return *all;
  }
  bool all(const std::function<std::optional<bool>()>& mine) {
    const auto answer = exchange_.all(mine);
    if (!answer) throw Error(ErrorCode::kSystem, kLost);
    return *answer;
  }

 private:
  Exchange exchange_;
};

int channelsExpected(const CommEntry& entry) {
  const nccl::UserLimits& limits = nccl::userLimits();
  int channels = std::clamp(kUsualChannels, limits.minChannels, limits.maxChannels);
  if (const int most = entry.config.maxChannels(); most > 0) channels = std::min(channels, most);
  return std::max(channels, 1);
}

VariantPlan planVariants(int version, int channels) {
  VariantPlan plan;
  const VariantSet asked = nccl::variantsNamed(settingText("AUTOCCL_VARIANTS"), version);
  const uint64_t cap = settingSize("AUTOCCL_VARIANT_MEMORY");
  const nccl::Sources sources = nccl::readSources(environ);
  uint64_t sum = 0;
  std::vector<VariantRow> rows = nccl::variantRows();
  std::stable_partition(rows.begin(), rows.end(), [](const auto& r) { return r.word.empty(); });
  for (const VariantRow& row : rows) {
    if ((asked & bitOf(row.variant)) == 0) continue;
    const std::string name(toText(row.variant));
    if (const char* own = usersOwn(row, sources)) {
      plan.lines.push_back(name + " is left out: " + own + " is set, and stays");
      continue;
    }
    const uint64_t bytes = nccl::estimatedBytes(row.variant, channels);
    if (sum + bytes > cap) {
      plan.lines.push_back(name + " is left out: with about " + inMiB(bytes) +
                           " of GPU memory more, all would pass AUTOCCL_VARIANT_MEMORY (" +
                           inMiB(cap) + ")");
      continue;
    }
    sum += bytes;
    plan.variants |= bitOf(row.variant);
    plan.lines.push_back(name + " takes about " + inMiB(bytes) + " of GPU memory");
  }
  return plan;
}

VariantMaker::VariantMaker(CommEntry& entry, Family& family, int version)
    : entry_(entry),
      family_(family),
      version_(version),
      deadlineNs_(nowNs() + static_cast<int64_t>(settingNumber("AUTOCCL_INIT_TIMEOUT") * 1e9)) {}

VariantSet VariantMaker::run() {
  nccl::Origin origin = family_.context->origin();  // which learns from us at its first call
  origin.known = &entry_.known;
  origin.rank = entry_.known.rank;
  const auto options = nccl::linksForVariants(origin);
  if (!options) return 0;
  const VariantPlan plan = planVariants(version_, channelsExpected(entry_));
  for (const std::string& line : plan.lines) say(LogLevel::kInfo, entry_, line);
  // Whoever aborts the communicator takes it out of the book first.
  Steps steps(*options, deadlineNs_, [this] { return entry_.comm.load() == nullptr; });
  VariantSet wanted = setOf(steps.step(bytesOf(plan.variants), common));
  VariantSet made = 0;
  for (const VariantRow& row : nccl::variantRows())
    if ((wanted & bitOf(row.variant)) != 0 && make(row, steps)) made |= bitOf(row.variant);
  return made;
}

std::shared_ptr<VariantMaker::Attempt> VariantMaker::prepare(const VariantRow& row) {
  auto attempt = std::make_shared<Attempt>();
  for (const auto& [name, value] : row.variables) attempt->variables.emplace_back(name, value);
  attempt->config = entry_.config;
  attempt->member = &family_.members[static_cast<size_t>(row.variant)];
  nccl::KnownCommunicator& known = attempt->member->known;
  known.isVariant = true;
  known.rank = entry_.known.rank;
  known.nRanks = entry_.known.nRanks;
  known.device = entry_.known.device;
  if (nccl::needsCopy(row, version_, std::getenv("NCCL_NO_CACHE")))
    attempt->library = PrivateLibrary::open(targets.library(), static_cast<size_t>(row.variant));
  if (Driver::found()->contextGetCurrent(&attempt->context) != 0)
    throw Error(ErrorCode::kSystem, "no CUDA context is current");
  attempt->freeBefore = freeMemory();
  return attempt;
}

/// How it went, once NCCL has said.
std::optional<bool> VariantMaker::Attempt::ended() {
  const std::lock_guard lock(mutex);
  if (!over) return std::nullopt;
  return result == kSuccess;
}

/// Gives it up: what is there is aborted here, what is not by its thread, should it ever end.
void VariantMaker::Attempt::giveUp() noexcept {
  const std::lock_guard lock(mutex);
  givenUp = true;
  if (over) abort();
}

/// Under the variant's variables all along: a copy of the library reads some at its first call.
bool VariantMaker::make(const VariantRow& row, Steps& steps) {
  std::shared_ptr<Attempt> attempt;
  Environment environment;
  bool good = true;
  try {
    attempt = prepare(row);
    if (!environment.enter(attempt->variables, std::min(deadlineNs_, nowNs() + kLongestGateNs)))
      throw Error(ErrorCode::kSystem, "another communicator is being made all the time");
    if (entry_.known.rank == 0 &&
        functionOf<int (*)(UniqueId*)>(attempt->library, Symbol::kGetUniqueId)(&attempt->id) !=
            kSuccess)
      throw Error(ErrorCode::kSystem, "NCCL gives no unique id");
  } catch (const std::exception& error) {
    good = false;
    say(LogLevel::kWarn, entry_,
        std::string(toText(row.variant)) + " cannot be made: " + error.what());
  }
  if (!steps.all([good] { return std::optional<bool>(good); })) return false;
  const auto* id = reinterpret_cast<const uint8_t*>(attempt->id.bytes);
  const Bytes ids = steps.step(Bytes(id, id + sizeof attempt->id), ofRankZero);
  std::copy_n(ids.begin(), std::min(ids.size(), sizeof attempt->id), attempt->id.bytes);
  return makeTogether(attempt, row, steps);
}

bool VariantMaker::makeTogether(const std::shared_ptr<Attempt>& attempt, const VariantRow& row,
                                Steps& steps) {
  Attempt::begin(attempt);
  bool everywhere = false;
  try {
    everywhere = steps.all([&] { return attempt->ended(); });
  } catch (const std::exception&) {
    attempt->giveUp();
    throw;
  }
  if (everywhere) {
    keep(*attempt, row.variant);
    return true;
  }
  const auto here = attempt->ended();
  say(LogLevel::kWarn, entry_,
      std::string(toText(row.variant)) +
          (here == true    ? " failed on another rank"
           : here == false ? " could not be made: NCCL returned " + std::to_string(attempt->result)
                           : " failed on another rank; a thread of ours waits in NCCL for it"));
  attempt->giveUp();
  return false;
}

void VariantMaker::keep(const Attempt& attempt, Variant variant) {
  Member& member = *attempt.member;
  if (const uint64_t free = freeMemory(); attempt.freeBefore > free)
    say(LogLevel::kInfo, entry_,
        std::string(toText(variant)) + " has taken " + inMiB(attempt.freeBefore - free) +
            " of GPU memory");
  member.library = attempt.library;
  member.comm.store(attempt.comm);
  if (void* context = member.known.context.load())
    family_.context->attach(variant, *static_cast<nccl::CommContext*>(context));
}

namespace {

void openEngine(CommEntry& entry, Family& family) {
  std::string why;
  try {
    GpuEngine* engine = GpuEngine::open(entry, *family.context).release();
    family.gpus.store(engine);
    family.context->offerEngine([engine](Space& space) { engine->extend(space); });
  } catch (const std::exception& error) {
    why = error.what();
  }
  if (!why.empty()) family.context->tellOfEngine("the GPU engine is not offered: " + why);
  logLine(why.empty() ? LogLevel::kInfo : LogLevel::kWarn,
          "rank " + std::to_string(entry.known.rank) + " of " + std::to_string(entry.known.nRanks) +
              (why.empty() ? ": the GPU engine is there" : ": no GPU engine: " + why));
}

VariantSet makeVariants(CommEntry& entry, Family& family, int version) {
  const VariantSet made = VariantMaker(entry, family, version).run();
  std::string names;
  for (const VariantRow& row : nccl::variantRows())
    if ((made & bitOf(row.variant)) != 0) names += " " + std::string(toText(row.variant));
  say(LogLevel::kInfo, entry, names.empty() ? "none is there" : "there are" + names);
  return made;
}

}  // namespace

Family* makeFamily(CommEntry& entry) noexcept {
  Family* family = nullptr;
  VariantSet made = 0;
  try {
    const Driver* driver = Driver::found();
    const int version = ncclVersion();
    nccl::CommContext* context = contextOf(entry, version);
    if (context == nullptr || driver == nullptr || driver->streamWaitEvent == nullptr)
      return nullptr;
    family = &newFamily();
    family->context = context;
    family->asksTuner = version >= kFirstTuner;
    if (driver->eventCreate(&family->last, kEventWithoutTime) != 0)
      throw Error(ErrorCode::kSystem, "the driver makes no event");
    if (settingSwitch("AUTOCCL_DIRECT")) openEngine(entry, *family);
    if (!settingText("AUTOCCL_VARIANTS").empty()) made = makeVariants(entry, *family, version);
  } catch (const std::exception& error) {
    say(LogLevel::kWarn, entry, std::string("no more are made: ") + error.what());
  }
  if (family == nullptr || entry.comm.load() == nullptr) return nullptr;
  family->context->offer(made);
  return family;
}

}  // namespace autoccl::preload
