#include "store/json.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace autoccl {
namespace {

constexpr size_t kMaxDepth = 32;
constexpr size_t kColumns = 120;

/// Where the parser stands: the line of the last character it took. It looks one character ahead
/// behind a number, so a newline still counts to the line that it ends.
struct Place {
  int line = 1;
  bool afterNewline = false;
};

class PlacedIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  PlacedIterator(const char* at, Place* place) : at_(at), place_(place) {}
  reference operator*() const { return *at_; }
  PlacedIterator& operator++() {
    if (place_->afterNewline) ++place_->line;
    place_->afterNewline = *at_ == '\n';
    ++at_;
    return *this;
  }
  friend bool operator==(const PlacedIterator& a, const PlacedIterator& b) {
    return a.at_ == b.at_;
  }

 private:
  const char* at_;
  Place* place_;
};

/// Builds a Json from nlohmann's events; refuses what parseJson promises to refuse.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(const Place& place, const std::string& fileName) : place_(place), file_(fileName) {}

  bool null() override { return put(Json()); }
  bool boolean(bool v) override { return put(Json(v)); }
  bool number_integer(number_integer_t v) override { return put(Json(v)); }
  bool number_unsigned(number_unsigned_t v) override { return put(Json(v)); }
  bool number_float(number_float_t v, const string_t&) override { return put(Json(v)); }
  bool string(string_t& v) override { return put(Json(v)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::list()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& v) override {
    if (open_.back().value.find(v)) failAt(file_, place_.line, "\"" + v + "\" stands twice");
    open_.back().key = v;
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception& e) override {
    const std::string text = e.what();
    const size_t cause = text.find(": ");
    failAt(file_, place_.line, "no JSON: " + (cause == text.npos ? text : text.substr(cause + 2)));
  }
  [[nodiscard]] Json take() { return std::move(root_); }

 private:
  struct Open {
    Json value;
    std::string key;
  };

  bool open(Json value) {
    if (open_.size() >= kMaxDepth)
      failAt(file_, place_.line, "nested deeper than " + std::to_string(kMaxDepth));
    value.setLine(place_.line);
    open_.push_back({std::move(value), ""});
    return true;
  }
  bool close() {
    Json value = std::move(open_.back().value);
    open_.pop_back();
    return attach(std::move(value));
  }
  bool put(Json value) {
    value.setLine(place_.line);
    return attach(std::move(value));
  }
  bool attach(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return true;
    }
    Open& parent = open_.back();
    if (parent.value.kind() == Json::Kind::kObject)
      parent.value.add(parent.key, std::move(value));
    else
      parent.value.add(std::move(value));
    return true;
  }

  const Place& place_;
  const std::string& file_;
  std::vector<Open> open_;
  Json root_;
};

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string numberText(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", v);
  return text;
}

bool isNumber(Json::Kind k) {
  return k == Json::Kind::kNumber || k == Json::Kind::kUnsigned;
}
bool isUnsigned(Json::Kind k) {
  return k == Json::Kind::kUnsigned;
}
bool isText(Json::Kind k) {
  return k == Json::Kind::kText;
}
bool isList(Json::Kind k) {
  return k == Json::Kind::kList;
}
bool isObject(Json::Kind k) {
  return k == Json::Kind::kObject;
}

}  // namespace

Json::Json(double v) : kind_(Kind::kNumber), number_(std::isfinite(v) ? v : 0) {}

Json& Json::add(std::string_view key, Json value) {
  keys_.emplace_back(key);
  items_.push_back(std::move(value));
  return *this;
}

Json& Json::add(Json value) {
  items_.push_back(std::move(value));
  return *this;
}

double Json::number() const {
  return kind_ == Kind::kUnsigned ? static_cast<double>(unsigned_) : number_;
}

const Json* Json::find(std::string_view key) const {
  const auto at = std::find(keys_.begin(), keys_.end(), key);
  return at == keys_.end() ? nullptr : &items_[static_cast<size_t>(at - keys_.begin())];
}

std::string Json::compact() const {
  std::string out;
  writeFlat(out);
  return out;
}

std::string Json::pretty() const {
  std::string out;
  writeInto(out, 0);
  out += '\n';
  return out;
}

void Json::writeFlat(std::string& out) const {
  switch (kind_) {
    case Kind::kNull:
      out += "null";
      return;
    case Kind::kBool:
      out += unsigned_ ? "true" : "false";
      return;
    case Kind::kUnsigned:
      out += std::to_string(unsigned_);
      return;
    case Kind::kNumber:
      out += numberText(number_);
      return;
    case Kind::kText:
      out += quoted(text_);
      return;
    case Kind::kList:
    case Kind::kObject:
      break;
  }
  const bool object = kind_ == Kind::kObject;
  out += object ? '{' : '[';
  for (size_t i = 0; i < items_.size(); ++i) {
    if (i) out += ", ";
    if (object) out += quoted(keys_[i]) + ": ";
    items_[i].writeFlat(out);
  }
  out += object ? '}' : ']';
}

void Json::writeInto(std::string& out, size_t indent) const {
  std::string flat;
  writeFlat(flat);
  if (items_.empty() || indent + flat.size() <= kColumns) {
    out += flat;
    return;
  }
  const bool object = kind_ == Kind::kObject;
  const std::string margin(indent + 2, ' ');
  out += object ? "{\n" : "[\n";
  for (size_t i = 0; i < items_.size(); ++i) {
    out += margin;
    if (object) out += quoted(keys_[i]) + ": ";
    items_[i].writeInto(out, indent + 2);
    out += i + 1 < items_.size() ? ",\n" : "\n";
  }
  out += std::string(indent, ' ') + (object ? "}" : "]");
}

void failAt(const std::string& fileName, int line, const std::string& reason) {
  throw Error(ErrorCode::kInput, fileName + ":" + std::to_string(line) + ": " + reason);
}

Json parseJson(std::string_view text, const std::string& fileName) {
  Place place;
  Builder builder(place, fileName);
  const PlacedIterator first(text.data(), &place), last(text.data() + text.size(), &place);
  if (!nlohmann::json::sax_parse(first, last, &builder)) failAt(fileName, place.line, "no JSON");
  return builder.take();
}

JsonFields::JsonFields(const Json& object, std::string_view what, const std::string& fileName)
    : object_(object), what_(what), file_(fileName) {
  if (object.kind() != Json::Kind::kObject)
    failAt(fileName, object.line(), what_ + " is no object");
}

const Json& JsonFields::need(std::string_view key, bool rightKind(Json::Kind),
                             const char* kindName) {
  asked_.push_back(key);
  const Json* value = object_.find(key);
  if (value == nullptr) fail(key, "is missing");
  if (!rightKind(value->kind())) fail(key, std::string("is no ") + kindName);
  return *value;
}

bool JsonFields::has(std::string_view key) const {
  return object_.find(key) != nullptr;
}

double JsonFields::number(std::string_view key, double low, double high) {
  const double v = need(key, isNumber, "number").number();
  if (!(v >= low && v <= high))
    fail(key, "is " + numberText(v) + "; allowed: " + numberText(low) + " to " + numberText(high));
  return v;
}

uint64_t JsonFields::count(std::string_view key, uint64_t high) {
  const uint64_t v = need(key, isUnsigned, "whole number").unsignedValue();
  if (v > high) fail(key, "is " + std::to_string(v) + "; allowed: 0 to " + std::to_string(high));
  return v;
}

std::string JsonFields::text(std::string_view key) {
  return need(key, isText, "text").text();
}

const std::vector<Json>& JsonFields::list(std::string_view key) {
  return need(key, isList, "list").items();
}

const Json& JsonFields::object(std::string_view key) {
  return need(key, isObject, "object");
}

void JsonFields::done() const {
  for (const std::string& key : object_.keys())
    if (std::find(asked_.begin(), asked_.end(), key) == asked_.end())
      fail(key, "is not known in this version");
}

void JsonFields::fail(std::string_view key, const std::string& reason) const {
  const Json* value = object_.find(key);
  failAt(file_, value ? value->line() : object_.line(),
         what_ + ": \"" + std::string(key) + "\" " + reason);
}

}  // namespace autoccl
