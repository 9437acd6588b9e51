#include "store/nccl/log.h"

#include <gtest/gtest.h>

#include "store/nccl/choice.h"

namespace autoccl::nccl {
namespace {

const Finding* of(const Log& log, const std::string& rule) {
  for (const Finding& f : log.findings)
    if (f.rule == rule) return &f;
  return nullptr;
}

// Case 65: which algorithm was used? Formats of all releases, prefixes, cut lines.
TEST(NcclLog, ChoicesAreReadInEveryFormat) {
  const Log log = readLog(
      "NCCL INFO 262144 Bytes -> Algo 0 proto 1 time 54.7\n"
      "[0] node1:497888:497888 [0] NCCL INFO 262144 Bytes -> Algo 0 proto 1 time 54.7\n"
      "node1:1:2 [3] NCCL INFO AllReduce: 8388608 Bytes -> Algo 1 proto 2 time 397.0\n"
      "2026-01-01 12:00:00 node1:1:2 [3] NCCL INFO AllReduce: 1048576 Bytes -> Algo RING proto "
      "SIMPLE "
      "channel{Lo..Hi}={0..15}\n"
      "1: node1:1:2 [3] NCCL INFO AllGather: 4096 Bytes -> Algo COLLNET_DIRECT proto SIMPLE "
      "channel{Lo..Hi}={0..1}\r\n"
      "node1:1:2 [3] NCCL INFO ReduceScatter: 512 Bytes -> Algo PAT proto SIMPLE "
      "channel{Lo..Hi}={0..0}\n"
      "node1:1:2 [3] NCCL INFO AllReduce: 16384 Bytes -> Algo TREEnode1:1:3 [4] NCCL INFO more\n"
      "\nnode1:1:2 [0] misc/cudawrap.cc:31 NCCL WARN Cuda failure\n"
      "step 12 loss 3.1 Bytes\n",
      "l");
  EXPECT_EQ(log.cutLines, 1U) << "two lines that ran into each other";
  ASSERT_EQ(log.choices.size(), 5U);
  EXPECT_EQ(log.choices[0].choice.function, -1) << "older releases do not say it";
  EXPECT_EQ(log.choices[0].times, 2U);
  EXPECT_EQ(choicesText(log),
            "  a collective of 262144 bytes: Tree/LL128, 2 times\n"
            "  AllGather of 4096 bytes: CollNetDirect/Simple, 2 channels, 1 times\n"
            "  ReduceScatter of 512 bytes: PAT/Simple, 1 channels, 1 times\n"
            "  AllReduce of 1048576 bytes: Ring/Simple, 16 channels, 1 times\n"
            "  AllReduce of 8388608 bytes: Ring/Simple, 1 times\n");
}

// Case 39: 112 channels asked for, 2 made.
TEST(NcclLog, AChannelRequestThatIsNotMetIsNamed) {
  const Log log = readLog(
      "n:1:1 [0] NCCL INFO NCCL_MIN_NCHANNELS set by environment to 112.\n"
      "n:1:1 [0] NCCL INFO Channel 00/02 :    0   1\n",
      "l");
  ASSERT_NE(of(log, "log-channels"), nullptr);
  EXPECT_EQ(of(log, "log-channels")->where, "l:2");
  EXPECT_EQ(of(log, "log-channels")->what, "NCCL_MIN_NCHANNELS=112 asked for, 2 channels made");
}

TEST(NcclLog, ChannelsOfCollectivesAndPeersAreRead) {
  const auto both = channelsOf(
      "n:1:1 [0] NCCL INFO 16 coll channels, 0 collnet channels, 0 nvls channels, 32 p2p channels, "
      "2 "
      "p2p channels per peer");
  ASSERT_TRUE(both);
  EXPECT_EQ(both->collective, 16);
  EXPECT_EQ(both->peer, 32);
  EXPECT_FALSE(channelsOf("n:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC"));
}

// Cases 33 and 51: the same GPU leaves by another NIC on another host.
TEST(NcclLog, NicsThatDifferFromHostToHostAreNamed) {
  const Log log = readLog(
      "a:1:1 [3] NCCL INFO Channel 00/0 : 3[3] -> 11[3] [send] via NET/IB/3/GDRDMA\n"
      "a:1:1 [3] NCCL INFO Channel 00/0 : 11[3] -> 3[3] [receive] via NET/IB/1/GDRDMA\n"
      "b:1:1 [3] NCCL INFO Channel 00/0 : 11[3] -> 3[3] [send] via NET/IB/2/GDRDMA\n",
      "l");
  ASSERT_NE(of(log, "log-rails"), nullptr);
  EXPECT_EQ(of(log, "log-rails")->what,
            "the NIC on channel 0 of GPU 3 is 2 on b GPU 3, 3 on a GPU 3");
}

// Cases 32 and 35: versions, networks and variables that differ between ranks.
TEST(NcclLog, WhatDiffersBetweenRanksIsNamed) {
  const Log log = readLog(
      "a:1:1 [0] NCCL INFO NCCL version 2.27.3+cuda12.9\n"
      "b:1:1 [0] NCCL INFO NCCL version 2.28.9+cuda12.9\n"
      "a:1:1 [0] NCCL INFO Using network IB\n"
      "b:1:1 [0] NCCL INFO Using network Socket\n"
      "a:1:1 [0] NCCL INFO NCCL_BUFFSIZE set by environment to 524288.\n"
      "b:1:1 [0] NCCL INFO NCCL_BUFFSIZE set by environment to 65536.\n",
      "l");
  ASSERT_NE(of(log, "log-versions"), nullptr);
  EXPECT_EQ(of(log, "log-network")->what, "the network is Socket on b GPU 0, IB on a GPU 0");
  EXPECT_EQ(of(log, "log-settings")->what,
            "setting NCCL_BUFFSIZE is 65536 on b GPU 0, 524288 on a GPU 0");
  EXPECT_EQ(log.network, "IB");
}

// Cases 41, 45, 46, 54, 20: sentences that end a job, each with what to do.
TEST(NcclLog, SentencesThatEndAJobAreExplained) {
  struct Case {
    const char *line, *what;
  };
  for (const Case& c :
       {Case{"[0] graph/xml.h:85 NCCL WARN Attribute arch of node cpu not found",
             "the topology file describes a socket without arch, and the job has no GPU there"},
        Case{"NCCL WARN Error : too many XML nodes (max 256)",
             "the topology has more than NCCL's 256 elements"},
        Case{"NCCL WARN XML Import Channel : dev 4 not found.",
             "NCCL_GRAPH_FILE holds a graph for other GPUs than the job's"},
        Case{"NCCL WARN Error while creating shared memory segment /dev/shm/nccl-x (size 9637888)",
             "/dev/shm is too small"},
        Case{"NCCL WARN Could not find NET with id 0",
             "a forced algorithm wants a NIC that is not there"},
        Case{"NCCL INFO NET/IB : No device found.", "NCCL finds no RDMA device"}}) {
    const Log log = readLog(std::string(c.line) + "\n", "l");
    ASSERT_EQ(log.findings.size(), 1U) << c.line;
    EXPECT_EQ(log.findings[0].what, c.what);
  }
}

TEST(NcclLog, AnyBytesAreBorne) {
  for (const char* text :
       {"NCCL INFO  Bytes -> Algo ", "NCCL INFO 5 Bytes -> Algo x proto", "] NCCL ", "[] NCCL ",
        "NCCL Channel -> via ", "NCCL set by environment to ", "NCCL Channel 99999999999/1 :"})
    EXPECT_EQ(readLog(text, "l").lines, 1U) << text;
}

}  // namespace
}  // namespace autoccl::nccl
