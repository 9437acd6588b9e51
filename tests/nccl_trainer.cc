// A small data-parallel trainer on the NCCL interface, for tests: a network of two layers learns a
// function; every rank has its own examples, gradients are averaged, each rank's optimiser updates
// a share of the weights (ReduceScatter, then AllGather).
//   nccl_trainer -n RANKS [--hosts H] [--steps N] [--width W]
// Rank 0 prints "step S loss L"; every rank "rank R loss L weights DIGEST". Exit 1 if the loss did
// not fall to a tenth, if ranks end with different weights, or on an error.
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/nccl_double/driver.h"
#include "tests/nccl_double/programs/ranks.h"

namespace {

using autoccl::testing::DeviceBuffer;
using autoccl::testing::driver;
using autoccl::testing::must;

struct Options {
  int ranks = 2, hosts = 1, steps = 200;
  size_t width = 64;
};

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string word = argv[i];
    const int value = std::atoi(argv[i + 1]);
    if (word == "-n")
      o.ranks = value;
    else if (word == "--hosts")
      o.hosts = value;
    else if (word == "--steps")
      o.steps = value;
    else if (word == "--width")
      o.width = static_cast<size_t>(value);
    else
      std::exit(2);
  }
  return o;
}

void check(ncclResult_t result, const char* what) {
  if (result == ncclSuccess) return;
  std::printf("error %s: %s\n", what, ncclGetErrorString(result));
  std::exit(1);
}

/// y = w2 . tanh(w1 x + b1): two inputs, `width` hidden units, one output. Weights lie in one
/// array: w1 (2 x width), b1, w2.
class Network {
 public:
  explicit Network(size_t width) : width_(width), weights_(4 * width) {
    std::mt19937 chance(7);
    std::normal_distribution<float> normal(0, 0.7F);
    for (float& w : weights_) w = normal(chance);
  }
  [[nodiscard]] std::vector<float>& weights() { return weights_; }

  /// Adds the gradient of the squared error of one example; returns the error.
  float backward(float x0, float x1, float y, std::vector<float>& gradient) const {
    std::vector<float> hidden(width_);
    float out = 0;
    for (size_t i = 0; i < width_; ++i) {
      hidden[i] =
          std::tanh(weights_[i] * x0 + weights_[width_ + i] * x1 + weights_[2 * width_ + i]);
      out += weights_[3 * width_ + i] * hidden[i];
    }
    const float off = out - y;
    for (size_t i = 0; i < width_; ++i) {
      const float back = off * weights_[3 * width_ + i] * (1 - hidden[i] * hidden[i]);
      gradient[i] += back * x0;
      gradient[width_ + i] += back * x1;
      gradient[2 * width_ + i] += back;
      gradient[3 * width_ + i] += off * hidden[i];
    }
    return off * off;
  }

 private:
  size_t width_;
  std::vector<float> weights_;
};

class Trainer {
 public:
  Trainer(const Options& o, const autoccl::testing::Place& place)
      : o_(o),
        place_(place),
        network_(o.width),
        chance_(static_cast<unsigned>(100 + place.rank)),
        share_((4 * o.width + static_cast<size_t>(place.nRanks) - 1) /
               static_cast<size_t>(place.nRanks)),
        padded_(share_ * static_cast<size_t>(place.nRanks)),
        gradients_(padded_ * sizeof(float)),
        mine_(share_ * sizeof(float)),
        all_(padded_ * sizeof(float)),
        number_(sizeof(float)) {
    must(driver().cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "stream");
    const ncclUniqueId id = autoccl::testing::sharedId(place, 0, ncclGetUniqueId);
    check(ncclCommInitRank(&comm_, place.nRanks, id, place.rank), "init");
  }

  int run() {
    float first = 0, loss = 0;
    for (int step = 0; step < o_.steps; ++step) {
      loss = average(trainStep());
      if (step == 0) first = loss;
      if (place_.rank == 0 && step % 50 == 0)
        std::printf("step %d loss %g\n", step, static_cast<double>(loss));
    }
    const uint64_t digest = digestOf(network_.weights());
    std::printf("rank %d loss %g weights %016" PRIx64 "\n", place_.rank, static_cast<double>(loss),
                digest);
    const bool alike = sameOnAllRanks(digest);
    check(ncclCommDestroy(comm_), "destroy");
    return alike && loss < first / 10 ? 0 : 1;
  }

 private:
  static uint64_t digestOf(const std::vector<float>& values) {
    uint64_t digest = 14695981039346656037U;
    for (const float value : values) {
      uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof bits);
      digest = (digest ^ bits) * 1099511628211U;
    }
    return digest;
  }

  void wait() { must(driver().cuStreamSynchronize(stream_), "stream"); }

  float average(float value) {
    number_.write(std::vector<float>{value});
    check(ncclAllReduce(number_.data(), number_.data(), 1, ncclFloat32, ncclAvg, comm_, stream_),
          "AllReduce");
    wait();
    return number_.read<float>(1)[0];
  }

  bool sameOnAllRanks(uint64_t value) {
    DeviceBuffer buffer(sizeof value);
    bool same = true;
    for (const ncclRedOp_t op : {ncclMin, ncclMax}) {
      buffer.write(std::vector<uint64_t>{value});
      check(ncclAllReduce(buffer.data(), buffer.data(), 1, ncclUint64, op, comm_, stream_),
            "AllReduce");
      wait();
      same = same && buffer.read<uint64_t>(1)[0] == value;
    }
    return same;
  }

  /// One step on 32 examples of this rank; the mean error before it.
  float trainStep() {
    constexpr int kExamples = 32;
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> gradient(padded_);
    float error = 0;
    for (int i = 0; i < kExamples; ++i) {
      const float x0 = uniform(chance_), x1 = uniform(chance_);
      error += network_.backward(x0, x1, std::sin(2 * x0) * x1, gradient);
    }
    for (float& g : gradient) g /= kExamples;
    gradients_.write(gradient);
    check(ncclReduceScatter(gradients_.data(), mine_.data(), share_, ncclFloat32, ncclAvg, comm_,
                            stream_),
          "ReduceScatter");
    wait();
    update(mine_.read<float>(share_));
    check(ncclAllGather(mine_.data(), all_.data(), share_, ncclFloat32, comm_, stream_),
          "AllGather");
    wait();
    const std::vector<float> weights = all_.read<float>(padded_);
    std::copy_n(weights.begin(), network_.weights().size(), network_.weights().begin());
    return error / kExamples;
  }

  /// This rank's share of the weights, one step of gradient descent with momentum further.
  void update(const std::vector<float>& gradient) {
    speed_.resize(share_);
    std::vector<float> weights(padded_);
    std::copy(network_.weights().begin(), network_.weights().end(), weights.begin());
    const size_t begin = share_ * static_cast<size_t>(place_.rank);
    std::vector<float> next(share_);
    for (size_t i = 0; i < share_; ++i) {
      speed_[i] = 0.9F * speed_[i] - 0.01F * gradient[i];
      next[i] = weights[begin + i] + speed_[i];
    }
    mine_.write(next);
  }

  const Options& o_;
  const autoccl::testing::Place& place_;
  Network network_;
  std::mt19937 chance_;
  size_t share_, padded_;
  DeviceBuffer gradients_, mine_, all_, number_;
  std::vector<float> speed_;
  CUstream stream_ = nullptr;
  ncclComm_t comm_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  autoccl::testing::Place place;
  if (!autoccl::testing::placeFromEnvironment(place))
    return autoccl::testing::startRanks({options.ranks, options.hosts, -1, {}}, argv);
  int devices = 0;
  if (!driver().found) return 1;
  must(driver().cuDeviceGetCount(&devices), "devices");
  autoccl::testing::useDevice(place.localRank % devices);
  return Trainer(options, place).run();
}
