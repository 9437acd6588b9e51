#include "agree/key_file.h"
#include "fuzz/fuzz.h"

// Any 16 to 4096 bytes are a key, always the same one; nothing else is.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace autoccl;
  static fuzz::InputFile file;
  const std::string& path = file.holding(bytes, size);
  const auto key = fuzz::accepted([&] { return readKeyFile(path); });
  fuzz::must(key.has_value() == (size >= 16 && size <= 4096));
  if (key) fuzz::must(readKeyFile(path) == *key);
  return 0;
}
