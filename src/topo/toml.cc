#include "topo/toml.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "topo/words.h"

namespace autoccl::topo {
namespace {

constexpr int kMostDepth = 32;
using Kind = TomlValue::Kind;

bool isBare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  TomlValue run() {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
    table_ = &root_;
    for (skipLines(); !atEnd(); skipLines()) {
      if (here() == '[')
        header();
      else
        keyValue(*table_);
      endOfLine();
    }
    return std::move(root_);
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const { refuse(file_, line_, reason); }
  [[nodiscard]] bool atEnd() const { return at_ >= text_.size(); }
  [[nodiscard]] char here() const { return atEnd() ? '\0' : text_[at_]; }

  void skipBlanks() {
    while (!atEnd() && (here() == ' ' || here() == '\t')) ++at_;
  }
  void skipComment() {
    if (here() == '#')
      while (!atEnd() && here() != '\n') ++at_;
  }
  /// Blanks, comments and ends of lines.
  void skipLines() {
    for (;;) {
      skipBlanks();
      skipComment();
      if (here() == '\r' && text_.substr(at_).starts_with("\r\n")) ++at_;
      if (atEnd() || here() != '\n') return;
      ++line_;
      ++at_;
    }
  }
  void endOfLine() {
    skipBlanks();
    skipComment();
    if (here() == '\r') ++at_;
    if (!atEnd() && here() != '\n') fail("text behind the value");
  }

  std::string key() {
    skipBlanks();
    if (here() == '"' || here() == '\'') return quoted();
    const size_t from = at_;
    while (!atEnd() && isBare(here())) ++at_;
    if (at_ == from) fail("a key is needed");
    return std::string(text_.substr(from, at_ - from));
  }
  std::vector<std::string> dottedKey() {
    std::vector<std::string> keys{key()};
    for (skipBlanks(); here() == '.'; skipBlanks()) {
      ++at_;
      keys.push_back(key());
      if (keys.size() > kMostDepth) fail("nested deeper than " + std::to_string(kMostDepth));
    }
    return keys;
  }

  /// The table below `parent` under this key: made where it is not there, the last one of a list.
  TomlValue& child(TomlValue& parent, const std::string& name) {
    for (auto& [k, value] : parent.members) {
      if (k != name) continue;
      TomlValue& found =
          value.kind == Kind::kList && !value.items.empty() ? value.items.back() : value;
      if (found.kind != Kind::kTable || found.closed || value.closed)
        fail("'" + name + "' of line " + std::to_string(value.line) + " is no table to add to");
      return found;
    }
    TomlValue made;
    made.line = line_;
    parent.members.push_back({name, std::move(made)});
    return parent.members.back().value;
  }

  void header() {
    ++at_;
    const bool list = here() == '[';
    if (list) ++at_;
    const std::vector<std::string> keys = dottedKey();
    skipBlanks();
    const std::string_view end = list ? "]]" : "]";
    if (!text_.substr(at_).starts_with(end))
      fail("the header does not end in '" + std::string(end) + "'");
    at_ += end.size();
    TomlValue* parent = &root_;
    for (size_t i = 0; i + 1 < keys.size(); ++i) parent = &child(*parent, keys[i]);
    table_ = list ? &appended(*parent, keys.back()) : &opened(*parent, keys.back());
  }

  TomlValue& opened(TomlValue& parent, const std::string& name) {
    const TomlValue* known = parent.find(name);
    if (known != nullptr && known->kind == Kind::kList)
      fail("'" + name + "' is a list since line " + std::to_string(known->line) + "; write [[" +
           name + "]]");
    TomlValue& table = child(parent, name);
    if (table.headed)
      fail("[" + name + "] stands twice; first in line " + std::to_string(table.line));
    table.headed = true;
    return table;
  }

  TomlValue& appended(TomlValue& parent, const std::string& name) {
    for (auto& [k, value] : parent.members)
      if (k == name) {
        if (value.kind != Kind::kList || value.closed)
          fail("[[" + name + "]] is no list of tables in line " + std::to_string(value.line));
        return added(value);
      }
    TomlValue made;
    made.kind = Kind::kList;
    made.line = line_;
    parent.members.push_back({name, std::move(made)});
    return added(parent.members.back().value);
  }
  TomlValue& added(TomlValue& list) {
    list.items.emplace_back();
    list.items.back().line = line_;
    return list.items.back();
  }

  void keyValue(TomlValue& table) {
    const std::vector<std::string> keys = dottedKey();
    if (here() != '=') fail("'=' is needed behind the key " + keys.back());
    ++at_;
    TomlValue* parent = &table;
    for (size_t i = 0; i + 1 < keys.size(); ++i) parent = &child(*parent, keys[i]);
    if (const TomlValue* known = parent->find(keys.back()))
      fail("'" + keys.back() + "' stands twice; first in line " + std::to_string(known->line));
    TomlValue read = value(0);
    parent->members.push_back({keys.back(), std::move(read)});
  }

  TomlValue value(int depth) {
    skipBlanks();
    if (depth > kMostDepth) fail("nested deeper than " + std::to_string(kMostDepth));
    TomlValue v;
    v.line = line_;
    v.closed = true;
    if (here() == '"' || here() == '\'') {
      v.kind = Kind::kText;
      v.text = quoted();
    } else if (here() == '[') {
      v.kind = Kind::kList;
      list(v, depth);
    } else if (here() == '{') {
      v.kind = Kind::kTable;
      inlineTable(v, depth);
    } else {
      scalar(v);
    }
    return v;
  }

  void list(TomlValue& v, int depth) {
    ++at_;
    for (skipLines(); here() != ']'; skipLines()) {
      if (atEnd()) fail("the list of line " + std::to_string(v.line) + " has no ']'");
      v.items.push_back(value(depth + 1));
      skipLines();
      if (here() == ',')
        ++at_;
      else if (here() != ']')
        fail("',' or ']' is needed in a list");
    }
    ++at_;
  }

  void inlineTable(TomlValue& v, int depth) {
    ++at_;
    for (skipBlanks(); here() != '}'; skipBlanks()) {
      const std::string name = key();
      skipBlanks();
      if (here() != '=') fail("'=' is needed behind the key " + name);
      ++at_;
      if (v.find(name)) fail("'" + name + "' stands twice");
      TomlValue read = value(depth + 1);
      v.members.push_back({name, std::move(read)});
      skipBlanks();
      if (here() == ',')
        ++at_;
      else if (here() != '}')
        fail("',' or '}' is needed in an inline table, on its line");
    }
    ++at_;
  }

  std::string quoted() {
    const char quote = here();
    if (text_.substr(at_).starts_with(std::string(3, quote)))
      fail("strings over several lines are not read");
    ++at_;
    std::string out;
    for (; here() != quote; ++at_) {
      if (atEnd() || here() == '\n') fail("a string without end");
      if (quote == '"' && here() == '\\')
        out += escape();
      else
        out += here();
    }
    ++at_;
    return out;
  }
  char escape() {
    ++at_;
    constexpr std::string_view kLetters = "bfnrt\"\\", kValues = "\b\f\n\r\t\"\\";
    const size_t which = kLetters.find(here());
    if (which == kLetters.npos || atEnd()) fail("an escape that is not known");
    return kValues[which];
  }

  void scalar(TomlValue& v) {
    const size_t from = at_;
    while (!atEnd() && (isBare(here()) || here() == '+' || here() == '.' || here() == ':')) ++at_;
    const std::string_view word = text_.substr(from, at_ - from);
    if (word == "true" || word == "false") {
      v.kind = Kind::kFlag;
      v.flag = word == "true";
      return;
    }
    std::string digits;
    for (const char c : word)
      if (c != '_') digits += c;
    if (digits.starts_with('+')) digits.erase(0, 1);
    if (const auto whole = wholeNumber(digits)) {
      v.kind = Kind::kInteger;
      v.integer = *whole;
      v.number = static_cast<double>(*whole);
      return;
    }
    const char* const end = digits.data() + digits.size();
    const auto [at, error] = std::from_chars(digits.data(), end, v.number);
    if (digits.empty() || error != std::errc() || at != end || !std::isfinite(v.number))
      fail("'" + std::string(word) + "' is no value; text needs quotes");
    v.kind = Kind::kNumber;
  }

  std::string_view text_;
  const std::string& file_;
  size_t at_ = 0;
  int line_ = 1;
  TomlValue root_;
  TomlValue* table_ = nullptr;
};

}  // namespace

const TomlValue* TomlValue::find(std::string_view key) const {
  const auto found = std::find_if(members.begin(), members.end(),
                                  [&](const TomlMember& member) { return member.key == key; });
  return found == members.end() ? nullptr : &found->value;
}

TomlValue parseToml(std::string_view text, const std::string& file) {
  return Parser(text, file).run();
}

}  // namespace autoccl::topo
