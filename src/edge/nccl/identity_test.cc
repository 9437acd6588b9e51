#include "edge/nccl/identity.h"

#include <gtest/gtest.h>

#include <thread>

namespace autoccl::nccl {
namespace {

TEST(Identity, AnInitUnderWayIsFoundBySizeAndDeviceFromAnotherThread) {
  KnownCommunicator known;
  known.nRanks = 8;
  known.device = 3;
  noteInit(known);
  std::thread([&] {
    EXPECT_EQ(initUnderWay(8, 3), &known);
    EXPECT_EQ(initUnderWay(8, 2), nullptr);
    EXPECT_EQ(initUnderWay(4, 3), nullptr);
  }).join();
  forgetInit(known);
  EXPECT_EQ(initUnderWay(8, 3), nullptr);
}

TEST(Identity, TwoInitsThatLookAlikeAreNotGuessedApart) {
  KnownCommunicator first, second;
  first.nRanks = second.nRanks = 2;
  first.device = second.device = 0;
  noteInit(first);
  noteInit(second);
  EXPECT_EQ(initUnderWay(2, 0), nullptr);
  forgetInit(first);
  EXPECT_EQ(initUnderWay(2, 0), &second);
  forgetInit(second);
}

TEST(Identity, EveryThreadHasItsOwnNote) {
  callNote.simulating = true;
  std::thread([] { EXPECT_FALSE(callNote.simulating); }).join();
  callNote.simulating = false;
}

TEST(CallNote, OfAGroupOnSeveralGpusTheDeviceTellsWhoseCallItIs) {
  KnownCommunicator first, second;
  first.nRanks = second.nRanks = 2;
  first.device = 0;
  second.device = 1;
  KnownCommunicator* const both[] = {&first, &second};
  callNote = {};
  EXPECT_EQ(communicatorOfCall(2, 1), nullptr);
  callNote.communicators = both;
  EXPECT_EQ(communicatorOfCall(2, 1), &second);
  EXPECT_EQ(communicatorOfCall(-1, 0), &first);
  EXPECT_EQ(communicatorOfCall(4, 0), nullptr) << "of another size";
  second.device = 0;
  EXPECT_EQ(communicatorOfCall(2, 0), nullptr) << "two of one size on one device";
  callNote = {};
}

}  // namespace
}  // namespace autoccl::nccl
