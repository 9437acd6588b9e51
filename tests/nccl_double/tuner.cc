#include "tests/nccl_double/tuner.h"

#include <dlfcn.h>

#include <mutex>
#include <string>
#include <vector>

#include "tests/nccl_double/environment.h"
#include "tests/nccl_double/log.h"
#include "tests/nccl_double/plugin_file.h"
#include "tests/nccl_double/release.h"

namespace autoccl::nccl_double {
namespace {

using nccl::Result;

nccl::NvlDomains oneDomain(size_t nRanks, size_t nNodes) {
  const int perNode = static_cast<int>(nRanks / (nNodes > 0 ? nNodes : 1));
  return {static_cast<int>(nNodes), perNode, perNode};
}

/// A plugin that does not know some of the calls: what NCCL's own wrappers do for it.
template <class Table>
class TunerOf : public Tuner {
 public:
  explicit TunerOf(Table* plugin) : plugin_(plugin) {}
  [[nodiscard]] const char* name() const override { return plugin_->name; }

  Result init(void** context, uint64_t commId, size_t nRanks, size_t nNodes) override {
    *context = nullptr;
    if constexpr (requires { plugin_->finalize; }) {
      nccl::NvlDomains domains = oneDomain(nRanks, nNodes);
      return plugin_->init(context, commId, nRanks, nNodes, pluginLogger(), &domains, &constants_);
    } else if constexpr (std::is_same_v<Table, nccl::TunerV1>) {
      return plugin_->init(nRanks, nNodes, pluginLogger());
    } else {
      return plugin_->init(nRanks, nNodes, pluginLogger(), context);
    }
  }

  Result getCollInfo(void* context, const TunerQuestion& q, CostTable& table, int nAlgos, int* algo,
                     int* proto, int* nChannels) override {
    auto* rows = reinterpret_cast<float**>(&table[0][0]);
    if constexpr (std::is_same_v<Table, nccl::TunerV1>) {
      return plugin_->getCollInfo(q.func, q.nBytes, q.collnet, q.nvls, q.pipeOps, algo, proto,
                                  nChannels);
    } else if constexpr (std::is_same_v<Table, nccl::TunerV2>) {
      const Result result = plugin_->getCollInfo(context, q.func, q.nBytes, q.collnet, q.nvls,
                                                 q.pipeOps, algo, proto, nChannels);
      writePair(table, nAlgos, *algo, *proto);
      return result;
    } else if constexpr (std::is_same_v<Table, nccl::TunerV3>) {
      return plugin_->getCollInfo(context, q.func, q.nBytes, q.pipeOps, rows, nAlgos, nccl::kProtos,
                                  nChannels);
    } else {
      return plugin_->getCollInfo(context, q.func, q.nBytes, q.pipeOps, rows, nAlgos, nccl::kProtos,
                                  q.registered, nChannels);
    }
  }

  Result getChunkSize(void* context, nccl::Func func, size_t nBytes, int algo, int proto,
                      int nChannels, size_t* chunk) override {
    if constexpr (std::is_same_v<Table, nccl::TunerV6>) {
      if (plugin_->getChunkSize != nullptr)
        return plugin_->getChunkSize(context, func, nBytes, algo, proto, nChannels, chunk);
    }
    return Result::kSuccess;
  }

  Result finalize(void* context) override {
    if constexpr (requires { plugin_->finalize; }) return plugin_->finalize(context);
    if constexpr (std::is_same_v<Table, nccl::TunerV1>)
      return plugin_->destroy();
    else if constexpr (requires { plugin_->destroy(context); })
      return plugin_->destroy(context);
    return Result::kSuccess;
  }

 private:
  /// v2 under a release with a table: the pair is taken only where it is possible.
  static void writePair(CostTable& table, int nAlgos, int algo, int proto) {
    if (release().choice == Choice::kPair) return;
    if (algo < 0 || algo >= nAlgos || proto < 0 || proto >= nccl::kProtos) return;
    if (table[algo][proto] != nccl::kEntryIgnored) table[algo][proto] = 0.0F;
  }

  Table* plugin_;
  nccl::ModelConstants constants_{};
};

template <class Table>
std::unique_ptr<Tuner> wrap(void* symbol) {
  return std::make_unique<TunerOf<Table>>(static_cast<Table*>(symbol));
}

std::unique_ptr<Tuner> wrapVersion(int version, void* symbol) {
  switch (version) {
    case 1:
      return wrap<nccl::TunerV1>(symbol);
    case 2:
      return wrap<nccl::TunerV2>(symbol);
    case 3:
      return wrap<nccl::TunerV3>(symbol);
    case 4:
      return wrap<nccl::TunerV4>(symbol);
    case 5:
      return wrap<nccl::TunerV5>(symbol);
    case 6:
      return wrap<nccl::TunerV6>(symbol);
    default:
      return nullptr;  // v7 has no public layout yet
  }
}

enum class Load { kReady, kLoaded, kFailed };

struct Process {
  std::mutex mutex;
  Load load = Load::kReady;
  void* library = nullptr;
  /// The last is in use; earlier ones stay, since communicators may hold them.
  std::vector<std::unique_ptr<Tuner>> tuners;
  int users = 0;
};

Process& process() {
  static auto* state = new Process;
  return *state;
}

}  // namespace

std::unique_ptr<Tuner> tunerIn(void* library) {
  for (int version = release().tunerNewest; version >= release().tunerOldest && version > 0;
       --version) {
    const std::string symbol = "ncclTunerPlugin_v" + std::to_string(version);
    void* found = dlsym(library, symbol.c_str());
    say(Level::kInfo, kSubInit, "TUNER/Plugin: %s %s", symbol.c_str(),
        found != nullptr ? "found" : "not found");
    if (found == nullptr) continue;
    if (auto tuner = wrapVersion(version, found)) return tuner;
  }
  return nullptr;
}

Tuner* acquireTuner(bool* loaded) {
  *loaded = false;
  Process& p = process();
  const std::lock_guard lock(p.mutex);
  if (p.load == Load::kFailed || release().tunerNewest == 0) return nullptr;
  if (p.load == Load::kLoaded) {
    ++p.users;
    return p.tuners.back().get();
  }
  p.load = Load::kFailed;
  void* library = openPlugin(Plugin::kTuner, variable("NCCL_TUNER_PLUGIN"));
  if (library == nullptr) return nullptr;
  auto tuner = tunerIn(library);
  if (tuner == nullptr) {
    dlclose(library);
    return nullptr;
  }
  say(Level::kInfo, kSubInit | kSubTuning, "TUNER/Plugin: using %s", tuner->name());
  p.tuners.push_back(std::move(tuner));
  p.library = library;
  p.load = Load::kLoaded;
  p.users = 1;
  *loaded = true;
  return p.tuners.back().get();
}

void releaseTuner(bool loaded) {
  Process& p = process();
  const std::lock_guard lock(p.mutex);
  if (!loaded || --p.users > 0 || p.library == nullptr) return;
  dlclose(p.library);
  p.library = nullptr;
  p.load = Load::kReady;
}

}  // namespace autoccl::nccl_double
