// Little-endian fields into and out of bytes. The reader never reads past its end: it fails for
// good.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace autoccl {

class ByteWriter {
 public:
  explicit ByteWriter(std::vector<uint8_t>& out) : out_(out) {}
  template <class T>
  void put(T value) {
    static_assert(std::is_integral_v<T> || std::is_enum_v<T>);
    append(&value, sizeof(T));
  }
  void putBytes(std::span<const uint8_t> bytes) { append(bytes.data(), bytes.size()); }
  /// At most `limit` bytes of the text, preceded by their number.
  void putText(std::string_view text, size_t limit) {
    text = text.substr(0, limit);
    put(static_cast<uint16_t>(text.size()));
    append(text.data(), text.size());
  }

 private:
  void append(const void* bytes, size_t size) {
    if (size == 0) return;
    const size_t at = out_.size();
    out_.resize(at + size);
    std::memcpy(out_.data() + at, bytes, size);
  }

  std::vector<uint8_t>& out_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const uint8_t> bytes) : rest_(bytes) {}
  /// The next field, or 0 once the bytes were too few.
  template <class T>
  T get() {
    static_assert(std::is_integral_v<T>);
    T value{};
    if (rest_.size() < sizeof(T)) {
      fail();
      return value;
    }
    std::memcpy(&value, rest_.data(), sizeof(T));
    rest_ = rest_.subspan(sizeof(T));
    return value;
  }
  /// A byte that counts values of an enum or a bool; fails at `count` and above.
  uint8_t getBelow(unsigned count) {
    const auto value = get<uint8_t>();
    if (value >= count) fail();
    return value;
  }
  /// A number of items of at least `itemBytes` each: fails when the rest cannot hold them.
  size_t getCount(size_t limit, size_t itemBytes) {
    const auto count = get<uint32_t>();
    if (count > limit || count * itemBytes > rest_.size()) {
      fail();
      return 0;
    }
    return count;
  }
  std::string getText(size_t limit) {
    const auto size = get<uint16_t>();
    if (size > limit || size > rest_.size()) {
      fail();
      return {};
    }
    std::string text(reinterpret_cast<const char*>(rest_.data()), size);
    rest_ = rest_.subspan(size);
    return text;
  }
  void fail() {
    failed_ = true;
    rest_ = {};
  }
  /// True when every field was there and nothing is left over.
  [[nodiscard]] bool complete() const { return !failed_ && rest_.empty(); }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  std::span<const uint8_t> rest_;
  bool failed_ = false;
};

}  // namespace autoccl
