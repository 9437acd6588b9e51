// What a program has asked of a communicator, kept for those that we make beside it.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <string>

namespace autoccl::preload {

/// A copy of the program's ncclConfig_t: as many bytes as it says it has, since every release has
/// more fields than the one before. Texts are copied (the network's name) or dropped (the
/// communicator's own name, which is another's). Source: nccl.h 2.18 to 2.30.
class UserConfig {
 public:
  /// Nothing is kept of null, of a config without NCCL's mark, or of one too large to know.
  void keep(const void* config) {
    has_ = false;
    size_t size = 0;
    unsigned magic = 0;
    if (config == nullptr) return;
    std::memcpy(&size, config, sizeof size);
    std::memcpy(&magic, static_cast<const std::byte*>(config) + kMagicAt, sizeof magic);
    if (magic != kMagic || size < kNetNameAt + sizeof(char*) || size > bytes_.size()) return;
    std::memcpy(bytes_.data(), config, size);
    has_ = true;
    const char* name = nullptr;
    std::memcpy(&name, bytes_.data() + kNetNameAt, sizeof name);
    netName_ = name != nullptr ? name : "";
    hasNetName_ = name != nullptr;
    const char* none = nullptr;
    if (size >= kCommNameAt + sizeof none)
      std::memcpy(bytes_.data() + kCommNameAt, &none, sizeof none);
  }
  void forget() noexcept { has_ = false; }
  [[nodiscard]] bool nonBlocking() const noexcept { return has_ && intAt(kBlockingAt) == 0; }
  /// 0: not set.
  [[nodiscard]] int maxChannels() const noexcept {
    const int most = has_ ? intAt(kMaxCTAsAt) : 0;
    return most > 0 ? most : 0;
  }
  /// For NCCL; null where the program gave none. Good until the next call of anything here.
  [[nodiscard]] void* get() noexcept {
    if (!has_) return nullptr;
    const char* name = hasNetName_ ? netName_.c_str() : nullptr;
    std::memcpy(bytes_.data() + kNetNameAt, &name, sizeof name);
    return bytes_.data();
  }

 private:
  static constexpr unsigned kMagic = 0xcafebeef;
  static constexpr size_t kMagicAt = 8, kBlockingAt = 16, kMaxCTAsAt = 28, kNetNameAt = 32,
                          kCommNameAt = 48;

  [[nodiscard]] int intAt(size_t offset) const noexcept {
    int value = 0;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

  alignas(8) std::array<std::byte, 256> bytes_{};
  std::string netName_;
  bool has_ = false, hasNetName_ = false;
};

}  // namespace autoccl::preload
