#include "store/config_json.h"

#include "base/error.h"

namespace autoccl {
namespace {

constexpr uint64_t kMaxRanks = 65536;

template <class E>
E readEnum(JsonFields& fields, std::string_view key) {
  const std::string word = fields.text(key);
  const auto value = fromText<E>(word);
  if (!value) fields.fail(key, "is no " + std::string(key) + ": '" + word + "'");
  return *value;
}

}  // namespace

Config readConfig(JsonFields& fields, std::string_view key) {
  const std::string text = fields.text(key);
  try {
    return parseConfig(text);
  } catch (const Error& error) {
    fields.fail(key, error.what());
  }
}

void writeTask(Json& object, const Task& task) {
  object.add("collective", toText(task.collective));
  object.add("dtype", toText(task.dtype));
  object.add("op", toText(task.op));
  object.add("ranks", task.nRanks);
  object.add("bytes", task.bytes);
  if (task.variant != 0) object.add("variant", task.variant);
}

Task readTask(JsonFields& fields) {
  Task task;
  task.collective = readEnum<Collective>(fields, "collective");
  task.dtype = readEnum<DataType>(fields, "dtype");
  task.op = readEnum<ReduceOp>(fields, "op");
  task.nRanks = static_cast<int>(fields.count("ranks", kMaxRanks));
  if (task.nRanks < 1) fields.fail("ranks", "is 0; allowed: 1 to 65536");
  task.bytes = fields.count("bytes");
  if (fields.has("variant"))
    task.variant = static_cast<uint32_t>(fields.count("variant", UINT32_MAX));
  return task;
}

std::string readWord(JsonFields& fields, std::string_view key, std::string_view allowed) {
  std::string word = fields.text(key);
  for (std::string_view rest = allowed;;) {
    const size_t bar = rest.find('|');
    if (rest.substr(0, bar) == word) return word;
    if (bar == std::string_view::npos) break;
    rest.remove_prefix(bar + 1);
  }
  fields.fail(key, "is '" + word + "'; allowed: " + std::string(allowed));
}

}  // namespace autoccl
