// A program in plain NCCL for tests: mixed collectives over N processes, every result checked.
//   nccl_program -n RANKS [--hosts H] [--calls N] [--seed S] [--sizes BYTES,…] [--kinds
//   ar,ag,rs,bc,rd]
//     [--group K] [--split] [--nonblocking] [--abort] [--pause-us U] [--seconds T]
//     [--simulate-on R] [--fail-on R] [--cut-links R] [--kill R --kill-at CALL] [--expect-error]
//     [--capture] [--env-of R NAME=VALUE]…
// --cut-links shuts the process's TCP connections half-way (on the double: the real library's own
// sockets are among them); --capture replays every tenth call as a
// graph; --env-of sets a variable for one rank, or unsets it (NAME=).
// Under a launcher that sets RANK and WORLD_SIZE it is one rank (the id's file: NCCL_PROGRAM_ID).
// Each rank prints "rank R calls C wrong W digest D choices X"; X comes from the double and is "-"
// with another library. Exit 0; 1 on a wrong result or an error; 3 on an error that was expected.
#include <dlfcn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/nccl_double/driver.h"
#include "tests/nccl_double/programs/ranks.h"

namespace {

using autoccl::testing::DeviceBuffer;
using autoccl::testing::driver;
using autoccl::testing::must;
using autoccl::testing::Place;

struct Options {
  autoccl::testing::Crew crew;
  long calls = 100;
  unsigned seed = 1;
  std::vector<size_t> sizes{1024, 16384, 65536, 262144};
  std::string kinds = "ar,ag,rs,bc,rd";
  int group = 0;
  bool split = false, nonblocking = false, abort = false, expectError = false, capture = false;
  int pauseUs = 0;
  double seconds = 0;
  int simulateOn = -1, failOn = -1, cutLinks = -1;
  long killAt = 20;
};

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> found;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    found.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return found;
}

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] { return i + 1 < argc ? argv[++i] : "0"; };
    const auto number = [&] { return std::atoi(value()); };
    if (word == "-n")
      o.crew.nRanks = number();
    else if (word == "--hosts")
      o.crew.hosts = number();
    else if (word == "--calls")
      o.calls = number();
    else if (word == "--seed")
      o.seed = static_cast<unsigned>(number());
    else if (word == "--kinds")
      o.kinds = value();
    else if (word == "--group")
      o.group = number();
    else if (word == "--split")
      o.split = true;
    else if (word == "--nonblocking")
      o.nonblocking = true;
    else if (word == "--abort")
      o.abort = true;
    else if (word == "--expect-error")
      o.expectError = true;
    else if (word == "--pause-us")
      o.pauseUs = number();
    else if (word == "--seconds")
      o.seconds = std::atof(value());
    else if (word == "--simulate-on")
      o.simulateOn = number();
    else if (word == "--fail-on")
      o.failOn = number();
    else if (word == "--cut-links")
      o.cutLinks = number();
    else if (word == "--capture")
      o.capture = true;
    else if (word == "--env-of") {
      const int rank = number();
      const std::string text = value();
      const size_t equals = std::min(text.find('='), text.size() - 1);
      o.crew.variables.push_back({rank, text.substr(0, equals), text.substr(equals + 1)});
    } else if (word == "--kill")
      o.crew.expected = number();
    else if (word == "--kill-at")
      o.killAt = number();
    else if (word == "--sizes") {
      o.sizes.clear();
      for (const std::string& size : words(value())) o.sizes.push_back(std::stoul(size));
    } else {
      std::fprintf(stderr, "nccl_program: unknown argument %s\n", word.c_str());
      std::exit(2);
    }
  }
  return o;
}

/// Shuts every TCP connection of this process, as a broken network would; how many.
int cutConnections() {
  int cut = 0;
  for (int fd = 3; fd < 1024; ++fd) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0 &&
        (address.ss_family == AF_INET || address.ss_family == AF_INET6))
      cut += shutdown(fd, SHUT_RDWR) == 0 ? 1 : 0;
  }
  return cut;
}

/// One rank at work.
class Worker {
 public:
  Worker(const Options& options, const Place& place)
      : o_(options), place_(place), kinds_(words(options.kinds)), chance_(options.seed) {}

  int run() {
    int devices = 0;
    must(driver().cuDeviceGetCount(&devices), "devices");
    autoccl::testing::useDevice(place_.localRank % devices);
    must(driver().cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "stream");
    start();
    const auto begin = std::chrono::steady_clock::now();
    for (long call = 0; call < o_.calls && !failed_; ++call) {
      if (o_.seconds > 0 &&
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() >
              o_.seconds)
        break;
      disturb(call);
      step(call);
    }
    return finish();
  }

 private:
  void start() {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = o_.nonblocking ? 0 : 1;
    const ncclUniqueId id = autoccl::testing::sharedId(place_, 0, ncclGetUniqueId);
    check(ncclCommInitRankConfig(&comm_, place_.nRanks, id, place_.rank, &config), "init");
    settle(comm_);
    nRanks_ = place_.nRanks;
    rank_ = place_.rank;
    if (!o_.split || failed_) return;
    // Even and odd ranks: the calls then go over the child.
    ncclComm_t child = nullptr;
    check(ncclCommSplit(comm_, place_.rank % 2, place_.rank, &child, nullptr), "split");
    settle(child);
    parent_ = comm_;
    comm_ = child;
    check(ncclCommCount(comm_, &nRanks_), "count");
    check(ncclCommUserRank(comm_, &rank_), "rank");
  }

  /// A non-blocking communicator is asked until it has an answer.
  void settle(ncclComm_t comm) {
    ncclResult_t state = ncclInProgress;
    while (comm != nullptr && state == ncclInProgress) {
      if (ncclCommGetAsyncError(comm, &state) != ncclSuccess) break;
      if (state == ncclInProgress) usleep(200);
    }
    if (comm != nullptr) check(state, "start");
  }

  bool check(ncclResult_t result, const char* what) {
    if (result == ncclSuccess || (result == ncclInProgress && o_.nonblocking)) return true;
    if (!failed_)
      std::printf("rank %d error %s: %s (%s)\n", place_.rank, what, ncclGetErrorString(result),
                  ncclGetLastError(nullptr));
    failed_ = true;
    return false;
  }

  /// Trouble that the options ask for.
  void disturb(long call) {
    if (o_.crew.expected == place_.rank && call == o_.killAt) std::raise(SIGKILL);
    if (o_.pauseUs > 0) usleep(static_cast<useconds_t>(o_.pauseUs));
    if (call != o_.calls / 2) return;
    if (o_.cutLinks == place_.rank)
      std::printf("rank %d cut %d connections\n", place_.rank, cutConnections());
    DeviceBuffer some(4096);
    if (o_.simulateOn == place_.rank) {
      ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
      ncclGroupStart();
      ncclAllReduce(some.data(), some.data(), 1024, ncclFloat32, ncclSum, comm_, stream_);
      check(ncclGroupSimulateEnd(&info), "simulate");
    }
    if (o_.failOn == place_.rank && ncclBroadcast(some.data(), some.data(), 1024, ncclFloat32,
                                                  nRanks_ + 7, comm_, stream_) == ncclSuccess) {
      std::printf("rank %d error: a call with a wrong root succeeded\n", place_.rank);
      failed_ = true;
    }
  }

  struct Issued {
    std::string kind;
    size_t count;
    int root;
    float salt;
    std::unique_ptr<DeviceBuffer> send, recv;
  };

  [[nodiscard]] float input(int rank, size_t i, float salt) const {
    return static_cast<float>((rank + 1) % 7) + static_cast<float>(i % 11) + salt;
  }

  Issued issue(long call) {
    Issued c;
    c.kind = kinds_[chance_() % kinds_.size()];
    c.count = o_.sizes[chance_() % o_.sizes.size()] / sizeof(float);
    c.root = static_cast<int>(chance_() % static_cast<unsigned>(nRanks_));
    c.salt = static_cast<float>(call % 13);
    const auto n = static_cast<size_t>(nRanks_);
    const size_t part = std::max<size_t>(c.count / n, 1);
    const size_t sends = c.kind == "rs" ? part * n : c.kind == "ag" ? part : c.count;
    const size_t receives = c.kind == "ag" ? part * n : c.kind == "rs" ? part : c.count;
    c.send = std::make_unique<DeviceBuffer>(sends * sizeof(float));
    c.recv = std::make_unique<DeviceBuffer>(receives * sizeof(float));
    std::vector<float> values(sends);
    for (size_t i = 0; i < sends; ++i) values[i] = input(rank_, i, c.salt);
    c.send->write(values);
    if (c.kind == "ag" || c.kind == "rs") c.count = part;
    if (o_.capture && call % 10 == 9)
      replay(c);
    else
      check(enqueue(c), c.kind.c_str());
    return c;
  }

  /// The call as a graph, launched twice: the result is the same, since no call is in place.
  void replay(const Issued& c) {
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    must(driver().cuStreamBeginCapture_v2(stream_, CU_STREAM_CAPTURE_MODE_RELAXED), "capture");
    check(enqueue(c), c.kind.c_str());
    must(driver().cuStreamEndCapture(stream_, &graph), "end of capture");
    must(driver().cuGraphInstantiateWithFlags(&exec, graph, 0), "graph");
    for (int i = 0; i < 2; ++i) must(driver().cuGraphLaunch(exec, stream_), "launch");
    must(driver().cuStreamSynchronize(stream_), "stream");
    must(driver().cuGraphExecDestroy(exec), "graph");
    must(driver().cuGraphDestroy(graph), "graph");
  }

  ncclResult_t enqueue(const Issued& c) {
    void *send = c.send->data(), *recv = c.recv->data();
    if (c.kind == "ag") return ncclAllGather(send, recv, c.count, ncclFloat32, comm_, stream_);
    if (c.kind == "rs")
      return ncclReduceScatter(send, recv, c.count, ncclFloat32, ncclSum, comm_, stream_);
    if (c.kind == "bc")
      return ncclBroadcast(send, recv, c.count, ncclFloat32, c.root, comm_, stream_);
    if (c.kind == "rd")
      return ncclReduce(send, recv, c.count, ncclFloat32, ncclSum, c.root, comm_, stream_);
    return ncclAllReduce(send, recv, c.count, ncclFloat32, ncclSum, comm_, stream_);
  }

  [[nodiscard]] float sum(size_t i, float salt) const {
    float total = 0;
    for (int r = 0; r < nRanks_; ++r) total += input(r, i, salt);
    return total;
  }

  /// What element i of the result must be.
  [[nodiscard]] float expected(const Issued& c, size_t i) const {
    if (c.kind == "ag") return input(static_cast<int>(i / c.count), i % c.count, c.salt);
    if (c.kind == "rs") return sum(static_cast<size_t>(rank_) * c.count + i, c.salt);
    if (c.kind == "bc") return input(c.root, i, c.salt);
    return sum(i, c.salt);
  }

  void verify(const Issued& c) {
    if (c.kind == "rd" && c.root != rank_) return;
    const auto got = c.recv->read<float>(c.recv->bytes() / sizeof(float));
    for (size_t i = 0; i < got.size(); ++i) {
      uint32_t bits = 0;
      std::memcpy(&bits, &got[i], sizeof bits);
      digest_ = (digest_ ^ bits) * 1099511628211U;
      if (got[i] == expected(c, i)) continue;
      if (wrong_++ == 0)
        std::printf("rank %d call %ld %s element %zu of %zu is %g, not %g\n", place_.rank, done_,
                    c.kind.c_str(), i, got.size(), static_cast<double>(got[i]),
                    static_cast<double>(expected(c, i)));
    }
  }

  void step(long call) {
    std::vector<Issued> issued;
    const int together = o_.group > 1 && call % 3 == 0 ? o_.group : 1;
    if (together > 1) check(ncclGroupStart(), "group");
    for (int i = 0; i < together && !failed_; ++i) issued.push_back(issue(call));
    if (together > 1) check(ncclGroupEnd(), "group");
    settle(comm_);
    if (failed_) return;
    must(driver().cuStreamSynchronize(stream_), "stream");
    ncclResult_t state = ncclSuccess;
    if (!check(ncclCommGetAsyncError(comm_, &state), "ask") || !check(state, "asynchronous"))
      return;
    for (const Issued& c : issued) verify(c);
    done_ += together;
  }

  int finish() {
    uint64_t choices = 0, calls = 0;
    const auto ask = reinterpret_cast<ncclResult_t (*)(ncclComm_t, uint64_t*, uint64_t*)>(
        dlsym(RTLD_DEFAULT, "ncclDoubleDigest"));
    char text[24] = "-";
    if (ask != nullptr && comm_ != nullptr && ask(comm_, &choices, &calls) == ncclSuccess)
      std::snprintf(text, sizeof text, "%016" PRIx64, choices);
    std::printf("rank %d calls %ld wrong %ld digest %016" PRIx64 " choices %s\n", place_.rank,
                done_, wrong_, digest_, text);
    std::fflush(stdout);
    if (comm_ != nullptr) {
      if (o_.abort || failed_) {
        ncclCommAbort(comm_);
      } else {
        ncclCommFinalize(comm_);
        settle(comm_);
        ncclCommDestroy(comm_);
      }
    }
    if (parent_ != nullptr) ncclCommDestroy(parent_);
    if (failed_) return o_.expectError ? 3 : 1;
    return wrong_ == 0 ? 0 : 1;
  }

  const Options& o_;
  const Place& place_;
  std::vector<std::string> kinds_;
  std::mt19937 chance_;
  CUstream stream_ = nullptr;
  ncclComm_t comm_ = nullptr, parent_ = nullptr;
  int nRanks_ = 1, rank_ = 0;
  bool failed_ = false;
  long done_ = 0, wrong_ = 0;
  uint64_t digest_ = 14695981039346656037U;
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  Place place;
  if (!autoccl::testing::placeFromEnvironment(place))
    return autoccl::testing::startRanks(options.crew, argv);
  if (!driver().found) {
    std::fprintf(stderr, "nccl_program: no CUDA driver\n");
    return 1;
  }
  return Worker(options, place).run();
}
