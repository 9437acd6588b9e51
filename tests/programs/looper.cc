// A job for the tests of whole programs: AllReduce over and over, every result checked.
//   looper --bytes N --seconds S [--until-tuned] [--crash FIELDS] [--hang FIELDS] [--ordinary]
// --crash / --hang: as soon as a call ran with all FIELDS (say ring/ll/shm,nc=4) in its config, the
// last rank kills itself or stands still: a config that breaks the job.
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
  bool ordinary = false;
  std::string crash, hang;
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
    else if (word == "--crash")
      o.crash = value();
    else if (word == "--hang")
      o.hang = value();
    else
      std::exit(2);
  }
  return o;
}

/// True if the config ("twoshot/zero/shm nc=1 nt=1 …") holds each of the comma-separated fields.
bool names(const std::string& config, const std::string& fields) {
  if (fields.empty()) return false;
  const std::string words = " " + config + " ";
  for (size_t at = 0; at <= fields.size();) {
    const size_t end = std::min(fields.find(',', at), fields.size());
    if (words.find(" " + fields.substr(at, end - at) + " ") == std::string::npos) return false;
    at = end + 1;
  }
  return true;
}

void misbehave(acclComm_t comm, const Options& o, bool lastRank) {
  char config[128] = "";
  acclCommLastConfig(comm, config, sizeof config);
  if (lastRank && names(config, o.crash)) kill(getpid(), SIGKILL);
  if (lastRank && names(config, o.hang)) pause();
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
  void* shared = nullptr;
  if (!o.ordinary && acclMemAlloc(&shared, o.bytes) != acclSuccess) give("memory", comm);
  float* data = o.ordinary ? own.data() : static_cast<float*>(shared);
  const auto start = std::chrono::steady_clock::now();
  uint64_t digest = 1469598103934665603ULL;
  float stop = 0;
  long calls = 0;
  int spare = 0;
  while (stop == 0) {
    const auto round = static_cast<float>(calls % 97);
    for (size_t i = 0; i < count; ++i)
      data[i] = static_cast<float>(me) + round + static_cast<float>(i % 13);
    if (acclAllReduce(data, data, count, acclFloat32, acclSum, comm, nullptr) != acclSuccess)
      give("allreduce", comm);
    misbehave(comm, o, me == n - 1);
    for (size_t i = 0; i < count; ++i) {
      const float want = static_cast<float>(n * (n - 1) / 2) +
                         static_cast<float>(n) * (round + static_cast<float>(i % 13));
      if (data[i] != want) {
        std::fprintf(stderr, "looper: rank %d call %ld element %zu is %g, not %g\n", me, calls, i,
                     data[i], want);
        std::_Exit(1);
      }
      uint32_t bits = 0;
      std::memcpy(&bits, &data[i], sizeof bits);
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
  acclCommDestroy(comm);
  return 0;
}
