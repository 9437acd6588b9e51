#include <cmath>

#include "base/settings.h"
#include "fuzz/fuzz.h"

// The first byte picks a variable, the rest is its value. What an option may set is what the
// environment may hold, and an allowed number or size has a value.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace autoccl;
  if (size == 0) return 0;
  const SettingRow& row = settingRows()[bytes[0] % settingRows().size()];
  const std::string name(row.name);
  const std::string value(fuzz::textOf(bytes + 1, size - 1).c_str());  // no NUL in a variable
  fuzz::must(setenv(name.c_str(), value.c_str(), 1) == 0);
  const auto found = fuzz::accepted([&] { return setting(name); });
  fuzz::must(value.empty() || found.has_value() == settingAllows(name, value));
  if (found && row.type == "number" && !found->value.empty())
    fuzz::must(std::isfinite(settingNumber(name)));
  if (found && row.type == "size" && !found->value.empty()) (void)settingSize(name);
  unsetenv(name.c_str());
  return 0;
}
