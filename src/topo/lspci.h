// ACS in the text of `lspci -vvv`, which root can give for a machine that hides it from others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"

namespace autoccl::topo {

/// A finding for each bridge whose ACSCtl redirects requests or completions (ReqRedir+,
/// CmpltRedir+). Devices that are no bridges are passed over.
[[nodiscard]] std::vector<Finding> lspciFindings(std::string_view text, const std::string& file);

/// Has lines of a device and of ACS.
[[nodiscard]] bool looksLikeLspci(std::string_view text);

}  // namespace autoccl::topo
