// A message as sealed bytes on a stream: who may read it, in which order, and nothing else.
//
//   0  u32 length of the whole frame      16 u64 sequence, from 0, without a gap
//   4  u8 version of this format          24 body
//   5  u8 type   6  u16 zero              then 16 bytes of SipHash-2-4 over all before
//   8  u64 session
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/siphash.h"

namespace autoccl {

inline constexpr uint8_t kFrameVersion = 1;
inline constexpr size_t kFrameHeader = 24;
inline constexpr size_t kMaxFrame = size_t{1} << 18;

/// Seals frames of one direction of one connection. Its key must not be used for another direction.
class FrameWriter {
 public:
  FrameWriter(const MacKey& key, uint64_t session) : key_(key), session_(session) {}
  /// From the next frame on, another key and sequence 0.
  void rekey(const MacKey& key);
  /// Appends one frame to `out`. False, and nothing appended, where it would pass kMaxFrame.
  bool append(std::vector<uint8_t>& out, uint8_t type, std::span<const uint8_t> body);

 private:
  MacKey key_;
  uint64_t session_;
  uint64_t sequence_ = 0;
};

/// Takes the bytes of one direction, in any cut, and gives whole frames. The first frame that is
/// foreign, changed, repeated, out of order or too long ends it for good: nothing of that frame or
/// after it is given, and fault() says why. Holds at most one frame beyond what it was fed.
class FrameReader {
 public:
  struct Frame {
    uint8_t type = 0;
    std::span<const uint8_t> body;  // valid until the next call
  };
  FrameReader(const MacKey& key, uint64_t session) : key_(key), session_(session) {}
  void feed(std::span<const uint8_t> bytes);
  /// From the next frame on (bytes of it may be here already), another key and sequence 0.
  void rekey(const MacKey& key);
  [[nodiscard]] std::optional<Frame> next();
  [[nodiscard]] const std::string& fault() const { return fault_; }

 private:
  std::optional<Frame> refuse(std::string why);
  MacKey key_;
  uint64_t session_;
  uint64_t sequence_ = 0;
  std::vector<uint8_t> buffer_;
  size_t start_ = 0;
  std::string fault_;
};

/// A key for one use, made of the shared one: no key serves two directions or two connections.
[[nodiscard]] MacKey deriveKey(const MacKey& key, std::span<const uint64_t> words);

}  // namespace autoccl
