#include "cli/sizes.h"
#include "fuzz/fuzz.h"
#include "model/config.h"

// One size, then a list of sizes and ranges, which never grows beyond what its words can name.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace autoccl;
  const std::string text = fuzz::textOf(bytes, size);
  const auto read = [](const std::string& t) { return parseBytes(t, "fuzz"); };
  fuzz::readBack(read, bytesText, text);
  const auto sizes = fuzz::accepted([&] { return cli::sizesFrom(text); });
  if (!sizes) return 0;
  fuzz::must(!sizes->empty() && sizes->size() <= 34 * (size + 1));
  for (const uint64_t s : *sizes) fuzz::must(s > 0 && s <= uint64_t{1} << 33);
  return 0;
}
