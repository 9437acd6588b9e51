#include "tests/nccl_double/profiler.h"

#include <dlfcn.h>

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "tests/nccl_double/environment.h"
#include "tests/nccl_double/log.h"
#include "tests/nccl_double/plugin_file.h"
#include "tests/nccl_double/release.h"

namespace autoccl::nccl_double {
namespace {

using namespace nccl;

std::atomic<uint64_t> eventsStarted{0};
int activationMask = 0;  // set by the plugin, at any time and from any thread

/// Writes the fields that this version's body has.
template <class Coll>
void fillColl(Coll& c, const CollReport& r) {
  c.seq = r.seq;
  c.sendBuff = r.send;
  c.recvBuff = r.recv;
  c.count = r.count;
  c.root = r.root;
  c.nWarps = static_cast<uint8_t>(r.nWarps);
  if constexpr (requires { c.commHash; }) {
    c.commName = r.commName;
    c.commHash = r.commHash;
  }
  if constexpr (requires { c.trafficBytes; }) c.trafficBytes = r.trafficBytes;
  if constexpr (requires { c.nMaxChannels; }) c.nMaxChannels = static_cast<uint8_t>(r.nMaxChannels);
  if constexpr (requires { c.nChannels; }) c.nChannels = static_cast<uint8_t>(r.nChannels);
  if constexpr (requires { c.parentGroup; }) c.parentGroup = r.parentGroup;
  if constexpr (std::is_same_v<decltype(c.algo), uint8_t>) {
    c.func = static_cast<uint8_t>(r.funcNumber);
    c.dtype = static_cast<uint8_t>(r.dtypeNumber);
    c.algo = static_cast<uint8_t>(r.algoNumber);
    c.proto = static_cast<uint8_t>(r.protoNumber);
  } else {
    c.func = r.func;
    c.dtype = r.dtype;
    c.algo = r.algo;
    c.proto = r.proto;
  }
  if constexpr (requires { c.kernelVariant; }) c.kernelVariant = "default";
}

template <class Table, class Event>
class ProfilerOf : public Profiler {
 public:
  explicit ProfilerOf(Table* plugin) : plugin_(plugin) {}
  [[nodiscard]] const char* name() const override { return plugin_->name; }

  Result init(void** context, const Place& p) override {
    *context = nullptr;
    if constexpr (std::is_same_v<Table, ProfilerV4>)
      return plugin_->init(context, &activationMask, p.commName, p.commHash, p.nNodes, p.nRanks,
                           p.rank, pluginLogger());
    else if constexpr (requires { plugin_->init(context, &activationMask); })
      return plugin_->init(context, &activationMask);
    else
      return plugin_->init(context, p.commHash, &activationMask, p.commName, p.nNodes, p.nRanks,
                           p.rank, pluginLogger());
  }

  void* startGroupApi(void* context, int rank, bool captured) override {
    if constexpr (requires(Event e) { e.groupApi; }) {
      return start(context, kEventGroupApi, rank, nullptr, [&](Event& e) {
        e.groupApi.graphCaptured = captured;
        e.groupApi.depth = 1;
      });
    }
    return nullptr;
  }

  void* startCollApi(void* context, int rank, void* group, const CollReport& r) override {
    if constexpr (requires(Event e) { e.collApi; }) {
      return start(context, kEventCollApi, rank, group, [&](Event& e) {
        e.collApi.func = r.func;
        e.collApi.count = r.count;
        e.collApi.dtype = r.dtype;
        e.collApi.root = r.root;
        e.collApi.stream = r.stream;
        e.collApi.graphCaptured = r.captured;
      });
    }
    return nullptr;
  }

  void* startLaunch(void* context, int rank, void* group, void* stream) override {
    if constexpr (requires(Event e) { e.kernelLaunch; }) {
      return start(context, kEventKernelLaunch, rank, group,
                   [&](Event& e) { e.kernelLaunch.stream = stream; });
    }
    return nullptr;
  }

  void* startGroup(void* context, int rank) override {
    return start(context, kEventGroup, rank, nullptr, [](Event&) {});
  }

  void* startColl(void* context, int rank, const CollReport& r) override {
    // With v5 the API event is the parent; before it the group was.
    void* parent = r.parentGroup;
    if constexpr (requires(Event e) { e.collApi; }) parent = r.parentApi;
    return start(context, kEventColl, rank, parent, [&](Event& e) { fillColl(e.coll, r); });
  }

  void* startKernelCh(void* context, int rank, void* coll, int channel, uint64_t startNs) override {
    if constexpr (requires(Event e) { e.kernelCh; }) {
      return start(context, kEventKernelCh, rank, coll, [&](Event& e) {
        e.kernelCh.channel = static_cast<uint8_t>(channel);
        if constexpr (requires { e.kernelCh.startTimer; }) e.kernelCh.startTimer = startNs;
      });
    }
    return nullptr;
  }

  void stopKernelCh(void* handle, uint64_t stopNs) override {
    if constexpr (requires(Event e) { e.kernelCh.startTimer; }) {
      StateArgsV4 args{};
      args.kernelCh.stopTimer = stopNs;
      plugin_->recordEventState(handle, kStateKernelChStop, &args);
    }
    plugin_->stopEvent(handle);
  }

  void stop(void* handle) override {
    if (handle != nullptr) plugin_->stopEvent(handle);
  }
  void finalize(void* context) override {
    if (context != nullptr) plugin_->finalize(context);
  }

 private:
  template <class Fill>
  void* start(void* context, EventKind kind, int rank, void* parent, const Fill& fill) {
    Event event{};
    event.kind = static_cast<decltype(event.kind)>(kind);
    event.rank = rank;
    event.parent = parent;
    fill(event);
    void* handle = nullptr;
    eventsStarted.fetch_add(1, std::memory_order_relaxed);
    plugin_->startEvent(context, &handle, &event);
    return handle;
  }

  Table* plugin_;
};

template <class Table, class Event>
std::unique_ptr<Profiler> wrap(void* symbol) {
  return std::make_unique<ProfilerOf<Table, Event>>(static_cast<Table*>(symbol));
}

std::unique_ptr<Profiler> wrapVersion(int version, void* symbol) {
  switch (version) {
    case 1:
      return wrap<ProfilerV1, EventV1>(symbol);
    case 2:
      return wrap<ProfilerV2, EventV2>(symbol);
    case 3:
      return wrap<ProfilerV3, EventV3>(symbol);
    case 4:
      return wrap<ProfilerV4, EventV4>(symbol);
    case 5:
      return wrap<ProfilerV5, EventV5>(symbol);
    case 6:
      return wrap<ProfilerV6, EventV6>(symbol);
    default:
      return wrap<ProfilerV7, EventV7>(symbol);
  }
}

std::unique_ptr<Profiler> profilerIn(void* library) {
  for (int version = release().profilerNewest; version > 0; --version) {
    const std::string symbol = "ncclProfiler_v" + std::to_string(version);
    void* found = dlsym(library, symbol.c_str());
    say(Level::kInfo, kSubInit, "PROFILER/Plugin: %s %s", symbol.c_str(),
        found != nullptr ? "found" : "not found");
    if (found != nullptr) return wrapVersion(version, found);
  }
  return nullptr;
}

enum class Load { kReady, kLoaded, kFailed };

struct Process {
  std::mutex mutex;
  Load load = Load::kReady;
  void* library = nullptr;
  std::vector<std::unique_ptr<Profiler>> profilers;  // the last is in use
  int users = 0;
};

Process& process() {
  static auto* state = new Process;
  return *state;
}

}  // namespace

int profilerMask() noexcept {
  return __atomic_load_n(&activationMask, __ATOMIC_RELAXED);
}

uint64_t profilerEvents() noexcept {
  return eventsStarted.load(std::memory_order_relaxed);
}

Profiler* acquireProfiler() {
  Process& p = process();
  const std::lock_guard lock(p.mutex);
  if (p.load == Load::kFailed || release().profilerNewest == 0) return nullptr;
  if (p.load == Load::kReady) {
    p.load = Load::kFailed;
    void* library = openPlugin(Plugin::kProfiler, variable("NCCL_PROFILER_PLUGIN"));
    if (library == nullptr) return nullptr;
    auto profiler = profilerIn(library);
    if (profiler == nullptr) {
      dlclose(library);
      return nullptr;
    }
    say(Level::kInfo, kSubInit, "PROFILER/Plugin: using %s", profiler->name());
    p.profilers.push_back(std::move(profiler));
    p.library = library;
    p.load = Load::kLoaded;
  }
  ++p.users;
  return p.profilers.back().get();
}

void releaseProfiler() {
  Process& p = process();
  const std::lock_guard lock(p.mutex);
  if (p.load != Load::kLoaded || --p.users > 0) return;
  dlclose(p.library);
  p.library = nullptr;
  p.load = Load::kReady;
}

}  // namespace autoccl::nccl_double
