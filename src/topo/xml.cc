#include "topo/xml.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "topo/words.h"

namespace autoccl::topo {
namespace {

constexpr size_t kMostDepth = 64;

bool isBlank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
bool isName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == ':' || c == '.';
}

struct Entity {
  std::string_view name;
  char value;
};
constexpr std::array<Entity, 5> kEntities = {
    {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}}};

/// One pass over the text; open elements are on a stack, so depth costs no recursion.
class Parser {
 public:
  Parser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  XmlElement run() {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
    while (skipToMarkup()) markup();
    if (!open_.empty())
      refuse(file_, line_,
             "ends inside <" + open_.back().name + "> of line " +
                 std::to_string(open_.back().line) + ": the file is cut off");
    if (!done_) refuse(file_, 0, "has no XML element");
    return std::move(root_);
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const { refuse(file_, line_, reason); }
  [[noreturn]] void cutOff() const { fail("ends in the middle of a tag: the file is cut off"); }

  [[nodiscard]] bool atEnd() const { return at_ >= text_.size(); }
  [[nodiscard]] char here() const { return text_[at_]; }
  void step() {
    if (text_[at_] == '\n') ++line_;
    ++at_;
  }
  void skipBlanks() {
    while (!atEnd() && isBlank(here())) step();
  }
  /// Past the next `end`; the file is cut off where there is none.
  void skipPast(std::string_view end, const char* what) {
    const size_t found = text_.find(end, at_);
    if (found == text_.npos) fail(std::string(what) + " without end: the file is cut off");
    while (at_ < found + end.size()) step();
  }

  bool skipToMarkup() {
    while (!atEnd() && here() != '<') {
      if (open_.empty() && !isBlank(here())) fail("text outside of any element: this is no XML");
      step();
    }
    return !atEnd();
  }

  void markup() {
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("<!--")) return skipPast("-->", "a comment");
    if (rest.starts_with("<?")) return skipPast("?>", "a prolog");
    if (rest.starts_with("<!")) return skipPast(">", "a declaration");
    if (rest.starts_with("</")) return closing();
    opening();
  }

  std::string name() {
    const size_t from = at_;
    while (!atEnd() && isName(here())) ++at_;
    if (at_ == from) {
      if (atEnd()) cutOff();
      fail("a name is needed after '<' or between attributes");
    }
    return std::string(text_.substr(from, at_ - from));
  }

  void closing() {
    at_ += 2;
    const std::string closed = name();
    skipBlanks();
    if (atEnd()) cutOff();
    if (here() != '>') fail("'</" + closed + "' does not end in '>'");
    step();
    if (open_.empty()) fail("</" + closed + "> without <" + closed + ">");
    if (open_.back().name != closed)
      fail("</" + closed + "> where </" + open_.back().name + "> of line " +
           std::to_string(open_.back().line) + " is due");
    leave();
  }

  void opening() {
    if (done_) fail("a second element beside <" + root_.name + ">");
    XmlElement element;
    element.line = line_;
    ++at_;
    element.name = name();
    for (;;) {
      skipBlanks();
      if (atEnd()) cutOff();
      if (here() == '/' || here() == '>') break;
      attribute(element);
    }
    const bool single = here() == '/';
    if (single) step();
    if (atEnd()) cutOff();
    if (here() != '>') fail("'/' inside <" + element.name + "> is not followed by '>'");
    step();
    if (open_.size() >= kMostDepth) fail("nested deeper than " + std::to_string(kMostDepth));
    open_.push_back(std::move(element));
    if (single) leave();
  }

  void attribute(XmlElement& element) {
    std::string key = name();
    skipBlanks();
    if (atEnd()) cutOff();
    if (here() != '=') fail("attribute " + key + " has no value");
    step();
    skipBlanks();
    if (atEnd()) cutOff();
    const char quote = here();
    if (quote != '"' && quote != '\'') fail("the value of " + key + " is not in quotes");
    step();
    std::string value;
    while (!atEnd() && here() != quote) {
      if (here() == '<') fail("'<' inside the value of " + key + ": is a quote missing?");
      value += here() == '&' ? entity() : std::string(1, here());
      step();
    }
    if (atEnd()) cutOff();
    step();
    if (element.find(key) != nullptr) fail("attribute " + key + " stands twice");
    element.attributes.emplace_back(std::move(key), std::move(value));
  }

  /// The text of "&name;"; afterwards its ';' is the next character.
  std::string entity() {
    const size_t end = text_.find(';', at_);
    if (end == text_.npos || end - at_ > 10) fail("'&' that begins no entity");
    const std::string_view word = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end;
    for (const Entity& e : kEntities)
      if (e.name == word) return std::string(1, e.value);
    const bool hex = word.starts_with("#x");
    const auto digits = std::string(word.substr(hex ? 2 : std::min<size_t>(1, word.size())));
    const auto valid = hex ? "0123456789abcdefABCDEF" : "0123456789";
    if (!word.starts_with('#') || digits.empty() ||
        digits.find_first_not_of(valid) != std::string::npos)
      fail("unknown entity &" + std::string(word) + ";");
    return codePoint(std::strtoul(digits.c_str(), nullptr, hex ? 16 : 10));
  }

  [[nodiscard]] std::string codePoint(uint64_t c) const {
    if (c == 0 || c > 0x10ffff) fail("a character reference that is no character");
    const auto tail = [&](int shift) { return static_cast<char>(0x80 | (c >> shift & 0x3f)); };
    if (c < 0x80) return {static_cast<char>(c)};
    if (c < 0x800) return {static_cast<char>(0xc0 | c >> 6), tail(0)};
    if (c < 0x10000) return {static_cast<char>(0xe0 | c >> 12), tail(6), tail(0)};
    return {static_cast<char>(0xf0 | c >> 18), tail(12), tail(6), tail(0)};
  }

  void leave() {
    XmlElement element = std::move(open_.back());
    open_.pop_back();
    if (!open_.empty()) {
      open_.back().children.push_back(std::move(element));
      return;
    }
    root_ = std::move(element);
    done_ = true;
  }

  std::string_view text_;
  const std::string& file_;
  size_t at_ = 0;
  int line_ = 1;
  std::vector<XmlElement> open_;
  XmlElement root_;
  bool done_ = false;
};

}  // namespace

const std::string* XmlElement::find(std::string_view key) const {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const auto& a) { return a.first == key; });
  return found == attributes.end() ? nullptr : &found->second;
}

XmlElement parseXml(std::string_view text, const std::string& file) {
  return Parser(text, file).run();
}

std::string xmlEscaped(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += "&#10;";
        break;
      default:
        out += c;
    }
  return out;
}

}  // namespace autoccl::topo
