#include "agree/frame.h"

#include <cstring>

#include "agree/bytes.h"

namespace autoccl {

bool FrameWriter::append(std::vector<uint8_t>& out, uint8_t type, std::span<const uint8_t> body) {
  const size_t start = out.size();
  const size_t length = kFrameHeader + body.size() + sizeof(MacTag);
  if (length > kMaxFrame) return false;
  ByteWriter w(out);
  w.put(static_cast<uint32_t>(length));
  w.put(kFrameVersion);
  w.put(type);
  w.put(uint16_t{0});
  w.put(session_);
  w.put(sequence_++);
  w.putBytes(body);
  w.putBytes(sipHash128(key_, std::span(out).subspan(start)));
  return true;
}

void FrameWriter::rekey(const MacKey& key) {
  key_ = key;
  sequence_ = 0;
}

void FrameReader::rekey(const MacKey& key) {
  key_ = key;
  sequence_ = 0;
}

void FrameReader::feed(std::span<const uint8_t> bytes) {
  if (!fault_.empty()) return;
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<ptrdiff_t>(start_));
  start_ = 0;
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

std::optional<FrameReader::Frame> FrameReader::refuse(std::string why) {
  fault_ = std::move(why);
  buffer_.clear();
  start_ = 0;
  return std::nullopt;
}

std::optional<FrameReader::Frame> FrameReader::next() {
  const auto bytes = std::span<const uint8_t>(buffer_).subspan(start_);
  if (bytes.size() < kFrameHeader) return std::nullopt;
  ByteReader r(bytes);
  const auto length = r.get<uint32_t>();
  const auto version = r.get<uint8_t>();
  const auto type = r.get<uint8_t>();
  const auto zero = r.get<uint16_t>();
  const auto session = r.get<uint64_t>();
  const auto sequence = r.get<uint64_t>();
  if (length < kFrameHeader + sizeof(MacTag) || length > kMaxFrame)
    return refuse("frame of " + std::to_string(length) + " bytes");
  if (version != kFrameVersion || zero != 0)
    return refuse("frame version " + std::to_string(version) + ", this is version " +
                  std::to_string(kFrameVersion));
  if (session != session_) return refuse("frame of another session");
  if (bytes.size() < length) return std::nullopt;
  MacTag tag;
  std::memcpy(tag.data(), bytes.data() + length - sizeof(MacTag), sizeof(MacTag));
  if (!sameTag(tag, sipHash128(key_, bytes.first(length - sizeof(MacTag)))))
    return refuse("frame with a wrong authentication code");
  if (sequence != sequence_) return refuse("frame repeated or out of order");
  ++sequence_;
  start_ += length;
  return Frame{type, bytes.subspan(kFrameHeader, length - kFrameHeader - sizeof(MacTag))};
}

MacKey deriveKey(const MacKey& key, std::span<const uint64_t> words) {
  std::vector<uint8_t> bytes;
  ByteWriter w(bytes);
  for (const uint64_t word : words) w.put(word);
  return sipHash128(key, bytes);
}

}  // namespace autoccl
