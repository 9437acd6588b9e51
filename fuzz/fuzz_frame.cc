// The reader of frames and messages: a stream from a stranger, then bodies behind right tags; and
// what is made of the samples in them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <variant>
#include <vector>

#include "agree/frame.h"
#include "agree/message.h"
#include "edge/session/sample_joiner.h"

namespace {

void join(const autoccl::Samples& samples) {
  using namespace autoccl;
  for (const JoinRule rule : {JoinRule::kSharedClock, JoinRule::kOwnDurations}) {
    SampleJoiner joiner(2, rule);
    int rank = 0;
    for (const CallSample& sample : samples.calls) joiner.put(rank ^= 1, sample);
    for (const TimedCall& call : joiner.take())
      if (call.us < 0 || (call.us == 0 && !call.failed)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace autoccl;
  const MacKey key{};
  FrameReader stranger(key, 0);
  const size_t half = size / 2;
  stranger.feed({data, half});
  while (stranger.next()) {
  }
  stranger.feed({data + half, size - half});
  while (stranger.next()) {
  }

  if (size == 0 || size > kMaxFrame / 2) return 0;
  const std::span<const uint8_t> body(data + 1, size - 1);
  std::vector<uint8_t> sealed;
  FrameWriter(key, 0).append(sealed, data[0], body);
  FrameReader reader(key, 0);
  reader.feed(sealed);
  const auto frame = reader.next();
  if (!frame || frame->type != data[0] || frame->body.size() != body.size()) std::abort();
  const auto message = unpack(frame->type, frame->body);
  if (!message) return 0;
  if (const auto* samples = std::get_if<Samples>(&*message)) join(*samples);
  // What is read is what would be written.
  const Packed packed = pack(*message);
  if (packed.type != data[0] || packed.body.size() != body.size()) std::abort();
  if (!std::equal(body.begin(), body.end(), packed.body.begin())) std::abort();
  return 0;
}
