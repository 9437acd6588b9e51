// Takes an element's attributes one by one; what nobody asked for is left over.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>

#include "topo/words.h"
#include "topo/xml.h"

namespace autoccl::topo {

class AttributeTaker {
 public:
  AttributeTaker(const XmlElement& element, const std::string& file)
      : element_(element), file_(file), rest_(element.attributes) {}

  /// True if it is there.
  bool text(std::string_view key, std::string& into) {
    for (auto at = rest_.begin(); at != rest_.end(); ++at)
      if (at->first == key) {
        into = at->second;
        rest_.erase(at);
        return true;
      }
    return false;
  }
  /// Decimal or 0x…; an empty text leaves `into` as it is. Throws Error for anything else.
  template <std::integral T>
  bool number(std::string_view key, T& into) {
    std::string value;
    if (!text(key, value)) return false;
    if (trimmed(value).empty()) return true;
    const auto plain = wholeNumber(trimmed(value));
    const bool hex = value.starts_with("0x") && value.size() > 2 &&
                     value.find_first_not_of("0123456789abcdefABCDEF", 2) == value.npos;
    const int64_t read = hex ? numberAsC(value) : plain.value_or(0);
    if ((!plain && !hex) || !std::in_range<T>(read))
      refuse(file_, element_.line,
             std::string(key) + " of <" + element_.name + "> is '" + value +
                 "', which is no number of its range");
    into = static_cast<T>(read);
    return true;
  }
  [[nodiscard]] Attributes rest() const { return rest_; }

 private:
  const XmlElement& element_;
  const std::string& file_;
  Attributes rest_;
};

}  // namespace autoccl::topo
