// A training job's communication in plain NCCL, for tests: TP2 x PP2 x DP2, eight ranks and four
// communicators each. Every step reduces activations over the tensor group, hands them to the next
// stage of the pipeline, and reduces gradients over the data group.
//   nccl_parallel [--steps N]
// Each rank prints "rank R wrong W choices T D": digests of its tensor and its data group (the
// double's; 0 with another library). Exit 1 on a wrong result or an error.
#include <dlfcn.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/nccl_double/driver.h"
#include "tests/nccl_double/programs/ranks.h"

namespace {

using autoccl::testing::DeviceBuffer;
using autoccl::testing::driver;
using autoccl::testing::must;
using autoccl::testing::Place;

constexpr int kRanks = 8;

void check(ncclResult_t result, const char* what) {
  if (result == ncclSuccess) return;
  std::printf("error %s: %s\n", what, ncclGetErrorString(result));
  std::exit(1);
}

/// One of a rank's groups, with a buffer for its messages.
class Group {
 public:
  Group(ncclComm_t world, int colour, int rank, size_t count)
      : count_(count), buffer_(count * sizeof(float)) {
    check(ncclCommSplit(world, colour, rank, &comm_, nullptr), "split");
    check(ncclCommCount(comm_, &nRanks_), "count");
    check(ncclCommUserRank(comm_, &rank_), "rank");
  }
  ~Group() { (void)ncclCommDestroy(comm_); }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// Every rank gives its rank within the group + 1 + salt; wrong elements of the sum.
  long reduce(CUstream stream, float salt) {
    buffer_.write(std::vector<float>(count_, static_cast<float>(rank_ + 1) + salt));
    check(
        ncclAllReduce(buffer_.data(), buffer_.data(), count_, ncclFloat32, ncclSum, comm_, stream),
        "AllReduce");
    must(driver().cuStreamSynchronize(stream), "stream");
    const auto n = static_cast<float>(nRanks_);
    return wrong(n * (n + 1) / 2 + n * salt);
  }
  /// From the first rank to the last.
  long pass(CUstream stream, float value) {
    const bool first = rank_ == 0;
    if (first) buffer_.write(std::vector<float>(count_, value));
    check(first ? ncclSend(buffer_.data(), count_, ncclFloat32, 1, comm_, stream)
                : ncclRecv(buffer_.data(), count_, ncclFloat32, 0, comm_, stream),
          "Send and Recv");
    must(driver().cuStreamSynchronize(stream), "stream");
    return wrong(value);
  }
  [[nodiscard]] uint64_t choices() const {
    const auto ask = reinterpret_cast<ncclResult_t (*)(ncclComm_t, uint64_t*, uint64_t*)>(
        dlsym(RTLD_DEFAULT, "ncclDoubleDigest"));
    uint64_t digest = 0, calls = 0;
    if (ask != nullptr) check(ask(comm_, &digest, &calls), "digest");
    return digest;
  }

 private:
  [[nodiscard]] long wrong(float expected) const {
    long count = 0;
    for (const float got : buffer_.read<float>(count_)) count += got == expected ? 0 : 1;
    return count;
  }

  size_t count_;
  DeviceBuffer buffer_;
  ncclComm_t comm_ = nullptr;
  int nRanks_ = 1, rank_ = 0;
};

int work(const Place& place, int steps) {
  int devices = 0;
  must(driver().cuDeviceGetCount(&devices), "devices");
  autoccl::testing::useDevice(place.localRank % devices);
  CUstream stream = nullptr;
  must(driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
  ncclComm_t world = nullptr;
  const ncclUniqueId id = autoccl::testing::sharedId(place, 0, ncclGetUniqueId);
  check(ncclCommInitRank(&world, kRanks, id, place.rank), "init");
  long wrong = 0;
  {
    const int r = place.rank;  // its bits: tensor, pipeline, data
    Group tensor(world, r >> 1, r, 16 << 10);
    Group pipeline(world, (r & 1) | (r >> 2) << 1, r, 8 << 10);
    Group data(world, r & 3, r, 64 << 10);
    for (int step = 0; step < steps; ++step) {
      const auto salt = static_cast<float>(step % 9);
      wrong += tensor.reduce(stream, salt);
      wrong += pipeline.pass(stream, salt);
      wrong += tensor.reduce(stream, salt + 1);
      wrong += data.reduce(stream, salt);
    }
    std::printf("rank %d wrong %ld choices %016" PRIx64 " %016" PRIx64 "\n", r, wrong,
                tensor.choices(), data.choices());
    std::fflush(stdout);
  }
  check(ncclCommDestroy(world), "destroy");
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 2 && std::strcmp(argv[1], "--steps") == 0 ? std::atoi(argv[2]) : 200;
  Place place;
  if (!autoccl::testing::placeFromEnvironment(place)) {
    autoccl::testing::Crew crew;
    crew.nRanks = kRanks;
    return autoccl::testing::startRanks(crew, argv);
  }
  if (!driver().found) {
    std::fprintf(stderr, "nccl_parallel: no CUDA driver\n");
    return 1;
  }
  return work(place, steps);
}
