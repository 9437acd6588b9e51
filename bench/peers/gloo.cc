// `autoccl bench --vs gloo`: a rank that calls Gloo over loopback TCP, the only transport that
// Debian's build has for one host. config "ring" is the API's default AllReduce, "hd" its
// halving-doubling class; ReduceScatter exists as halving-doubling only.
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/alltoall.h>
#include <gloo/broadcast.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "bench/worker.h"

namespace autoccl::bench {
namespace {

void addFloats(void* to, const void* a, const void* b, size_t n) {
  auto* out = static_cast<float*>(to);
  const auto* x = static_cast<const float*>(a);
  const auto* y = static_cast<const float*>(b);
  for (size_t i = 0; i < n; ++i) out[i] = x[i] + y[i];
}

/// A folder that rank 0 makes and removes; its name travels through the control block.
class MeetingFolder {
 public:
  MeetingFolder(Control& control, const Place& place) : owner_(place.rank == 0) {
    if (owner_) {
      std::string pattern =
          (std::filesystem::temp_directory_path() / "autoccl-gloo-XXXXXX").string();
      if (!mkdtemp(pattern.data()))
        throw Error(ErrorCode::kSystem, "cannot make the folder " + pattern);
      path_ = pattern;
      setText(control.id, path_);
      raise(control.idReady, 1);
      return;
    }
    WaitRules rules;
    rules.alive = [](void* c) noexcept { return !conductorGone(*static_cast<Control*>(c)); };
    rules.aliveContext = &control;
    if (!waitFor(control.idReady, 1, rules))
      throw Error(ErrorCode::kRemote, "the conductor is gone");
    path_ = control.id.data();
  }
  ~MeetingFolder() {
    std::error_code ignored;
    if (owner_) std::filesystem::remove_all(path_, ignored);
  }
  MeetingFolder(const MeetingFolder&) = delete;
  MeetingFolder& operator=(const MeetingFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  bool owner_;
  std::string path_;
};

class Gloo final : public Library {
 public:
  Gloo(Control& control, const Place& place) : place_(place) {
    MeetingFolder folder(control, place);
    gloo::transport::tcp::attr loopback;
    loopback.iface = "lo";
    gloo::rendezvous::FileStore store(folder.path());
    auto context = std::make_shared<gloo::rendezvous::Context>(place.rank, place.nRanks);
    std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice(loopback);
    context->connectFullMesh(store, device);
    context_ = context;
    // The folder may go only when nobody reads it any more.
    gloo::AllreduceOptions options(context_);
    float one = 1;
    options.setReduceFunction(addFloats);
    options.setOutput<float>(&one, 1);
    gloo::allreduce(options);
  }

  void prepare(const Command& command, const CallShape& c) override {
    config_ = command.config.data();
    algorithm_.reset();
    const auto count = static_cast<int>(c.count);
    if (c.collective == Collective::kReduceScatter) {
      algorithm_ = std::make_unique<gloo::ReduceScatterHalvingDoubling<float>>(
          context_, std::vector<float*>{c.send}, count,
          std::vector<int>(static_cast<size_t>(place_.nRanks), static_cast<int>(c.part)));
      config_ = "hd";
    } else if (c.collective == Collective::kAllReduce && config_ == "hd") {
      algorithm_ = std::make_unique<gloo::AllreduceHalvingDoubling<float>>(
          context_, std::vector<float*>{c.receive}, count);
    }
  }

  void call(const CallShape& c) override {
    switch (c.collective) {
      case Collective::kAllReduce:
        return allReduce(c);
      case Collective::kReduceScatter:
        return algorithm_->run();
      case Collective::kBroadcast:
        return broadcast(c);
      case Collective::kAllGather:
        return allGather(c);
      case Collective::kAllToAll:
        return allToAll(c);
      default:
        throw Error(ErrorCode::kUsage,
                    "the Gloo driver has no " + std::string(toText(c.collective)));
    }
  }
  /// Its ReduceScatter leaves this rank's part at the start of the send buffer.
  const float* result(const CallShape& c) override {
    return c.collective == Collective::kReduceScatter ? c.send : c.receive;
  }
  std::string configInEffect() override { return config_.empty() ? "ring" : config_; }

 private:
  void allReduce(const CallShape& c) {
    if (algorithm_) return algorithm_->run();
    gloo::AllreduceOptions options(context_);
    options.setReduceFunction(addFloats);
    options.setOutput<float>(c.receive, c.count);
    gloo::allreduce(options);
  }
  void broadcast(const CallShape& c) {
    gloo::BroadcastOptions options(context_);
    options.setOutput<float>(c.send, c.count);
    options.setRoot(0);
    gloo::broadcast(options);
  }
  void allGather(const CallShape& c) {
    gloo::AllgatherOptions options(context_);
    options.setInput<float>(c.send, c.part);
    options.setOutput<float>(c.receive, c.count);
    gloo::allgather(options);
  }
  void allToAll(const CallShape& c) {
    gloo::AlltoallOptions options(context_);
    options.setInput<float>(c.send, c.count);
    options.setOutput<float>(c.receive, c.count);
    gloo::alltoall(options);
  }

  Place place_;
  std::shared_ptr<gloo::Context> context_;
  std::unique_ptr<gloo::Algorithm> algorithm_;
  std::string config_;
};

}  // namespace
}  // namespace autoccl::bench

int main() {
  using namespace autoccl::bench;
  return workerMain("autoccl-peer-gloo", [](Control& control, const Place& place) {
    return std::make_unique<Gloo>(control, place);
  });
}
