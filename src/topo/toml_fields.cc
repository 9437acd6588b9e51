#include "topo/toml_fields.h"

#include <algorithm>
#include <cstdio>

#include "topo/words.h"

namespace autoccl::topo {
namespace {

using Kind = TomlValue::Kind;

std::string shortText(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", v);
  return text;
}

}  // namespace

void TomlFields::fail(std::string_view key, const std::string& reason) const {
  const TomlValue* value = table_.find(key);
  refuse(file_, value ? value->line : table_.line, what_ + ": " + std::string(key) + " " + reason);
}

const TomlValue& TomlFields::need(std::string_view key, Kind kind, const char* kindName) {
  asked_.push_back(key);
  const TomlValue* value = table_.find(key);
  if (value == nullptr) fail(key, "is missing");
  const bool whole = kind == Kind::kNumber && value->kind == Kind::kInteger;
  if (value->kind != kind && !whole) fail(key, std::string("is not ") + kindName);
  return *value;
}

int TomlFields::whole(std::string_view key, int low, int high) {
  const TomlValue& value = need(key, Kind::kInteger, "a whole number");
  if (value.integer < low || value.integer > high)
    fail(key, "is " + std::to_string(value.integer) + "; allowed are " + std::to_string(low) +
                  " to " + std::to_string(high));
  return static_cast<int>(value.integer);
}

double TomlFields::number(std::string_view key, double low, double high) {
  const TomlValue& value = need(key, Kind::kNumber, "a number");
  if (!(value.number >= low && value.number <= high))
    fail(key, "is " + shortText(value.number) + "; allowed are " + shortText(low) + " to " +
                  shortText(high));
  return value.number;
}

std::string TomlFields::text(std::string_view key) {
  return need(key, Kind::kText, "a text in quotes").text;
}

bool TomlFields::flag(std::string_view key) {
  return need(key, Kind::kFlag, "true or false").flag;
}

std::vector<std::string> TomlFields::texts(std::string_view key) {
  std::vector<std::string> all;
  for (const TomlValue& item : need(key, Kind::kList, "a list").items) {
    if (item.kind != Kind::kText) fail(key, "holds something that is no text");
    all.push_back(item.text);
  }
  return all;
}

const TomlValue& TomlFields::table(std::string_view key) {
  return need(key, Kind::kTable, "a table");
}

std::vector<const TomlValue*> TomlFields::tables(std::string_view key) {
  std::vector<const TomlValue*> all;
  if (!has(key)) {
    asked_.push_back(key);
    return all;
  }
  for (const TomlValue& item : need(key, Kind::kList, "a list of tables").items) {
    if (item.kind != Kind::kTable) fail(key, "holds something that is no table");
    all.push_back(&item);
  }
  return all;
}

void TomlFields::done() const {
  std::string known;
  for (const std::string_view key : asked_) known += (known.empty() ? "" : ", ") + std::string(key);
  for (const auto& [key, value] : table_.members)
    if (std::ranges::find(asked_, key) == asked_.end())
      refuse(file_, value.line, what_ + ": '" + key + "' is not known; known here are " + known);
}

}  // namespace autoccl::topo
