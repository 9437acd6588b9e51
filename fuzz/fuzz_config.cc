#include "fuzz/fuzz.h"
#include "model/config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace autoccl;
  const auto read = [](const std::string& text) { return parseConfig(text); };
  const auto write = [](const Config& config) { return toText(config); };
  const auto config = fuzz::readBack(read, write, fuzz::textOf(bytes, size));
  if (config) fuzz::must(wellFormed(*config) && parseConfig(toText(*config)) == *config);
  return 0;
}
