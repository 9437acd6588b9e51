#include "topo/nccl_scan.h"

#include <algorithm>
#include <array>

namespace autoccl::topo {
namespace {

constexpr size_t kMostText = 254, kMostAttributes = 16, kMostChildren = 640, kMostDepth = 256;

/// Which elements it looks for inside which; it passes over others with all that is in them.
struct Nesting {
  std::string_view parent, child;
  bool rcclOnly = false;
};
constexpr std::array<Nesting, 12> kNesting = {{{"", "system"},
                                               {"system", "cpu"},
                                               {"cpu", "pci"},
                                               {"cpu", "nic"},
                                               {"pci", "pci"},
                                               {"pci", "gpu"},
                                               {"pci", "nic"},
                                               {"pci", "pcilink"},
                                               {"gpu", "nvlink"},
                                               {"gpu", "c2c"},
                                               {"nic", "net"},
                                               {"gpu", "xgmi", true}}};

struct Stop {  // thrown and caught in this file alone
  std::string reason;
};

class Scanner {
 public:
  Scanner(std::string_view text, bool rccl) : text_(text), rccl_(rccl) {}

  NcclScan run() {
    NcclScan scan;
    try {
      children(scan.root, true, 0);
    } catch (const Stop& stop) {
      scan.fault = stop.reason;
      scan.faultLine = line_;
    }
    scan.kept = kept_;
    return scan;
  }

 private:
  enum class Tag : uint8_t { kEnd, kOpen, kClose, kSingle };

  char get() {
    if (at_ >= text_.size()) throw Stop{"the file ends in the middle of a tag"};
    if (text_[at_] == '\n') ++line_;
    return text_[at_++];
  }

  std::string value(char& last) {
    const char quote = get();
    if (quote != '"' && quote != '\'') throw Stop{"a value is not in quotes"};
    std::string out;
    for (char c = get(); c != quote; c = get()) {
      out += c;
      if (out.size() > kMostText) throw Stop{"a value is longer than 254 characters"};
    }
    last = get();
    return out;
  }

  /// A name; with `into` a value may follow. `last` is the character behind.
  std::string token(std::string* into, char& last) {
    std::string name;
    for (;;) {
      const char c = get();
      if (c == '=') {
        if (into == nullptr) throw Stop{"'=' inside a name, or the first word of a comment"};
        *into = value(last);
        return name;
      }
      if (c == ' ' || c == '>' || c == '/' || c == '\n' || c == '\r') {
        last = c;
        return name;
      }
      name += c;
      if (name.size() > kMostText) throw Stop{"a name is longer than 254 characters"};
    }
  }

  void comment(const std::string& begun, char last) {
    std::string end = "...";
    const auto push = [&](char c) {
      end.erase(0, 1);
      end += c;
    };
    for (const char c : begun) push(c);
    push(last);
    while (end != "-->") push(get());
  }

  Tag tag(XmlElement& element) {
    for (;;) {
      while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r'))
        (void)get();
      if (at_ >= text_.size()) return Tag::kEnd;
      element.line = line_;
      if (const char c = get(); c != '<')
        throw Stop{c == '\t' ? "a tab between elements; blanks alone are passed over"
                             : "text between elements"};
      char last = 0;
      element.name = token(nullptr, last);
      if (!element.name.starts_with("!--")) return rest(element, last);
      comment(element.name.substr(3), last);
    }
  }

  Tag rest(XmlElement& element, char last) {
    if (element.name.empty() && last == '/') {
      element.name = token(nullptr, last);
      if (last != '>') throw Stop{"</" + element.name + " does not end in '>'"};
      return Tag::kClose;
    }
    while (last == ' ') {
      std::string text;
      std::string key = token(&text, last);
      if (element.attributes.size() < kMostAttributes)
        element.attributes.emplace_back(std::move(key), std::move(text));
    }
    Tag kind = Tag::kOpen;
    if (last == '/') {
      kind = Tag::kSingle;
      (void)token(nullptr, last);
    }
    if (last != '>')
      throw Stop{last == '?' ? "a prolog (<?xml …?>)"
                             : "a line end or tab between the attributes of <" + element.name +
                                   ">, or something else than '>' at its end"};
    return kind;
  }

  [[nodiscard]] bool known(const XmlElement& parent, const XmlElement& child) const {
    return std::ranges::any_of(kNesting, [&](const Nesting& n) {
      return n.parent == parent.name && n.child == child.name && (!n.rcclOnly || rccl_);
    });
  }

  void children(XmlElement& parent, bool keep, size_t depth) {
    if (depth > kMostDepth) throw Stop{"elements are nested deeper than 256"};
    for (;;) {
      if (kept_ > kNcclMostElements) throw Stop{"more than 255 elements"};
      XmlElement child;
      const Tag kind = tag(child);
      if (kind == Tag::kEnd) {
        if (depth > 0) throw Stop{"<" + parent.name + "> is never closed"};
        return;
      }
      if (kind == Tag::kClose && depth > 0) {
        if (child.name != parent.name)
          throw Stop{"</" + child.name + "> where </" + parent.name + "> is due"};
        return;
      }
      const bool kept = keep && known(parent, child);
      if (kept) ++kept_;
      if (kept && depth > 0 && parent.children.size() == kMostChildren)
        throw Stop{"more than 640 elements inside <" + parent.name + ">"};
      if (kind != Tag::kSingle) children(child, kept, depth + 1);
      if (kept) parent.children.push_back(std::move(child));
    }
  }

  std::string_view text_;
  bool rccl_;
  size_t at_ = 0;
  int line_ = 1;
  int kept_ = 0;
};

}  // namespace

NcclScan scanAsNccl(std::string_view text, bool rccl) {
  return Scanner(text, rccl).run();
}

}  // namespace autoccl::topo
