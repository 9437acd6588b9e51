// JSON values for our own files: what is read knows its line, what is written is for people too.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace autoccl {

/// One JSON value. Objects keep the order of their members. A value that was read knows the line it
/// ended on (1, 2, …), so that an error can name it. Numbers keep 64-bit unsigned integers exact.
/// Thread-compatible; copying is deep.
class Json {
 public:
  enum class Kind { kNull, kBool, kUnsigned, kNumber, kText, kList, kObject };

  Json() = default;
  Json(bool v) : kind_(Kind::kBool), unsigned_(v) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) Json(T v) : kind_(v < 0 ? Kind::kNumber : Kind::kUnsigned) {
    if (v < 0)
      number_ = static_cast<double>(v);
    else
      unsigned_ = static_cast<uint64_t>(v);
  }
  /// A number that is not finite has no JSON form and becomes 0, which our files read as unknown.
  Json(double v);
  Json(std::string v) : kind_(Kind::kText), text_(std::move(v)) {}
  Json(std::string_view v) : Json(std::string(v)) {}
  Json(const char* v) : Json(std::string(v)) {}
  [[nodiscard]] static Json list() { return Json(Kind::kList); }
  [[nodiscard]] static Json object() { return Json(Kind::kObject); }

  /// Appends a member to an object, an item to a list. Returns the value added to.
  Json& add(std::string_view key, Json value);
  Json& add(Json value);

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] int line() const { return line_; }
  void setLine(int line) { line_ = line; }
  [[nodiscard]] bool flag() const { return unsigned_ != 0; }
  [[nodiscard]] uint64_t unsignedValue() const { return unsigned_; }
  [[nodiscard]] double number() const;
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::vector<Json>& items() const { return items_; }
  [[nodiscard]] const std::vector<std::string>& keys() const { return keys_; }
  /// The member's value, or nullptr.
  [[nodiscard]] const Json* find(std::string_view key) const;

  /// Indented by two; a value that fits into 120 columns stands on one line. Ends in a newline.
  [[nodiscard]] std::string pretty() const;
  [[nodiscard]] std::string compact() const;

 private:
  explicit Json(Kind kind) : kind_(kind) {}
  void writeInto(std::string& out, size_t indent) const;
  void writeFlat(std::string& out) const;

  Kind kind_ = Kind::kNull;
  int line_ = 0;
  uint64_t unsigned_ = 0;
  double number_ = 0;
  std::string text_;
  std::vector<std::string> keys_;  // of an object, one for each item
  std::vector<Json> items_;
};

/// Parses a whole document. Throws Error (kInput) "file:line: reason" for anything else: trailing
/// text, a key twice, depth above 32, a number outside double's range, bad UTF-8.
[[nodiscard]] Json parseJson(std::string_view text, const std::string& fileName);

/// Reads one object's members strictly: each must be there, of its kind and inside its range, and
/// none may be left over (done()). Errors are "file:line: reason".
class JsonFields {
 public:
  JsonFields(const Json& object, std::string_view what, const std::string& fileName);

  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] double number(std::string_view key, double low = 0, double high = 1e300);
  [[nodiscard]] uint64_t count(std::string_view key, uint64_t high = UINT64_MAX);
  [[nodiscard]] std::string text(std::string_view key);
  [[nodiscard]] const std::vector<Json>& list(std::string_view key);
  [[nodiscard]] const Json& object(std::string_view key);
  /// Throws if the object has a member that nothing asked for.
  void done() const;
  /// An error at the member `key` (or the object, if it is not there).
  [[noreturn]] void fail(std::string_view key, const std::string& reason) const;

 private:
  const Json& need(std::string_view key, bool rightKind(Json::Kind), const char* kindName);

  const Json& object_;
  std::string what_;
  std::string file_;
  std::vector<std::string_view> asked_;
};

/// Error (kInput) with the text "file:line: reason".
[[noreturn]] void failAt(const std::string& fileName, int line, const std::string& reason);

}  // namespace autoccl
