// A job for the tests of whole programs: AllReduce over and over, every result checked.
//   looper --bytes N --seconds S [--until-tuned] [--crash FIELDS] [--hang FIELDS] [--ordinary]
//          [--log FILE] [--apart]
// --crash / --hang: as soon as a call ran with all FIELDS (say ring/ll/shm,nc=4) in its config, the
// last rank kills itself or stands still: a config that breaks the job. FIELDS may be a number N:
// the Nth config that this run tries beside its first.
// --log: the last rank writes every config that it has run, in the order of their first calls.
// --apart: results go to a buffer of their own, so that every config is in effect as it was asked.
// Prints "ok <calls> <digest of all results>" at the end; exit 1 on a wrong result or an error.
#include <autoccl/autoccl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

struct Options {
  size_t bytes = 1 << 20;
  double seconds = 2;
  bool untilTuned = false;
  bool ordinary = false, apart = false;
  std::string crash, hang, log;
};

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] { return i + 1 < argc ? argv[++i] : ""; };
    if (word == "--bytes")
      o.bytes = std::strtoull(value(), nullptr, 10);
    else if (word == "--seconds")
      o.seconds = std::strtod(value(), nullptr);
    else if (word == "--until-tuned")
      o.untilTuned = true;
    else if (word == "--ordinary")
      o.ordinary = true;
    else if (word == "--apart")
      o.apart = true;
    else if (word == "--crash")
      o.crash = value();
    else if (word == "--hang")
      o.hang = value();
    else if (word == "--log")
      o.log = value();
    else
      std::exit(2);
  }
  return o;
}

/// The configs that this rank has run, in the order of their first calls.
class Tried {
 public:
  explicit Tried(const std::string& path)
      : file_(path.empty() ? nullptr : fopen(path.c_str(), "w")) {
    if (file_) setlinebuf(file_);
  }
  /// True if it is new.
  bool put(const std::string& config) {
    if (std::find(configs_.begin(), configs_.end(), config) != configs_.end()) return false;
    configs_.push_back(config);
    if (file_) std::fprintf(file_, "%s\n", config.c_str());
    return true;
  }
  [[nodiscard]] size_t count() const { return configs_.size(); }

 private:
  std::vector<std::string> configs_;
  FILE* file_;  // open until the process ends, however it does
};

/// True if the config ("twoshot/zero/shm nc=1 nt=1 …") holds each of the comma-separated fields, or
/// if it is the new one that a number asks for.
bool names(const std::string& config, const std::string& fields, size_t newOnes) {
  if (fields.empty()) return false;
  if (fields.find_first_not_of("0123456789") == std::string::npos)
    return newOnes > 0 && newOnes == std::strtoull(fields.c_str(), nullptr, 10);
  const std::string words = " " + config + " ";
  for (size_t at = 0; at <= fields.size();) {
    const size_t end = std::min(fields.find(',', at), fields.size());
    if (words.find(" " + fields.substr(at, end - at) + " ") == std::string::npos) return false;
    at = end + 1;
  }
  return true;
}

void misbehave(acclComm_t comm, const Options& o, Tried& tried) {
  char config[128] = "";
  acclCommLastConfig(comm, config, sizeof config);
  const size_t newOnes = tried.put(config) ? tried.count() - 1 : 0;
  if (names(config, o.crash, newOnes)) kill(getpid(), SIGKILL);
  if (names(config, o.hang, newOnes)) pause();
}

[[noreturn]] void give(const char* what, acclComm_t comm) {
  std::fprintf(stderr, "looper: %s: %s\n", what, acclGetLastError(comm));
  std::_Exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  const Options o = parse(argc, argv);
  acclComm_t comm = nullptr;
  if (acclCommInitFromEnv(&comm) != acclSuccess) give("init", nullptr);
  int n = 0, me = 0;
  acclCommCount(comm, &n);
  acclCommUserRank(comm, &me);
  const size_t count = o.bytes / sizeof(float);
  std::vector<float> own(o.ordinary ? count : 0);
  void *shared = nullptr, *second = nullptr;
  if (!o.ordinary && acclMemAlloc(&shared, o.bytes) != acclSuccess) give("memory", comm);
  if (o.apart && acclMemAlloc(&second, o.bytes) != acclSuccess) give("memory", comm);
  float* data = o.ordinary ? own.data() : static_cast<float*>(shared);
  float* sum = o.apart ? static_cast<float*>(second) : data;
  const auto start = std::chrono::steady_clock::now();
  uint64_t digest = 1469598103934665603ULL;
  float stop = 0;
  long calls = 0;
  Tried tried(me == n - 1 ? o.log : "");
  int spare = 0;
  while (stop == 0) {
    const auto round = static_cast<float>(calls % 97);
    for (size_t i = 0; i < count; ++i)
      data[i] = static_cast<float>(me) + round + static_cast<float>(i % 13);
    if (acclAllReduce(data, sum, count, acclFloat32, acclSum, comm, nullptr) != acclSuccess)
      give("allreduce", comm);
    if (me == n - 1) misbehave(comm, o, tried);
    for (size_t i = 0; i < count; ++i) {
      const float want = static_cast<float>(n * (n - 1) / 2) +
                         static_cast<float>(n) * (round + static_cast<float>(i % 13));
      if (sum[i] != want) {
        std::fprintf(stderr, "looper: rank %d call %ld element %zu is %g, not %g\n", me, calls, i,
                     sum[i], want);
        std::_Exit(1);
      }
      uint32_t bits = 0;
      std::memcpy(&bits, &sum[i], sizeof bits);
      digest = (digest ^ bits) * 1099511628211ULL;
    }
    ++calls;
    const double passed =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    int tuned = 0;
    if (o.untilTuned) acclCommTuned(comm, &tuned);
    spare += tuned;
    stop = me == 0 && (passed > o.seconds || spare > 50) ? 1.0f : 0.0f;
    if (acclBroadcast(&stop, &stop, 1, acclFloat32, 0, comm, nullptr) != acclSuccess)
      give("broadcast", comm);
  }
  std::printf("ok %ld %016llx\n", calls, static_cast<unsigned long long>(digest));
  if (shared) acclMemFree(shared);
  if (second) acclMemFree(second);
  acclCommDestroy(comm);
  return 0;
}
