#include "agree/message.h"

#include <gtest/gtest.h>

#include <random>

#include "agree/frame.h"
#include "agree/test_ranks.h"

namespace autoccl {
namespace {

std::vector<Message> oneOfEach() {
  Prepare prepare{
      7, true, {{11, {{5, testConfig(2)}, {9, testConfig(3)}}}, {12, {{1, testConfig(4)}}}}};
  return {Join{{"0.1.0", "cpu", 3, 4}, 5},
          Joined{},
          Off{"rank 2 differs in space"},
          prepare,
          Ack{7, {5, 1}, {{64, 99}}, true, "why"},
          Verdict{7, true},
          Settled{7, true, true},
          Ask{7},
          Tell{7, Knowledge::kInDoubt},
          Samples{70, {1, 9, 3, 71}, {{11, 70, testConfig(2), 5, 9, 1, CallClock::kStream}}},
          Notice{15, 3, true},
          Parcel{3, {1, 2, 250}}};
}

TEST(Message, ComesBackAsItWasSent) {
  for (const Message& m : oneOfEach()) {
    const Packed packed = pack(m);
    const auto back = unpack(packed.type, packed.body);
    ASSERT_TRUE(back) << "type " << int{packed.type};
    EXPECT_EQ(back->index(), m.index());
    EXPECT_EQ(pack(*back).body, packed.body);
  }
}

TEST(Message, IsRefusedWhenCutShortOrTooLong) {
  for (const Message& m : oneOfEach()) {
    const Packed packed = pack(m);
    const std::span<const uint8_t> whole(packed.body);
    for (size_t n = 0; n < whole.size(); ++n)
      EXPECT_FALSE(unpack(packed.type, whole.first(n)))
          << "type " << int{packed.type} << " cut at " << n;
    std::vector<uint8_t> longer(packed.body);
    longer.push_back(0);
    EXPECT_FALSE(unpack(packed.type, longer));
  }
}

TEST(Message, IsRefusedWhenAFieldIsOutOfItsRange) {
  const auto refused = [](const Message& m) {
    const Packed packed = pack(m);
    return !unpack(packed.type, packed.body);
  };
  const auto prepare = [](std::vector<TableEntry> entries, uint64_t version = 1, uint64_t key = 5) {
    return Prepare{version, false, {{key, std::move(entries)}}};
  };
  EXPECT_FALSE(refused(prepare({{5, testConfig(1)}})));
  EXPECT_TRUE(refused(prepare({}))) << "a change without entries";
  EXPECT_TRUE(refused(prepare({{5, testConfig(1)}, {5, testConfig(2)}}))) << "not ascending";
  EXPECT_TRUE(refused(prepare({{5, testConfig(0)}}))) << "no channel";
  EXPECT_TRUE(refused(prepare({{UINT64_MAX, testConfig(1)}}))) << "the mark for no fence";
  EXPECT_TRUE(refused(prepare({{5, testConfig(1)}}, 0))) << "version 0";
  EXPECT_TRUE(refused(prepare({{5, testConfig(1)}}, 1, 0))) << "task key 0";
  Prepare twice = prepare({{5, testConfig(1)}});
  twice.tasks.push_back(twice.tasks[0]);
  EXPECT_TRUE(refused(twice)) << "one task twice";
  Config odd = testConfig(1);
  odd.algorithm = static_cast<Algorithm>(kAlgorithms);
  EXPECT_TRUE(refused(prepare({{5, odd}}))) << "unknown algorithm";
  EXPECT_TRUE(refused(Ack{1, {}, {{63, 1}}, false, ""})) << "hash between multiples of 64";
  EXPECT_TRUE(refused(Tell{1, static_cast<Knowledge>(3)}));
  Samples many;
  many.calls.resize(kMaxSamples);
  EXPECT_FALSE(refused(many));
  many.calls.resize(kMaxSamples + 1);
  EXPECT_TRUE(refused(many)) << "more samples than a frame may hold";
  EXPECT_FALSE(refused(Samples{0, {}, {{1, 1, kUntouched, 0, 0, 0, CallClock::kEngine}}}));
  EXPECT_FALSE(unpack(200, {})) << "unknown type";
}

struct Sealed {
  FrameWriter writer{kTestKey, 42};
  FrameReader reader{kTestKey, 42};
  std::vector<uint8_t> bytes;
};

TEST(Frame, ArrivesWholeWhereverTheStreamIsCut) {
  std::mt19937 random(3);
  Sealed s;
  std::vector<Packed> sent;
  for (int i = 0; i < 50; ++i)
    for (const Message& m : oneOfEach()) {
      sent.push_back(pack(m));
      s.writer.append(s.bytes, sent.back().type, sent.back().body);
    }
  size_t got = 0;
  for (size_t at = 0; at < s.bytes.size();) {
    const size_t n = std::min<size_t>(s.bytes.size() - at, random() % 97);
    s.reader.feed(std::span(s.bytes).subspan(at, n));
    at += n;
    while (const auto frame = s.reader.next()) {
      ASSERT_LT(got, sent.size());
      EXPECT_EQ(frame->type, sent[got].type);
      EXPECT_TRUE(std::equal(frame->body.begin(), frame->body.end(), sent[got].body.begin(),
                             sent[got].body.end()));
      ++got;
    }
  }
  EXPECT_EQ(got, sent.size());
  EXPECT_EQ(s.reader.fault(), "");
}

TEST(Frame, IsRefusedWhenAnyBitIsChanged) {
  std::vector<uint8_t> good;
  FrameWriter(kTestKey, 42).append(good, 3, std::vector<uint8_t>(9, 1));
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::vector<uint8_t> bad(good);
    bad[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
    FrameReader reader(kTestKey, 42);
    reader.feed(bad);
    EXPECT_FALSE(reader.next()) << "bit " << bit;
    // A longer length waits for bytes that never come; everything else is known to be wrong.
    EXPECT_TRUE(!reader.fault().empty() || bit < 32) << "bit " << bit;
  }
}

TEST(Frame, IsRefusedWhenRepeatedOrOfAnotherKeyOrSession) {
  Sealed s;
  s.writer.append(s.bytes, 7, {});
  s.reader.feed(s.bytes);
  EXPECT_TRUE(s.reader.next());
  s.reader.feed(s.bytes);
  EXPECT_FALSE(s.reader.next());
  EXPECT_NE(s.reader.fault().find("repeated"), std::string::npos) << s.reader.fault();
  s.writer.append(s.bytes, 7, {});
  s.reader.feed(s.bytes);
  EXPECT_FALSE(s.reader.next()) << "a reader that has refused stays closed";

  FrameReader otherSession(kTestKey, 43), otherKey(MacKey{}, 42);
  for (FrameReader* reader : {&otherSession, &otherKey}) {
    reader->feed(s.bytes);
    EXPECT_FALSE(reader->next());
    EXPECT_FALSE(reader->fault().empty());
  }
}

TEST(Frame, NamesTheVersionThatItCannotRead) {
  Sealed s;
  s.writer.append(s.bytes, 7, {});
  s.bytes[4] = 9;
  s.reader.feed(s.bytes);
  EXPECT_FALSE(s.reader.next());
  EXPECT_NE(s.reader.fault().find("version 9"), std::string::npos) << s.reader.fault();
}

// What the fuzz target does (fuzz/fuzz_frame.cc), for a fixed set of damaged streams.
TEST(Frame, SurvivesDamagedStreams) {
  std::mt19937_64 random(11);
  size_t accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    Sealed s;
    for (const Message& m : oneOfEach()) {
      const Packed packed = pack(m);
      s.writer.append(s.bytes, packed.type, packed.body);
      if (random() % 4 == 0) continue;
      std::vector<uint8_t> body(packed.body);  // the body alone, damaged, behind a right tag
      if (!body.empty()) body[random() % body.size()] = static_cast<uint8_t>(random());
      if (const auto back = unpack(packed.type, body)) {
        EXPECT_EQ(pack(*back).body, body) << "what is read is what is written";
        ++accepted;
      }
    }
    if (!s.bytes.empty())
      s.bytes[random() % s.bytes.size()] ^= static_cast<uint8_t>(1 + random() % 255);
    s.reader.feed(s.bytes);
    while (const auto frame = s.reader.next()) (void)unpack(frame->type, frame->body);
  }
  EXPECT_GT(accepted, 1000u);
}

}  // namespace
}  // namespace autoccl
