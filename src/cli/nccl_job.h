// What a job on stock NCCL needs in its environment.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/launch.h"

namespace autoccl::cli {

inline constexpr const char* kNcclLibrary = "libnccl-tuner-autoccl.so";

/// Why, or why not, the library is preloaded into the program of these words: a sentence's end.
struct NcclGuess {
  bool preload = false;
  std::string reason;
};

/// For `--engine auto`. Yes where the program's file names libnccl or librccl, or where this host
/// has a GPU's device node, since a launcher or an interpreter does not show what it will load. No
/// for a program built with AddressSanitizer, whose runtime insists on being loaded first.
[[nodiscard]] NcclGuess guessNccl(const std::vector<std::string>& words, bool hostHasGpu);
/// An NVIDIA or AMD device node is there.
[[nodiscard]] bool hostHasGpu();

/// The library beside this command (../lib, else its own folder). Throws Error (kUsage): not there,
/// writable by others than its owner, or at a path that LD_PRELOAD cannot hold.
[[nodiscard]] std::string ncclLibraryPath();
/// The check of such a path alone.
void requirePreloadable(const std::string& path);

/// LD_PRELOAD with `library` before what is there; where ranks meet that do not know their unique
/// id (AUTOCCL_COORDINATOR, AUTOCCL_KEY_FILE), unless the user has set it. Writes the key file,
/// mode 0600, into `folder`.
[[nodiscard]] Variables ncclVariables(const std::string& library, const std::string& folder,
                                      const Lookup& lookup);

/// What the user's own variables make dangerous, a sentence each.
[[nodiscard]] std::vector<std::string> ncclWarnings(const Lookup& lookup);

}  // namespace autoccl::cli
