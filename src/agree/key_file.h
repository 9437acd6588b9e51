// The key that all ranks of a job share, from a file.
#pragma once

#include <string>

#include "base/siphash.h"

namespace autoccl {

/// Reads a key from a regular file that nobody but its owner may read or write (mode 0600 or 0400,
/// owned by this user) and that holds 16 to 4096 bytes; longer ones than 16 are condensed. Throws
/// Error that says what is wrong with the file and what to do.
[[nodiscard]] MacKey readKeyFile(const std::string& path);

}  // namespace autoccl
