#include "ways.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "direct/image.h"
#include "direct/kernels/numbers.h"

namespace autoccl::gpubench {
namespace {

constexpr uint64_t kPeriod = 101;  // of the input: no power of two, so that a shifted result shows
constexpr uint64_t kWindow = 4096;

/// Small whole numbers, exact in every type and sum.
double valueAt(int rank, uint64_t index) {
  return static_cast<double>((index * 31 + static_cast<uint64_t>(rank) * 17) % kPeriod % 3);
}

void put(DataType type, char* at, double value) {
  const auto f = static_cast<float>(value);
  if (type == DataType::kFloat32) {
    std::memcpy(at, &f, sizeof f);
  } else {
    const uint16_t half =
        type == DataType::kFloat16 ? direct::Float16::store(f) : direct::Bfloat16::store(f);
    std::memcpy(at, &half, sizeof half);
  }
}
double get(DataType type, const char* at) {
  if (type == DataType::kFloat32) {
    float f = 0;
    std::memcpy(&f, at, sizeof f);
    return f;
  }
  uint16_t half = 0;
  std::memcpy(&half, at, sizeof half);
  return type == DataType::kFloat16 ? direct::Float16::load(half) : direct::Bfloat16::load(half);
}

double expectedAt(const direct::Call& c, int rank, int nRanks, uint64_t i) {
  const auto own = static_cast<uint64_t>(rank);
  if (c.collective == Collective::kBroadcast) return valueAt(c.root, i);
  if (c.collective == Collective::kAllGather) return valueAt(int(i / c.count), i % c.count);
  if (c.collective == Collective::kAllToAll)
    return valueAt(int(i / c.count), own * c.count + i % c.count);
  const uint64_t at = c.collective == Collective::kReduceScatter ? own * c.count + i : i;
  double sum = 0;
  for (int r = 0; r < nRanks; ++r) sum += valueAt(r, at);
  return sum;
}

const direct::Cuda& driver() {
  const direct::Cuda* cuda = direct::Cuda::find(true);
  if (cuda == nullptr)
    throw Error(ErrorCode::kSystem, "no CUDA driver of 11.7 or later on this machine");
  return *cuda;
}

}  // namespace

Rank::Rank(const Options& options, Team& team, const UniqueId& meeting)
    : cuda_(driver()),
      options_(options),
      team_(team),
      most_(*std::max_element(options.sizes.begin(), options.sizes.end()) + kWindow) {
  int device = 0, count = 0;
  direct::CudaContext context = nullptr;
  cuda_.check(cuda_.init(0), "starting CUDA");
  cuda_.check(cuda_.deviceGetCount(&count), "counting GPUs");
  cuda_.check(cuda_.deviceGet(&device, team.rank() % count), "taking a GPU");
  cuda_.check(cuda_.primaryContextRetain(&context, device), "making a context");
  cuda_.check(cuda_.contextSetCurrent(context), "entering the context");
  cuda_.check(cuda_.memoryAlloc(&send_, most_), "allocating the buffers");
  cuda_.check(cuda_.memoryAlloc(&recv_, most_), "allocating the buffers");
  cuda_.check(cuda_.streamCreate(&stream_, direct::kStreamNonBlocking, 0), "making a stream");
  cuda_.check(cuda_.eventCreate(&begin_, 0), "making an event");
  cuda_.check(cuda_.eventCreate(&end_, 0), "making an event");
  fill();
  direct::Seat seat;
  seat.meeting = meeting;
  seat.rank = team.rank();
  seat.nRanks = team.nRanks();
  seat.memory = options.memory;
  seat.image = direct::embeddedImage();
  group_ = direct::Group::open(seat);
  std::string why;
  for (const direct::DevicePtr buffer : {send_, recv_})
    if (!group_->share(reinterpret_cast<void*>(buffer), most_, why))
      throw Error(ErrorCode::kSystem, why);
  UniqueId other = uniqueIdFrom("gpu-bench-" + std::to_string(getppid()));
  board_ = std::make_unique<direct::Board>(other, seat.rank, seat.nRanks, seat.timeoutNs);
  peers_ = std::make_unique<direct::PeerMemory>(cuda_, *board_, recv_, most_);
  if (options.nccl) nccl_ = std::make_unique<Nccl>(options.ncclPath, team);
}

Rank::~Rank() {
  nccl_.reset();
  peers_.reset();
  group_.reset();
}

void Rank::fill() {
  const uint64_t element = sizeOf(options_.dtype);
  std::vector<char> block(kPeriod * element * 4096);
  for (uint64_t i = 0; i < block.size() / element; ++i)
    put(options_.dtype, block.data() + i * element, valueAt(team_.rank(), i));
  for (uint64_t at = 0; at < most_; at += block.size())
    cuda_.check(cuda_.copyToDevice(send_ + at, block.data(), std::min(block.size(), most_ - at)),
                "filling the input");
}

direct::Call Rank::callOf(Collective c, uint64_t bytes) const {
  direct::Call call;
  call.collective = c;
  call.dtype = options_.dtype;
  call.send = reinterpret_cast<const void*>(send_);
  call.recv = reinterpret_cast<void*>(recv_);
  call.stream = stream_;
  call.count = direct::pieceOf(taskOf(c, bytes)) / sizeOf(options_.dtype);
  return call;
}

Task Rank::taskOf(Collective c, uint64_t bytes) const {
  return {0, c, options_.dtype, ReduceOp::kSum, team_.nRanks(), bytes, 0};
}

bool Rank::can(const Way& way, const direct::Call& call) const {
  if (!way.config) return nccl_ != nullptr && nccl_->has(call.collective);
  Task task = taskOf(call.collective, 0);
  const uint64_t piece = call.count * sizeOf(call.dtype);
  const bool all = direct::pieceOf(taskOf(call.collective, 1u << 20)) != 1u << 20;
  task.bytes = piece * (all ? static_cast<uint64_t>(team_.nRanks()) : 1);
  return group_->spaceFor(task, true).valid(*way.config);
}

void Rank::issue(const Way& way, const direct::Call& call) {
  if (options_.trace && team_.rank() == 0)
    std::fprintf(stderr, "%s of %llu: %s\n", toText(call.collective).data(),
                 static_cast<unsigned long long>(call.count), way.text().c_str());
  if (!way.config) return nccl_->run(call);
  if (group_->run(call, *way.config) != direct::Outcome::kDone)
    throw Error(ErrorCode::kInternal, way.text() + " was not run: " + group_->broken());
}

double Rank::measured(int calls) {
  cuda_.check(cuda_.streamSynchronize(stream_), "a timed call");
  float ms = 0;
  cuda_.eventElapsed(&ms, begin_, end_);
  return team_.most(double{ms} * 1000 / calls);
}

double Rank::time(const Way& way, const direct::Call& call, int calls) {
  team_.meet();
  cuda_.eventRecord(begin_, stream_);
  for (int i = 0; i < calls; ++i) issue(way, call);
  cuda_.eventRecord(end_, stream_);
  return measured(calls);
}

double Rank::timeBeside(Load& load, const Way& way, const direct::Call& call, int calls,
                        double lastUs, double& productUs) {
  team_.meet();
  load.start(1000 + 1.5 * lastUs * calls);
  usleep(300);  // the products hold the GPU when the calls come
  cuda_.eventRecord(begin_, stream_);
  for (int i = 0; i < calls; ++i) issue(way, call);
  cuda_.eventRecord(end_, stream_);
  const double us = measured(calls);
  productUs = team_.most(load.finish());
  return team_.most(load.outlasted(end_) ? 0 : 1) > 0 ? 0 : us;
}

double Rank::copyUs(uint64_t bytes) {
  const int next = (team_.rank() + 1) % team_.nRanks();
  constexpr int kCopies = 8;
  const auto to = reinterpret_cast<direct::DevicePtr>(peers_->of(next));
  for (int warm = 1; warm >= 0; --warm) {
    team_.meet();
    cuda_.eventRecord(begin_, stream_);
    for (int i = 0; i < kCopies; ++i) cuda_.copyAsync(to, send_, bytes, stream_);
    cuda_.eventRecord(end_, stream_);
    const double us = measured(kCopies);
    if (warm == 0) return us;
  }
  return 0;
}

std::string Rank::check(const Way& way, direct::Call call) {
  const uint64_t element = sizeOf(call.dtype);
  const bool each =
      call.collective == Collective::kAllGather || call.collective == Collective::kAllToAll;
  const uint64_t total = call.count * (each ? uint64_t(team_.nRanks()) : 1);
  cuda_.check(cuda_.fill(recv_, 0x7f, total * element), "poisoning the output");
  cuda_.check(cuda_.contextSynchronize(), "poisoning the output");
  team_.meet();
  issue(way, call);
  cuda_.check(cuda_.streamSynchronize(stream_), "a checked call");
  constexpr uint64_t kWindows = 64;
  const uint64_t per = kWindow / element, step = std::max(per, (total - 1) / kWindows);
  std::array<char, kWindow> window{};
  std::string fault;
  for (uint64_t from = 0; from < total && fault.empty(); from += step) {
    const uint64_t begin = from + 2 * step > total && total > per ? total - per : from;
    const uint64_t n = std::min(per, total - begin);
    cuda_.check(cuda_.copyToHost(window.data(), recv_ + begin * element, n * element), "reading");
    for (uint64_t i = 0; i < n && fault.empty(); ++i) {
      const double got = get(call.dtype, window.data() + i * element);
      const double want = expectedAt(call, team_.rank(), team_.nRanks(), begin + i);
      if (got != want)
        fault = way.text() + ": rank " + std::to_string(team_.rank()) + " has " +
                std::to_string(got) + " at " + std::to_string(begin + i) + ", not " +
                std::to_string(want);
    }
  }
  return fault;
}

std::string Rank::device() const {
  std::array<char, 64> name{};
  int device = 0;
  cuda_.contextGetDevice(&device);
  cuda_.deviceGetName(name.data(), int(name.size()), device);
  return name.data();
}

}  // namespace autoccl::gpubench
