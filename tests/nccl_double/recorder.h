// The recorder: a plugin for tests that notes everything it is asked and does what it is told. It
// is the double's own test plugin and the conformance program's; on a GPU machine NCCL loads it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace autoccl::testing {

/// What the tuner part saw in one getCollInfo, and where.
struct Question {
  int interface = 0;  // v1 … v6
  void* context = nullptr;
  int func = 0;
  size_t nBytes = 0;
  int pipeOps = 0;
  int nAlgos = 0, nProtos = 0;
  int registered = 0;
  int channelsIn = 0;
  float table[8][3] = {};  // as it came
  uint64_t thread = 0;
  int device = -1;
};

struct ChunkQuestion {
  int func = 0, algo = 0, proto = 0, channels = 0;
  size_t nBytes = 0, incoming = 0;
  uint64_t thread = 0;
};

/// One event of the profiler part. stopNs of KernelCh comes with its stop state.
struct Event {
  uint64_t kind = 0;
  int interface = 0;
  uint64_t thread = 0, stopThread = 0;
  void* parent = nullptr;
  int rank = -1;
  uint64_t seq = 0;
  char func[24] = "", algo[24] = "", proto[24] = "", dtype[24] = "";
  uint64_t count = 0;
  int channels = 0, warps = 0;
  int channel = 0;
  bool captured = false;
  std::atomic<uint64_t> startStamp{0}, stopStamp{0};
  std::atomic<bool> stopped{false};
};

struct Init {
  int interface = 0;
  uint64_t thread = 0;
  int order = 0;  // among all inits of the process
  int device = -1;
  uint64_t commId = 0;
  uint64_t nRanks = 0, nNodes = 0;
  int rank = -1;
  bool logger = false, constants = false, domains = false;
};

/// Orders and notes, one per process. Orders are read at every call; notes are bounded, what does
/// not fit is counted only. Thread-safe to write from NCCL's threads; read when they are quiet.
struct Recorder {
  // orders
  std::atomic<int> algo{-1}, proto{-1};    // the entry that gets `value`, where it came >= 0
  std::atomic<int> algo2{-1}, proto2{-1};  // a second one
  std::atomic<float> value{0};
  std::atomic<bool> reckless{false};   // also where it came as -1
  std::atomic<bool> eraseAll{false};   // every entry becomes -1
  std::atomic<bool> eraseRest{false};  // every valid entry but that one becomes -1
  std::atomic<int> channels{0};
  std::atomic<size_t> chunk{0};
  std::atomic<int> answerError{0}, tunerInitError{0}, profilerInitError{0};
  std::atomic<bool> nullHandles{false};
  int* mask = nullptr;         // NCCL's word
  std::atomic<int> wanted{0};  // written there at init
  std::atomic<int> inits{0};

  static constexpr int kMost = 8192;
  std::atomic<int> nQuestions{0}, nChunks{0}, nEvents{0}, nTunerInits{0}, nProfilerInits{0};
  std::atomic<int> nFinalized{0}, nEnvInits{0}, nEnvAsked{0};
  int envInterface = 0;
  Question questions[kMost];
  ChunkQuestion chunks[kMost];
  Event events[kMost];
  Init tunerInits[64], profilerInits[64];
};

}  // namespace autoccl::testing

/// The process's recorder, exported by the plugin.
extern "C" autoccl::testing::Recorder* nccl_test_recorder(void);
