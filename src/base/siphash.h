// SipHash-2-4 with a 128-bit tag: the authentication code of frames and the key derivation of
// links. Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012, and the
// authors' note on the 128-bit output.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace autoccl {

using MacKey = std::array<uint8_t, 16>;
using MacTag = std::array<uint8_t, 16>;

/// Keyed tag of any bytes. Pure, allocates nothing, about 1 ns a byte.
[[nodiscard]] MacTag sipHash128(const MacKey& key, std::span<const uint8_t> bytes) noexcept;

/// Comparison whose time does not depend on where the tags differ.
[[nodiscard]] bool sameTag(const MacTag& a, const MacTag& b) noexcept;

}  // namespace autoccl
