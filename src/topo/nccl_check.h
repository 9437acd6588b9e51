// Whether NCCL's own reader takes a topology file, by its rules and no milder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"

namespace autoccl::topo {

/// One finding for each thing on which NCCL's reader ends with an error, or RCCL's for a file of
/// version 2; none: it takes the file as it stands, whatever the live machine adds. Source: NCCL
/// 2.30, graph/xml.cc and graph/topo.cc. Never throws.
[[nodiscard]] std::vector<Finding> ncclRefusals(std::string_view text, const std::string& file);

}  // namespace autoccl::topo
