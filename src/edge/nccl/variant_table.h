// What each variant sets, how a release can be made to take it, and what it costs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edge/nccl/pairs.h"
#include "model/variant.h"

namespace autoccl::nccl {

/// When NCCL reads a variable again.
enum class Reread : uint8_t {
  kEveryInit,  // for every communicator, on all releases
  kUncached,   // from 2.29.7, where NCCL_NO_CACHE names it; before, once in a process
  kNever       // once in a process: another value needs a copy of the library with its own statics
};

/// One variant. Source of what is read when: nccl-internals, 1.5 and 1.9; NCCL 2.18 to 2.31.
struct VariantRow {
  Variant variant{};
  std::string_view word;                                       // of AUTOCCL_VARIANTS
  std::vector<std::pair<const char*, const char*>> variables;  // NCCL's, and their values
  Reread reread{};
  std::string_view effect;  // for the documents
};

/// All but kOwn, in the order of Variant.
[[nodiscard]] const std::vector<VariantRow>& variantRows();

/// The variants that these words stand for. 2.18 takes pairs of algorithm and protocol from
/// variants too, whatever words there are. Throws Error that names a word it does not know.
[[nodiscard]] VariantSet variantsNamed(std::string_view words, int ncclVersion);

/// True where the variant takes a copy of the library: `uncached` is the value of NCCL_NO_CACHE
/// that NCCL has read, or null.
[[nodiscard]] bool needsCopy(const VariantRow& row, int ncclVersion, const char* uncached);

/// True where a call of the pair runs otherwise on the variant than on the user's communicator.
/// The release is told by its tuner interface, 0 before 2.19.
[[nodiscard]] bool changes(Variant variant, Pair pair, int tunerVersion) noexcept;
/// The pair that a variant stands for, where it is there for releases without a tuner.
[[nodiscard]] std::optional<Pair> pairOf(Variant variant) noexcept;

/// Bytes of GPU memory that the variant takes on a rank, guessed before it is made: for a ring and
/// a tree, the buffers of each channel's connections (LL 512 KiB, LL128 4800 KiB, Simple), and
/// 16 MiB for everything else. From 2.22 NCCL connects what is used alone, so it may be half.
[[nodiscard]] uint64_t estimatedBytes(Variant variant, int channels) noexcept;

/// The table as docs/nccl.md shows it.
[[nodiscard]] std::string variantsMarkdown();

}  // namespace autoccl::nccl
