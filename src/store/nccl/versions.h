// What each NCCL version lets us change, and how it tells us what it did: one table for docs,
// doctor and messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace autoccl::nccl {

/// When a parameter may be another one. kVariant: only on a second communicator made for it.
enum class Lever { kNever, kVariant, kCall };
[[nodiscard]] std::string_view toText(Lever lever) noexcept;  // "never", "variant", "call"

/// One range of releases, as NCCL_VERSION_CODE counts them (2.28.9 is 22809).
struct VersionRow {
  std::string_view releases;  // "2.24-2.26"
  int from = 0;               // its first release
  int tuner = 0;              // newest interface that both sides know; 0: none
  int profiler = 0;
  int env = 0;
  Lever algorithm{}, protocol{}, transport{}, channels{}, threads{}, chunk{};
  std::string_view times;     // where a call's time comes from
  std::string_view identity;  // who tells rank and communicator
  bool assumed = false;       // inferred from release notes or neighbours, not from source
};

/// Ascending; the last one holds for everything later.
[[nodiscard]] const std::vector<VersionRow>& versionRows();
/// The row of a release; null before 2.18.
[[nodiscard]] const VersionRow* versionRow(int versionCode) noexcept;
/// The table as docs/nccl.md shows it.
[[nodiscard]] std::string versionsMarkdown();

}  // namespace autoccl::nccl
