// Whole files in, whole files out: nothing is ever seen half written.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace autoccl {

enum class Durable {
  kNo,  // survives a crash of this process: the record that is rewritten while a job runs
  kYes  // survives a crash of the machine: profiles and the journal
};

/// Replaces `path` by a file with this content and mode 0600: written beside it, then renamed over
/// it, so that a reader sees the old text or the new one. Throws Error naming path and cause.
void replaceFile(const std::string& path, std::string_view content, Durable durable);

/// The content, or nothing if there is no such file. Throws Error where it cannot be read, is no
/// plain file, or is larger than `maxBytes`.
[[nodiscard]] std::optional<std::string> readWholeFile(const std::string& path,
                                                       size_t maxBytes = size_t{64} << 20);

/// Makes a folder and those above it, mode 0700 where new. Throws Error naming the one refused.
void makeFolders(const std::string& path);

}  // namespace autoccl
