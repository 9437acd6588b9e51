#include "model/config.h"

#include <array>
#include <charconv>
#include <vector>

#include "base/error.h"
#include "base/size_text.h"
#include "model/variant.h"

namespace autoccl {
namespace {

constexpr std::string_view kAutoText = "auto";
constexpr std::array<std::string_view, kWaitPolicies> kWaitText{"spin", "yield", "futex"};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t at = text.find(separator);
    if (at != 0) parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) break;
    text.remove_prefix(at + 1);
  }
  return parts;
}

template <class E>
E wordOf(std::string_view text, int count, const char* field) {
  if (const auto value = fromText<E>(text)) return *value;
  std::string allowed;
  for (int i = 0; i < count; ++i) {
    if (i) allowed += ", ";
    allowed += toText(static_cast<E>(i));
  }
  throw Error(ErrorCode::kUsage,
              std::string("config: unknown ") + field + " '" + std::string(text) + "'",
              "allowed: " + allowed);
}

uint16_t smallNumber(std::string_view text, std::string_view field) {
  if (text == kAutoText) return 0;
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > 65535)
    throw Error(ErrorCode::kUsage,
                "config: " + std::string(field) + "='" + std::string(text) + "' is no count",
                "allowed: 1 to 65535, and auto where the transport is auto");
  return static_cast<uint16_t>(value);
}

std::string orAuto(uint16_t count) {
  return count ? std::to_string(count) : std::string(kAutoText);
}

void setField(Config& config, std::string_view name, std::string_view value) {
  if (name == "nc") {
    config.channels = smallNumber(value, "nc");
  } else if (name == "nt") {
    config.threads = smallNumber(value, "nt");
  } else if (name == "c") {
    const uint64_t bytes = value == kAutoText ? 0 : parseBytes(value, "config: c");
    if (bytes > UINT32_MAX) throw Error(ErrorCode::kUsage, "config: c is above 4G");
    config.chunk = static_cast<uint32_t>(bytes);
  } else if (name == "wait") {
    config.extra = static_cast<uint8_t>(wordOf<WaitPolicy>(value, kWaitPolicies, "wait"));
  } else if (name == "on") {
    config.extra = static_cast<uint8_t>(wordOf<Variant>(value, kVariants, "on"));
  } else {
    throw Error(ErrorCode::kUsage, "config: unknown field '" + std::string(name) + "'",
                "allowed: nc, nt, c, wait, on");
  }
}

}  // namespace

std::string_view toText(WaitPolicy v) noexcept {
  const auto i = static_cast<size_t>(v);
  return i < kWaitText.size() ? kWaitText[i] : std::string_view("?");
}

template <>
std::optional<WaitPolicy> fromText(std::string_view text) noexcept {
  for (size_t i = 0; i < kWaitText.size(); ++i)
    if (kWaitText[i] == text) return static_cast<WaitPolicy>(i);
  return std::nullopt;
}

bool wellFormed(const Config& c) noexcept {
  const bool counts = c.transport == Transport::kAuto
                          ? c.extra < kVariants
                          : c.extra < kWaitPolicies && c.channels > 0 && c.threads > 0;
  return static_cast<int>(c.algorithm) < kAlgorithms && static_cast<int>(c.protocol) < kProtocols &&
         static_cast<int>(c.transport) < kTransports && counts && c.reserved == 0 &&
         (c.algorithm != Algorithm::kUntouched || c == kUntouched);
}

std::string toText(const Config& c) {
  if (c == kUntouched) return std::string(toText(c.algorithm));
  std::string text;
  text.append(toText(c.algorithm))
      .append("/")
      .append(toText(c.protocol))
      .append("/")
      .append(toText(c.transport));
  if (c.transport == Transport::kAuto)
    return text + " nc=" + orAuto(c.channels) + " nt=" + orAuto(c.threads) +
           " c=" + (c.chunk ? bytesText(c.chunk) : std::string(kAutoText)) +
           (c.extra ? " on=" + std::string(toText(static_cast<Variant>(c.extra))) : "");
  text += " nc=" + std::to_string(c.channels) + " nt=" + std::to_string(c.threads) +
          " c=" + bytesText(c.chunk);
  const bool gpu = c.transport == Transport::kP2p || c.transport == Transport::kCe;
  if (!gpu) text.append(" wait=").append(toText(static_cast<WaitPolicy>(c.extra)));
  return text;
}

Config parseConfig(std::string_view text) {
  const auto words = split(text, ' ');
  if (words.empty())
    throw Error(ErrorCode::kUsage, "config: empty",
                "example: twoshot/zero/shm nc=1 nt=1 c=64K wait=futex");
  if (text == toText(Algorithm::kUntouched)) return kUntouched;
  const auto names = split(words[0], '/');
  if (names.size() != 3)
    throw Error(ErrorCode::kUsage,
                "config: '" + std::string(words[0]) + "' is no algorithm/protocol/transport");
  Config config;
  config.algorithm = wordOf<Algorithm>(names[0], kAlgorithms, "algorithm");
  config.protocol = wordOf<Protocol>(names[1], kProtocols, "protocol");
  config.transport = wordOf<Transport>(names[2], kTransports, "transport");
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t at = words[i].find('=');
    if (at == std::string_view::npos)
      throw Error(ErrorCode::kUsage, "config: '" + std::string(words[i]) + "' is no field=value");
    setField(config, words[i].substr(0, at), words[i].substr(at + 1));
  }
  if (!wellFormed(config))
    throw Error(ErrorCode::kUsage, "config: '" + std::string(text) + "' leaves a count open",
                "allowed: nc, nt and c of auto where the transport is auto");
  return config;
}

std::string bytesText(uint64_t bytes) {
  constexpr std::array<char, 4> kSuffix{0, 'K', 'M', 'G'};
  size_t unit = 0;
  while (unit + 1 < kSuffix.size() && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  std::string text = std::to_string(bytes);
  if (kSuffix[unit]) text += kSuffix[unit];
  return text;
}

uint64_t parseBytes(std::string_view text, std::string_view argument) {
  if (const auto bytes = readSize(text)) return *bytes;
  throw Error(ErrorCode::kUsage, std::string(argument) + ": '" + std::string(text) + "' is no size",
              "allowed: a number of bytes, or with K, M, G, KiB, MiB, GiB");
}

}  // namespace autoccl
