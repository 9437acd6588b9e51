// The matrix that `nvidia-smi topo -m` prints.
#pragma once

#include <string>
#include <string_view>

#include "topo/host.h"

namespace autoccl::topo {

/// GPUs, NICs and the class of every path between them; CPU sets and NUMA nodes of the GPUs, names
/// of the NICs by the legend. Older forms (mlx5_0 as row, no affinity columns, terminal escapes)
/// are read too. There are no bus ids in it, so `pci` stays empty. Throws Error "file:line: reason"
/// for a row or a cell that does not fit; what is not symmetric is named in `notes`.
[[nodiscard]] Host readSmiMatrix(std::string_view text, const std::string& file);

/// The first line that has text begins with a matrix' head.
[[nodiscard]] bool looksLikeSmiMatrix(std::string_view text);

}  // namespace autoccl::topo
