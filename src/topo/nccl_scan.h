// What NCCL's own XML reader sees in a text, letter by letter. It reads less than XML: no prolog,
// no tabs, one blank between attributes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topo/xml.h"

namespace autoccl::topo {

/// The elements that it keeps, and where and why it stops, if it does.
struct NcclScan {
  XmlElement root;  // an element without name, around all
  int kept = 0;     // elements that count towards its limit
  int faultLine = 0;
  std::string fault;  // empty: it reads the file to its end
};

inline constexpr int kNcclMostElements = 255;  // it fails on reading anything after the 256th

/// `rccl`: its names of links too. Source: NCCL 2.30 graph/xml.cc. Linear.
[[nodiscard]] NcclScan scanAsNccl(std::string_view text, bool rccl);

}  // namespace autoccl::topo
