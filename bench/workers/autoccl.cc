// A rank of `autoccl bench` that calls this library through its C interface.
#include "autoccl/autoccl.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/clock.h"
#include "base/error.h"
#include "bench/worker.h"

namespace autoccl::bench {
namespace {

constexpr int kSettledCalls = 20;
constexpr int64_t kSettledNs = 300'000'000;

void require(acclResult_t result, acclComm_t comm, const char* doing) {
  if (result == acclSuccess) return;
  throw Error(ErrorCode::kRemote, std::string(doing) + ": " + acclGetErrorString(result) + ": " +
                                      acclGetLastError(comm));
}

/// Two communicators over the same ranks: one with the tuner, for kTune; one without, on which
/// everything is measured, so that a tuned config and the default differ in nothing but the config.
class AutoCcl final : public Library {
 public:
  AutoCcl(Control& control, const Place& place) : control_(control), place_(place) {
    unsetenv("AUTOCCL_TUNE");
    plain_ = join(1);
    current_ = plain_;
  }
  ~AutoCcl() override {
    if (tuned_) acclCommDestroy(tuned_);
    acclCommDestroy(plain_);
  }
  AutoCcl(const AutoCcl&) = delete;
  AutoCcl& operator=(const AutoCcl&) = delete;

  void* allocate(size_t bytes) override {
    void* memory = nullptr;
    require(acclMemAlloc(&memory, bytes), nullptr, "acclMemAlloc");
    std::memset(memory, 0, bytes);
    return memory;
  }
  void release(void* memory, size_t) noexcept override { acclMemFree(memory); }

  void prepare(const Command& command, const CallShape&) override {
    if (command.kind == CommandKind::kTune) {
      startTuner();
      current_ = tuned_;
      settledCalls_ = 0;
      return;
    }
    current_ = plain_;
    const char* wanted = command.config.data();
    if (pinned_ == wanted) return;
    require(acclCommPinConfig(plain_, *wanted ? wanted : nullptr), plain_, "acclCommPinConfig");
    pinned_ = wanted;
  }

  void call(const CallShape& c) override { require(dispatch(c), current_, "call"); }

  std::string configInEffect() override {
    std::array<char, kConfigBytes> text{};
    require(acclCommLastConfig(current_, text.data(), text.size()), current_, "acclCommLastConfig");
    return text.data();
  }
  /// The leader learns of a new task, and all ranks of its choice, a little later than the calls
  /// come: only a state that has lasted counts.
  bool tuned() override {
    int settled = 0;
    require(acclCommTuned(current_, &settled), current_, "acclCommTuned");
    if (settled == 0 || settledCalls_ == 0) settledSinceNs_ = nowNs();
    settledCalls_ = settled == 0 ? 0 : settledCalls_ + 1;
    return settledCalls_ > kSettledCalls && nowNs() - settledSinceNs_ > kSettledNs;
  }
  std::string space(const Command& command) override {
    size_t needed = 0;
    std::string text(kTextBytes, '\0');
    const std::string collective(toText(command.collective));
    require(
        acclCommSpace(plain_, collective.c_str(), command.bytes, text.data(), text.size(), &needed),
        plain_, "acclCommSpace");
    text.resize(std::strlen(text.c_str()));
    return text;
  }

 private:
  /// `number` counts the communicators: the id of each is announced once.
  acclComm_t join(uint32_t number) {
    acclUniqueId id{};
    static_assert(sizeof id.internal <= sizeof control_.id);
    if (place_.rank == 0) {
      require(acclGetUniqueId(&id), nullptr, "acclGetUniqueId");
      std::memcpy(control_.id.data(), id.internal, sizeof id.internal);
      raise(control_.idReady, number);
    } else {
      WaitRules rules;
      rules.alive = [](void* c) noexcept { return !conductorGone(*static_cast<Control*>(c)); };
      rules.aliveContext = &control_;
      if (!waitFor(control_.idReady, number, rules))
        throw Error(ErrorCode::kRemote, "the conductor is gone");
      std::memcpy(id.internal, control_.id.data(), sizeof id.internal);
    }
    acclComm_t comm = nullptr;
    require(acclCommInitRank(&comm, place_.nRanks, id, place_.rank), comm, "acclCommInitRank");
    return comm;
  }
  void startTuner() {
    if (tuned_) return;
    setenv("AUTOCCL_TUNE", "1", 1);
    setenv("AUTOCCL_BUDGET", "100", 0);  // what is shown is the choice, not its cost
    tuned_ = join(2);
    unsetenv("AUTOCCL_TUNE");
  }
  acclResult_t dispatch(const CallShape& c) {
    const acclDataType_t type = acclFloat32;
    switch (c.collective) {
      case Collective::kAllReduce:
        return acclAllReduce(c.send, c.receive, c.count, type, acclSum, current_, nullptr);
      case Collective::kReduce:
        return acclReduce(c.send, c.receive, c.count, type, acclSum, 0, current_, nullptr);
      case Collective::kBroadcast:
        return acclBroadcast(c.send, c.receive, c.count, type, 0, current_, nullptr);
      case Collective::kAllGather:
        return acclAllGather(c.send, c.receive, c.part, type, current_, nullptr);
      case Collective::kReduceScatter:
        return acclReduceScatter(c.send, c.receive, c.part, type, acclSum, current_, nullptr);
      case Collective::kAllToAll:
        return acclAllToAll(c.send, c.receive, c.part, type, current_, nullptr);
      case Collective::kGather:
        return acclGather(c.send, c.receive, c.part, type, 0, current_, nullptr);
      case Collective::kScatter:
        return acclScatter(c.send, c.receive, c.part, type, 0, current_, nullptr);
      default:
        throw Error(ErrorCode::kUsage, "the bench has no " + std::string(toText(c.collective)));
    }
  }

  Control& control_;
  Place place_;
  acclComm_t plain_ = nullptr;
  acclComm_t tuned_ = nullptr;
  acclComm_t current_ = nullptr;
  std::string pinned_;
  int settledCalls_ = 0;  // kTune: calls since the tuner has had nothing left to do
  int64_t settledSinceNs_ = 0;
};

}  // namespace
}  // namespace autoccl::bench

int main() {
  using namespace autoccl::bench;
  return workerMain("autoccl-bench-worker", [](Control& control, const Place& place) {
    return std::make_unique<AutoCcl>(control, place);
  });
}
