// A file about a machine or a fabric, of any kind that this room reads.
#pragma once

#include <string>
#include <string_view>

#include "topo/host.h"

namespace autoccl::topo {

enum class FileKind : uint8_t { kNcclTopology, kNcclGraphs, kHwloc, kSmiMatrix, kFabric, kOther };

/// By what is in it, not by its name: the first element, the head of a matrix, a TOML "schema".
[[nodiscard]] FileKind kindOfFile(std::string_view text);

/// A host from any of the first, third and fourth kind. Throws Error "file: …" or "file:line: …"
/// for anything else, among them an empty and a binary file.
[[nodiscard]] Host readHost(std::string_view text, const std::string& file);

/// Why a file of this content cannot be read as text at all; empty: it can.
[[nodiscard]] std::string unreadable(std::string_view text);

}  // namespace autoccl::topo
