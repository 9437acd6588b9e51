// Which plugin files and interfaces the library looks for, and in which order it starts them.
#include <cstdlib>

#include "edge/nccl/abi/profiler_events.h"
#include "tests/nccl_double/conformance/rank.h"
#include "tests/nccl_double/release.h"

namespace autoccl::conformance {
namespace {

using nccl_double::releaseOf;

void newestTuner(Rank& r) {
  r.begin();
  const int known = std::min(releaseOf(r.version()).tunerNewest, 6);
  r.expect(r.recorder().nTunerInits == 1, "%d inits of the tuner", r.recorder().nTunerInits.load());
  r.expect(r.recorder().tunerInits[0].interface == known, "interface v%d, expected v%d",
           r.recorder().tunerInits[0].interface, known);
  r.finish();
}

void newestProfiler(Rank& r) {
  r.begin();
  const int known = releaseOf(r.version()).profilerNewest;
  r.expect(r.recorder().profilerInits[0].interface == known, "interface v%d, expected v%d",
           r.recorder().profilerInits[0].interface, known);
  r.finish();
}

void envPlugin(Rank& r) {
  r.begin();
  r.expect(r.recorder().nEnvInits == 1, "%d inits", r.recorder().nEnvInits.load());
  r.expect(r.recorder().envInterface == releaseOf(r.version()).envNewest, "interface v%d",
           r.recorder().envInterface);
  r.expect(r.recorder().nEnvAsked > 0, "%d variables asked", r.recorder().nEnvAsked.load());
  r.finish();
}

void loaded(Rank& r) {
  r.begin();
  r.expect(r.recorder().nTunerInits > 0, "%d inits of the tuner", r.recorder().nTunerInits.load());
  r.finish();
}

void notLoaded(Rank& r) {
  r.begin();
  r.expect(r.recorder().nTunerInits == 0 && r.recorder().nProfilerInits == 0,
           "%d inits of the tuner, %d of the profiler", r.recorder().nTunerInits.load(),
           r.recorder().nProfilerInits.load());
  r.finish();
}

void profilerFirst(Rank& r) {
  r.begin();
  const testing::Init& profiler = r.recorder().profilerInits[0];
  const testing::Init& tuner = r.recorder().tunerInits[0];
  r.expect(r.recorder().nProfilerInits > 0 && r.recorder().nTunerInits > 0, "both are started");
  r.expect(profiler.order < tuner.order, "profiler %d, tuner %d", profiler.order, tuner.order);
  r.expect(profiler.thread == tuner.thread, "threads %llu and %llu",
           static_cast<unsigned long long>(profiler.thread),
           static_cast<unsigned long long>(tuner.thread));
  r.finish();
}

void initThread(Rank& r) {
  r.begin();
  const bool here = r.recorder().tunerInits[0].thread == thisThread();
  r.expect(here == releaseOf(r.version()).initInCaller, "init %s the caller's thread",
           here ? "on" : "not on");
  r.finish();
}

void initDevice(Rank& r) {
  CUdevice device = -1;
  (void)testing::driver().cuCtxGetDevice(&device);
  r.begin();
  r.expect(r.recorder().tunerInits[0].device == device, "device %d in the tuner's init, %d here",
           r.recorder().tunerInits[0].device, device);
  r.finish();
}

void initArguments(Rank& r) {
  r.begin();
  const testing::Init& init = r.recorder().tunerInits[0];
  r.expect(init.nRanks == static_cast<uint64_t>(r.size()) && init.nNodes == 2,
           "%llu ranks on %llu nodes", static_cast<unsigned long long>(init.nRanks),
           static_cast<unsigned long long>(init.nNodes));
  r.expect(init.logger, "a logger is given");
  if (init.interface >= 5)
    r.expect(init.constants && init.domains, "constants and domains are given");
  r.finish();
}

void sameId(Rank& r) {
  r.begin();
  const testing::Init& tuner = r.recorder().tunerInits[0];
  const testing::Init& profiler = r.recorder().profilerInits[0];
  if (profiler.interface >= 4)
    r.expect(profiler.rank == r.rank(), "the profiler was told rank %d", profiler.rank);
  if (tuner.interface < 5) return r.notTestable("this tuner interface has no id");
  r.expect(tuner.commId != 0 && tuner.commId == profiler.commId, "ids %llx and %llx",
           static_cast<unsigned long long>(tuner.commId),
           static_cast<unsigned long long>(profiler.commId));
  // All ranks have the same id: max and min over ranks agree.
  uint64_t value = tuner.commId;
  testing::DeviceBuffer most(sizeof value);
  for (const ncclRedOp_t op : {ncclMax, ncclMin}) {
    most.write(std::vector<uint64_t>{value});
    r.nccl().AllReduce(most.data(), most.data(), 1, ncclUint64, op, r.comm(), r.stream());
    r.synchronize();
    r.expect(most.read<uint64_t>(1)[0] == value, "the id is the same over all ranks");
  }
  r.finish();
}

void tunerInitFails(Rank& r) {
  r.recorder().tunerInitError = ncclInvalidUsage;
  ncclComm_t comm = nullptr;
  const ncclResult_t result = r.start(&comm);
  r.expect(result == ncclInvalidUsage, "init answers %d", result);
}

void profilerInitFails(Rank& r) {
  r.recorder().profilerInitError = ncclInvalidUsage;
  ncclComm_t comm = nullptr;
  const ncclResult_t result = r.start(&comm);
  r.expect(result == ncclSuccess, "init answers %d", result);
}

constexpr const char* kBare = "libnccl-tuner-recorder.so";

}  // namespace

std::vector<Case> loadCases() {
  return {
      {.id = "tuner-newest",
       .sentence = "Of the tuner's interfaces the newest known is taken",
       .run = newestTuner,
       .ranks = 2,
       .since = 21900},
      {.id = "profiler-newest",
       .sentence = "Of the profiler's interfaces the newest known is taken",
       .run = newestProfiler,
       .ranks = 2,
       .since = 22300},
      {.id = "env-plugin",
       .sentence = "NCCL_ENV_PLUGIN's getEnv is asked for variables",
       .run = envPlugin,
       .ranks = 2,
       .since = 22807,
       .env = {{"NCCL_ENV_PLUGIN", "@RECORDER"}}},
      {.id = "path",
       .sentence = "A plugin is found by its absolute path",
       .run = loaded,
       .ranks = 2,
       .since = 22705,
       .env = {{"NCCL_TUNER_PLUGIN", "@RECORDER"}}},
      {.id = "path-regression",
       .sentence = "From 2.26.2 to 2.27.3 an absolute path is not honoured",
       .run = notLoaded,
       .ranks = 2,
       .since = 22602,
       .until = 22704,
       .env = {{"NCCL_TUNER_PLUGIN", "@RECORDER"}, {"NCCL_PROFILER_PLUGIN", "@RECORDER"}}},
      {.id = "prefixed",
       .sentence = "NAME stands for libnccl-tuner-NAME.so",
       .run = loaded,
       .ranks = 2,
       .since = 22100,
       .env = {{"NCCL_TUNER_PLUGIN", "recorder"}}},
      {.id = "bare-preloaded",
       .sentence = "A bare soname finds the library that is preloaded under it",
       .run = loaded,
       .ranks = 2,
       .since = 21900,
       .env = {{"NCCL_TUNER_PLUGIN", kBare}, {"LD_PRELOAD", "@RECORDER"}}},
      {.id = "static",
       .sentence = "STATIC_PLUGIN finds the symbols of a preloaded library",
       .run = loaded,
       .ranks = 2,
       .since = 22705,
       .env = {{"NCCL_TUNER_PLUGIN", "STATIC_PLUGIN"}, {"LD_PRELOAD", "@RECORDER"}}},
      {.id = "none",
       .sentence = "NCCL_TUNER_PLUGIN=none and NCCL_PROFILER_PLUGIN=none load nothing",
       .run = notLoaded,
       .ranks = 2,
       .since = 22300,
       .env = {{"NCCL_TUNER_PLUGIN", "none"}, {"NCCL_PROFILER_PLUGIN", "none"}}},
      {.id = "profiler-first",
       .sentence = "The profiler's init comes before the tuner's, on the same thread",
       .run = profilerFirst,
       .ranks = 2,
       .since = 22300},
      {.id = "init-thread",
       .sentence = "Since 2.28 a sole init runs on the caller's thread, before on another",
       .run = initThread,
       .ranks = 2,
       .since = 21900},
      {.id = "init-device",
       .sentence = "The communicator's device is current in the tuner's init",
       .run = initDevice,
       .ranks = 2,
       .since = 21900},
      {.id = "init-arguments",
       .sentence = "The tuner is told ranks and nodes, and gets a logger and the model's constants",
       .run = initArguments,
       .ranks = 2,
       .since = 21900},
      {.id = "same-id",
       .sentence = "Tuner and profiler get one id, the same on all ranks; the profiler its rank",
       .run = sameId,
       .ranks = 2,
       .since = 22700},
      {.id = "tuner-init-error",
       .sentence = "An error of the tuner's init fails the communicator",
       .run = tunerInitFails,
       .ranks = 2,
       .since = 21900},
      {.id = "profiler-init-error",
       .sentence = "An error of the profiler's init does not",
       .run = profilerInitFails,
       .ranks = 2,
       .since = 22300},
  };
}

}  // namespace autoccl::conformance
