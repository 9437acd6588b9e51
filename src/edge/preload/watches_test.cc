// The wrappers of a tuned process, in front of a fake NCCL that looks back at what they say of it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "edge/preload/watcher.h"
#include "tests/preload/wrapped.h"

namespace autoccl::preload {
namespace {

/// What the fake saw, call by call.
struct Seen {
  std::string function;
  const nccl::KnownCommunicator* communicator;
  const nccl::KnownCommunicator* initialising;
  bool simulating;
};
thread_local std::vector<Seen>* seenHere = nullptr;
std::function<void(const char*)> onCall;

void record(const char* function) {
  const nccl::CallNote& note = nccl::callNote;
  if (seenHere != nullptr)
    seenHere->push_back({function, note.communicator, note.initialising, note.simulating});
  if (onCall) onCall(function);
}

std::vector<const nccl::KnownCommunicator*> ended;
const nccl::PluginSide kSide{
    .endCommunicator = [](nccl::KnownCommunicator& known) noexcept { ended.push_back(&known); },
    .reportStreamTime = [](nccl::KnownCommunicator&, const nccl::StreamTime&) noexcept {},
    .tally = []() noexcept { return nccl::Tally{}; }};

class Watches : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("AUTOCCL_TUNE", "1", 1);
    ASSERT_NE(fakeNccl(), nullptr) << dlerror();
    ASSERT_NE(Watcher::get(), nullptr);
    nccl::pluginSide.store(&kSide);
  }
  void SetUp() override {
    setFake(&record);
    seenHere = &seen_;
    ended.clear();
  }
  void TearDown() override {
    onCall = nullptr;
    setFake(nullptr);
    seenHere = nullptr;
  }

  static Comm make(int rank = 1, int nRanks = 4) {
    Comm comm = nullptr;
    UniqueId id{};
    id.bytes[0] = 42;
    EXPECT_EQ(ncclCommInitRank(&comm, nRanks, id, rank), kSuccess);
    return comm;
  }
  static CommEntry* entry(Comm comm) { return Watcher::get()->book.find(comm); }
  static int reduce(Comm comm, size_t count = 256) {
    return ncclAllReduce(nullptr, nullptr, count, kFloat32, kSum, comm, nullptr);
  }
  static uint64_t calls(Comm comm) { return entry(comm)->counts.total(); }

  std::vector<Seen> seen_;
};

TEST_F(Watches, ACommunicatorIsKnownFromItsInit) {
  const Comm comm = make(1, 4);
  const nccl::KnownCommunicator& known = entry(comm)->known;
  EXPECT_EQ(known.rank, 1);
  EXPECT_EQ(known.nRanks, 4);
  EXPECT_EQ(known.device, 3) << "asked of NCCL, for want of a driver";
  EXPECT_TRUE(known.hasId);
  EXPECT_EQ(known.uniqueId[0], std::byte{42});
  EXPECT_EQ(known.path, 0u);
  ASSERT_EQ(seen_.size(), 1u);
  EXPECT_EQ(seen_[0].function, "pncclCommInitRank");
  EXPECT_EQ(seen_[0].initialising, &known) << "the plugin is told on the same thread";
  EXPECT_EQ(nccl::callNote.initialising, nullptr);
}

TEST_F(Watches, AnInitIsFoundFromAnotherThreadOnlyWhileItIsUnderWay) {
  const nccl::KnownCommunicator* during = nullptr;
  onCall = [&](const char*) { std::thread([&] { during = nccl::initUnderWay(5, -1); }).join(); };
  const Comm comm = make(0, 5);
  EXPECT_EQ(during, &entry(comm)->known);
  EXPECT_EQ(nccl::initUnderWay(5, -1), nullptr);
}

TEST_F(Watches, AGroupOnSeveralCommunicatorsNamesThemAll) {
  const Comm first = make(0, 2), second = make(1, 2);
  std::vector<const nccl::KnownCommunicator*> named;
  onCall = [&](const char* function) {
    if (std::string(function) != "pncclGroupEnd") return;
    const auto all = nccl::callNote.communicators;
    named.assign(all.begin(), all.end());
  };
  EXPECT_EQ(ncclGroupStart(), kSuccess);
  for (const Comm comm : {first, second, first}) EXPECT_EQ(reduce(comm), kSuccess);
  EXPECT_EQ(ncclGroupEnd(), kSuccess);
  EXPECT_EQ(named, (std::vector<const nccl::KnownCommunicator*>{&entry(first)->known,
                                                                &entry(second)->known}));
  EXPECT_TRUE(nccl::callNote.communicators.empty()) << "cleared after the call";
}

TEST_F(Watches, ACallIsCountedByTaskAndNamesItsCommunicatorToThePlugin) {
  const Comm comm = make();
  seen_.clear();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(reduce(comm), kSuccess);
  EXPECT_EQ(ncclAllGather(nullptr, nullptr, 100, kFloat32, comm, nullptr), kSuccess);
  EXPECT_EQ(seen_[0].communicator, &entry(comm)->known);
  EXPECT_EQ(nccl::callNote.communicator, nullptr) << "cleared after the call";
  std::vector<std::string> rows;
  entry(comm)->counts.forEach([&](const Task& task, uint64_t n) {
    rows.push_back(toText(task) + " " + std::to_string(n));
  });
  std::sort(rows.begin(), rows.end());
  EXPECT_EQ(rows, (std::vector<std::string>{"allgather 1600 float32 x4 1",
                                            "allreduce 1K float32 sum x4 3"}));
}

TEST_F(Watches, WhatNcclCallsByItsOwnWeakNamesIsNotCountedAgain) {
  const Comm comm = make();
  seen_.clear();
  EXPECT_EQ(ncclBcast(nullptr, 64, kFloat32, 0, comm, nullptr), kSuccess);
  ASSERT_EQ(seen_.size(), 2u);
  EXPECT_EQ(seen_[1].function, "pncclBroadcast") << "it came back through our wrapper";
  EXPECT_EQ(calls(comm), 1u);
}

TEST_F(Watches, AGroupOfOneCommunicatorNamesItAtItsEnd) {
  const Comm comm = make();
  seen_.clear();
  ncclGroupStart();
  ncclGroupStart();
  reduce(comm);
  reduce(comm, 512);
  ncclGroupEnd();
  ncclGroupEnd();
  ASSERT_EQ(seen_.size(), 6u);
  EXPECT_EQ(seen_[2].communicator, nullptr) << "inside a group nothing runs yet";
  EXPECT_EQ(seen_[4].communicator, nullptr) << "an inner end runs nothing";
  EXPECT_EQ(seen_[5].communicator, &entry(comm)->known);
  EXPECT_EQ(calls(comm), 2u);
}

TEST_F(Watches, AGroupOfTwoCommunicatorsNamesNone) {
  const Comm one = make(), two = make();
  seen_.clear();
  ncclGroupStart();
  reduce(one);
  reduce(two);
  ncclGroupEnd();
  EXPECT_EQ(seen_.back().communicator, nullptr);
  reduce(one);
  EXPECT_EQ(seen_.back().communicator, &entry(one)->known) << "the next call is named again";
}

TEST_F(Watches, ASimulatedGroupSaysSo) {
  const Comm comm = make();
  ncclGroupStart();
  reduce(comm);
  ncclGroupSimulateEnd(nullptr);
  EXPECT_TRUE(seen_.back().simulating);
  EXPECT_FALSE(nccl::callNote.simulating);
}

TEST_F(Watches, ASplitIsNamedByItsParentItsTurnAndItsColour) {
  const Comm parent = make();
  Comm children[3];
  EXPECT_EQ(ncclCommSplit(parent, 0, 0, &children[0], nullptr), kSuccess);
  EXPECT_EQ(ncclCommSplit(parent, 0, 0, &children[1], nullptr), kSuccess);
  EXPECT_EQ(ncclCommSplit(parent, 1, 0, &children[2], nullptr), kSuccess);
  const auto path = [](Comm c) { return entry(c)->known.path; };
  EXPECT_NE(path(children[0]), 0u);
  EXPECT_NE(path(children[0]), path(children[1]));
  EXPECT_NE(path(children[1]), path(children[2]));
  EXPECT_EQ(entry(children[0])->known.uniqueId, entry(parent)->known.uniqueId);
  EXPECT_EQ(entry(children[0])->known.nRanks, 2);
}

TEST_F(Watches, TwoRanksNameTheSameSplitAlike) {
  const Comm first = make(0), second = make(1);
  Comm child[2];
  ncclCommSplit(first, -1, 0, &child[0], nullptr);  // rank 0 sits this one out
  ncclCommSplit(second, 5, 0, &child[0], nullptr);
  EXPECT_EQ(ncclCommSplit(first, 7, 0, &child[0], nullptr), kSuccess);
  EXPECT_EQ(ncclCommSplit(second, 7, 0, &child[1], nullptr), kSuccess);
  EXPECT_EQ(entry(child[0])->known.path, entry(child[1])->known.path);
}

TEST_F(Watches, ASplitInAGroupIsEnteredWhenTheGroupEnds) {
  const Comm parent = make();
  Comm child = nullptr;
  ncclGroupStart();
  ncclCommSplit(parent, 0, 1, &child, nullptr);
  ncclGroupEnd();
  ASSERT_NE(entry(child), nullptr);
  EXPECT_EQ(entry(child)->known.rank, 1);
}

TEST_F(Watches, TheIdThatInitAllMakesForItselfIsSeen) {
  Comm comms[2];
  EXPECT_EQ(ncclCommInitAll(comms, 2, nullptr), kSuccess);
  for (int i = 0; i < 2; ++i) {
    ASSERT_NE(entry(comms[i]), nullptr);
    EXPECT_EQ(entry(comms[i])->known.rank, i);
    EXPECT_TRUE(entry(comms[i])->known.hasId);
    EXPECT_EQ(entry(comms[i])->known.uniqueId[3], std::byte{7});
  }
}

TEST_F(Watches, AbortEndsTheTunersWaitsBeforeNcclHearsOfIt) {
  const Comm comm = make();
  const nccl::KnownCommunicator* known = &entry(comm)->known;
  size_t endedBefore = 0;
  onCall = [&](const char* function) {
    if (std::string(function) == "pncclCommAbort") endedBefore = ended.size();
  };
  EXPECT_EQ(ncclCommAbort(comm), kSuccess);
  EXPECT_EQ(endedBefore, 1u);
  EXPECT_EQ(ended[0], known);
  EXPECT_EQ(entry(comm), nullptr);
}

TEST_F(Watches, FinalizeEndsTheWaitsAndDestroyForgets) {
  const Comm comm = make();
  ncclCommFinalize(comm);
  EXPECT_EQ(ended.size(), 1u);
  EXPECT_NE(entry(comm), nullptr);
  ncclCommDestroy(comm);
  EXPECT_EQ(entry(comm), nullptr);
}

TEST_F(Watches, AbortFromAnotherThreadPassesACallThatHangs) {
  const Comm comm = make();
  std::atomic<bool> hanging{false}, aborted{false};
  onCall = [&](const char* function) {
    if (std::string(function) == "pncclAllReduce") {
      hanging.store(true);
      while (!aborted.load()) std::this_thread::yield();
    }
    if (std::string(function) == "pncclCommAbort") aborted.store(true);
  };
  std::thread caller([&] { reduce(comm); });
  while (!hanging.load()) std::this_thread::yield();
  EXPECT_EQ(ncclCommAbort(comm), kSuccess) << "no lock of ours is held across the call";
  caller.join();
}

TEST_F(Watches, AResultOfNcclComesBackAsItIs) {
  const Comm comm = make();
  setFake(&record, 5);
  EXPECT_EQ(reduce(comm), 5);
  setFake(&record, kInProgress);
  EXPECT_EQ(reduce(comm), kInProgress);
}

TEST_F(Watches, ANonBlockingInitIsInTheBookAndUnderWayUntilTheProgramAsks) {
  setFake(&record, kInProgress);
  Comm comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, 6, UniqueId{}, 2), kInProgress);
  ASSERT_NE(entry(comm), nullptr);
  EXPECT_EQ(nccl::initUnderWay(6, -1), &entry(comm)->known);
  setFake(&record, kSuccess);
  int error = 1;
  EXPECT_EQ(ncclCommGetAsyncError(comm, &error), kSuccess);
  EXPECT_EQ(nccl::initUnderWay(6, -1), nullptr);
}

TEST_F(Watches, AFailedInitLeavesNothingBehind) {
  setFake(&record, 3);
  Comm comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, 9, UniqueId{}, 0), 3);
  EXPECT_EQ(nccl::initUnderWay(9, -1), nullptr);
}

TEST_F(Watches, ACommunicatorThatTheTunerBrokeReportsARemoteError) {
  const Comm comm = make();
  entry(comm)->known.broken.store(true);
  EXPECT_EQ(reduce(comm), kRemoteError);
  int error = 0;
  EXPECT_EQ(ncclCommGetAsyncError(comm, &error), kSuccess);
  EXPECT_EQ(error, kRemoteError);
}

TEST_F(Watches, ACommunicatorThatCameToBeUnseenIsMetAtItsFirstCall) {
  const auto unseen =
      reinterpret_cast<int (*)(Comm*, int, UniqueId, int)>(dlsym(fakeNccl(), "pncclCommInitRank"));
  Comm comm = nullptr;
  unseen(&comm, 8, UniqueId{}, 6);
  EXPECT_EQ(reduce(comm), kSuccess);
  ASSERT_NE(entry(comm), nullptr);
  EXPECT_EQ(entry(comm)->known.rank, 6);
  EXPECT_EQ(entry(comm)->known.nRanks, 8);
  EXPECT_FALSE(entry(comm)->known.hasId);
}

TEST_F(Watches, ACallThatNoLibraryHasReturnsAnErrorAndALine) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(ncclRecv(nullptr, 1, kFloat32, 0, nullptr, nullptr), kInternalError);
  EXPECT_EQ(ncclRecv(nullptr, 1, kFloat32, 0, nullptr, nullptr), kInternalError);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("no loaded library has ncclRecv"), std::string::npos) << said;
  EXPECT_EQ(said.find("ncclRecv", said.find("ncclRecv") + 8), std::string::npos) << "said once";
}

TEST_F(Watches, AForkedChildPassesEverythingOn) {
  const Comm comm = make();
  seen_.clear();
  const pid_t child = fork();
  if (child == 0) {
    const int result = reduce(comm);
    _exit(result == kSuccess && Watcher::get() == nullptr && seen_.size() == 1 &&
                  seen_[0].communicator == nullptr
              ? 0
              : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(calls(comm), 0u);
}

TEST_F(Watches, RegistrationsAndP2pArePassedOnAndCounted) {
  const Comm comm = make();
  const uint64_t before = Watcher::get()->registrations.load();
  void* h = nullptr;
  EXPECT_EQ(ncclCommRegister(comm, nullptr, 64, &h), kSuccess);
  EXPECT_EQ(ncclSend(nullptr, 4, kFloat32, 0, comm, nullptr), kSuccess);
  EXPECT_EQ(Watcher::get()->registrations.load(), before + 1);
  EXPECT_EQ(entry(comm)->p2pCalls.load(), 1u);
}

}  // namespace
}  // namespace autoccl::preload
