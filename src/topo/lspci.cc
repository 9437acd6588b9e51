#include "topo/lspci.h"

#include "base/lines.h"

namespace autoccl::topo {
namespace {

/// "0000:3a:00.0 PCI bridge: …" or without the domain.
bool isDevice(std::string_view line) {
  const size_t dot = line.find('.');
  return dot != line.npos && dot >= 5 && dot <= 10 && line[dot - 3] == ':' &&
         line.size() > dot + 2 && line[dot + 2] == ' ' && line[0] != ' ' && line[0] != '\t';
}

}  // namespace

std::vector<Finding> lspciFindings(std::string_view text, const std::string& file) {
  std::vector<Finding> out;
  std::string device;
  bool bridge = false;
  eachLine(text, [&](std::string_view line, int number) {
    if (isDevice(line)) {
      device = line.substr(0, line.find(' '));
      bridge = line.find("PCI bridge") != line.npos;
    }
    const bool redirects =
        line.find("ReqRedir+") != line.npos || line.find("CmpltRedir+") != line.npos;
    if (!bridge || !redirects || line.find("ACSCtl:") == line.npos) return;
    out.push_back({file + ":" + std::to_string(number),
                   "bridge " + device + " redirects peer requests (ACS)",
                   "GPUs below it reach each other through the host bridge: slow, and with an "
                   "IOMMU it can hang",
                   "setpci -s " + device +
                       " ECAP_ACS+6.w=0000 at each start, or turn ACS off in the firmware; "
                       "in a virtual machine it is needed",
                   "topo-acs"});
  });
  return out;
}

bool looksLikeLspci(std::string_view text) {
  bool device = false, acs = false;
  eachLine(text, [&](std::string_view line, int) {
    device = device || (isDevice(line) && line.find(": ") != line.npos);
    acs = acs || line.find("ACSCtl:") != line.npos;
  });
  return device && acs;
}

}  // namespace autoccl::topo
