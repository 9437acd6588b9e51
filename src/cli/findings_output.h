// Findings as text, JSON and SARIF.
#pragma once

#include <string>
#include <vector>

#include "base/finding.h"
#include "store/json.h"

namespace autoccl::cli {

/// Where, what, what follows, what to do: one paragraph.
[[nodiscard]] std::string findingText(const Finding& finding);
/// All of them and their number; "nothing to say against it" for none.
[[nodiscard]] std::string findingsText(const std::vector<Finding>& findings);

[[nodiscard]] Json findingJson(const Finding& finding);

/// A SARIF 2.1.0 log, as code hosts show beside the lines of a file. "file:line" becomes a place,
/// anything else part of the message.
[[nodiscard]] Json findingsSarif(const std::vector<Finding>& findings);

}  // namespace autoccl::cli
