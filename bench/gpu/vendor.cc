#include "vendor.h"

#include <dlfcn.h>

#include <algorithm>
#include <random>

#include "base/error.h"

namespace autoccl::gpubench {
namespace {

struct UniqueIdBytes {
  char bytes[128];
};

void* open(const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL)) return library;
  throw Error(ErrorCode::kUsage, "cannot load " + names.front() + ": " + dlerror());
}

template <class Function>
void take(void* library, const char* name, Function& into) {
  into = reinterpret_cast<Function>(dlsym(library, name));
}

/// ncclDataType_t and ncclRedOp_t, whose numbers NCCL's interface fixes.
int ncclType(DataType type) {
  switch (type) {
    case DataType::kInt8:
      return 0;
    case DataType::kUint8:
      return 1;
    case DataType::kInt32:
      return 2;
    case DataType::kUint32:
      return 3;
    case DataType::kInt64:
      return 4;
    case DataType::kUint64:
      return 5;
    case DataType::kFloat16:
      return 6;
    case DataType::kFloat64:
      return 8;
    case DataType::kBfloat16:
      return 9;
    default:
      return 7;
  }
}
constexpr int kSum = 0;

void checkNccl(int result, const char* what) {
  if (result != 0)
    throw Error(ErrorCode::kSystem,
                std::string(what) + " failed with NCCL error " + std::to_string(result));
}

constexpr int kBf16 = 14;       // CUDA_R_16BF
constexpr int kCompute32 = 68;  // CUBLAS_COMPUTE_32F

}  // namespace

struct Nccl::Calls {
  int (*getVersion)(int*);
  int (*getUniqueId)(UniqueIdBytes*);
  int (*initRank)(void**, int, UniqueIdBytes, int);
  int (*destroy)(void*);
  int (*allReduce)(const void*, void*, size_t, int, int, void*, void*);
  int (*allGather)(const void*, void*, size_t, int, void*, void*);
  int (*reduceScatter)(const void*, void*, size_t, int, int, void*, void*);
  int (*broadcast)(const void*, void*, size_t, int, int, void*, void*);
  int (*allToAll)(const void*, void*, size_t, int, void*, void*);
};

Nccl::Nccl(const std::string& path, Team& team) : calls_(new Calls{}) {
  void* library = open({path});
  take(library, "ncclGetVersion", calls_->getVersion);
  take(library, "ncclGetUniqueId", calls_->getUniqueId);
  take(library, "ncclCommInitRank", calls_->initRank);
  take(library, "ncclCommDestroy", calls_->destroy);
  take(library, "ncclAllReduce", calls_->allReduce);
  take(library, "ncclAllGather", calls_->allGather);
  take(library, "ncclReduceScatter", calls_->reduceScatter);
  take(library, "ncclBroadcast", calls_->broadcast);
  take(library, "ncclAlltoAll", calls_->allToAll);
  UniqueIdBytes id{};
  if (team.rank() == 0) checkNccl(calls_->getUniqueId(&id), "ncclGetUniqueId");
  team.fromFirst(&id, sizeof id);
  checkNccl(calls_->initRank(&comm_, team.nRanks(), id, team.rank()), "ncclCommInitRank");
}

Nccl::~Nccl() {
  calls_->destroy(comm_);
  delete calls_;
}

bool Nccl::has(Collective c) const {
  return c != Collective::kAllToAll || calls_->allToAll != nullptr;
}

void Nccl::run(const direct::Call& c) const {
  const int type = ncclType(c.dtype);
  switch (c.collective) {
    case Collective::kAllReduce:
      return checkNccl(calls_->allReduce(c.send, c.recv, c.count, type, kSum, comm_, c.stream),
                       "ncclAllReduce");
    case Collective::kAllGather:
      return checkNccl(calls_->allGather(c.send, c.recv, c.count, type, comm_, c.stream),
                       "ncclAllGather");
    case Collective::kReduceScatter:
      return checkNccl(calls_->reduceScatter(c.send, c.recv, c.count, type, kSum, comm_, c.stream),
                       "ncclReduceScatter");
    case Collective::kBroadcast:
      return checkNccl(calls_->broadcast(c.send, c.recv, c.count, type, c.root, comm_, c.stream),
                       "ncclBroadcast");
    default:
      return checkNccl(calls_->allToAll(c.send, c.recv, c.count, type, comm_, c.stream),
                       "ncclAlltoAll");
  }
}

std::string Nccl::version() const {
  int v = 0;
  calls_->getVersion(&v);
  return std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." +
         std::to_string(v % 100);
}

Load::Load(const std::string& path, const direct::Cuda& cuda, int n) : cuda_(cuda), n_(n) {
  void* library = path.empty() ? open({"libcublas.so.13", "libcublas.so.12"}) : open({path});
  int (*create)(void**) = nullptr;
  int (*setStream)(void*, void*) = nullptr;
  take(library, "cublasCreate_v2", create);
  take(library, "cublasDestroy_v2", destroy_);
  take(library, "cublasSetStream_v2", setStream);
  take(library, "cublasGemmEx", gemm_);
  cuda_.check(cuda_.streamCreate(&stream_, direct::kStreamNonBlocking, 0), "making a stream");
  if (create(&handle_) != 0 || setStream(handle_, stream_) != 0)
    throw Error(ErrorCode::kSystem, "cuBLAS does not start on this GPU");
  cuda_.check(cuda_.eventCreate(&begin_, 0), "making an event");
  cuda_.check(cuda_.eventCreate(&end_, 0), "making an event");
  const size_t bytes = size_t{2} * static_cast<size_t>(n) * static_cast<size_t>(n);
  std::vector<uint16_t> values(bytes / 2);
  std::mt19937 chance(1);  // random values: on zeros a GPU is faster than on anything real
  for (uint16_t& value : values)
    value = static_cast<uint16_t>(0x3f00 | (chance() & 0x80ff));  // +-0.5 to +-1.99
  for (int i = 0; i < 3; ++i) {
    matrices_.emplace_back();
    cuda_.check(cuda_.memoryAlloc(&matrices_.back(), bytes), "allocating a matrix");
    cuda_.check(cuda_.copyToDevice(matrices_.back(), values.data(), bytes), "filling a matrix");
  }
  enqueue(5);
  cuda_.check(cuda_.streamSynchronize(stream_), "warming up the matrix products");
  aloneUs_ = 1000;
  start(20'000);
  aloneUs_ = finish();
}

Load::~Load() {
  if (handle_ != nullptr) destroy_(handle_);
  for (const direct::DevicePtr matrix : matrices_) cuda_.memoryFree(matrix);
  cuda_.streamDestroy(stream_);
}

void Load::enqueue(int count) {
  const float one = 1, none = 0;
  const auto at = [this](size_t i) { return reinterpret_cast<void*>(matrices_[i]); };
  for (int i = 0; i < count; ++i)
    if (gemm_(handle_, 0, 0, n_, n_, n_, &one, at(0), kBf16, n_, at(1), kBf16, n_, &none, at(2),
              kBf16, n_, kCompute32, -1) != 0)
      throw Error(ErrorCode::kSystem, "a matrix product was refused");
}

void Load::start(double microseconds) {
  count_ = std::max(3, static_cast<int>(microseconds / aloneUs_) + 2);
  cuda_.eventRecord(begin_, stream_);
  enqueue(count_);
  cuda_.eventRecord(end_, stream_);
}

double Load::finish() {
  cuda_.check(cuda_.streamSynchronize(stream_), "the matrix products");
  float ms = 0;
  cuda_.eventElapsed(&ms, begin_, end_);
  return double{ms} * 1000 / count_;
}

bool Load::outlasted(direct::CudaEvent event) const {
  float ms = 0;
  cuda_.eventElapsed(&ms, event, end_);
  return ms > 0;
}

}  // namespace autoccl::gpubench
