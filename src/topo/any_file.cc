#include "topo/any_file.h"

#include <algorithm>

#include "base/lines.h"
#include "topo/hwloc_xml.h"
#include "topo/nccl_xml.h"
#include "topo/smi_matrix.h"
#include "topo/words.h"

namespace autoccl::topo {
namespace {

/// The name of the first element of an XML text; empty where it is none.
std::string_view firstElement(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  for (;;) {
    text = trimmed(text);
    if (!text.starts_with('<')) return {};
    const std::string_view end = text.starts_with("<!--") ? "-->" : ">";
    if (!text.starts_with("<!") && !text.starts_with("<?")) break;
    const size_t at = text.find(end);
    if (at == text.npos) return {};
    text.remove_prefix(at + end.size());
  }
  return text.substr(1, text.find_first_of(" \t\r\n/>") - 1);
}

bool isFabric(std::string_view text) {
  bool found = false;
  eachLine(text.substr(0, std::min<size_t>(text.size(), 65536)), [&](std::string_view line, int) {
    const std::string_view shown = trimmed(line);
    const bool key = shown.starts_with("schema") && trimmed(shown.substr(6)).starts_with('=');
    found = found || (key && shown.find("autoccl-fabric") != shown.npos);
  });
  return found;
}

}  // namespace

FileKind kindOfFile(std::string_view text) {
  const std::string_view element = firstElement(text);
  if (element == "system") return FileKind::kNcclTopology;
  if (element == "graphs") return FileKind::kNcclGraphs;
  if (element == "topology") return FileKind::kHwloc;
  if (looksLikeSmiMatrix(text)) return FileKind::kSmiMatrix;
  return isFabric(text) ? FileKind::kFabric : FileKind::kOther;
}

std::string unreadable(std::string_view text) {
  if (trimmed(text).empty()) return "is empty";
  if (text.find('\0') != text.npos) return "is a binary file";
  return "";
}

Host readHost(std::string_view text, const std::string& file) {
  if (const std::string reason = unreadable(text); !reason.empty()) refuse(file, 0, reason);
  switch (kindOfFile(text)) {
    case FileKind::kNcclTopology:
      return readNcclXml(text, file);
    case FileKind::kHwloc:
      return readHwlocXml(text, file);
    case FileKind::kSmiMatrix:
      return readSmiMatrix(text, file);
    case FileKind::kNcclGraphs:
      refuse(file, 0, "holds NCCL's graphs, which describe no machine; give a topology");
    case FileKind::kFabric:
      refuse(file, 0, "describes a fabric, not one host");
    case FileKind::kOther:
      break;
  }
  refuse(file, 0,
         "is no topology: known are NCCL's and RCCL's XML, hwloc's XML, nvidia-smi topo -m, and "
         "autoccl-fabric/1");
}

}  // namespace autoccl::topo
