// The part of XML that topology files use, read strictly.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace autoccl::topo {

using Attributes = std::vector<std::pair<std::string, std::string>>;

struct XmlElement {
  std::string name;
  int line = 0;  // of its '<'
  Attributes attributes;
  std::vector<XmlElement> children;

  /// The attribute's value, or null. The first of two with one name.
  [[nodiscard]] const std::string* find(std::string_view key) const;
};

/// The root element. Comments, a prolog, a DOCTYPE line and text between elements are passed over;
/// the five named entities and character references are resolved. Throws Error "file:line: reason"
/// for anything else: no element, an end that does not fit, a file that stops in the middle (with
/// the element that is open), an attribute twice, nested deeper than 64. O(bytes).
[[nodiscard]] XmlElement parseXml(std::string_view text, const std::string& file);

/// Text with &, <, >, " and line ends as entities.
[[nodiscard]] std::string xmlEscaped(std::string_view text);

}  // namespace autoccl::topo
