#include "fuzz/fuzz.h"
#include "store/profile.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace autoccl;
  const auto read = [](const std::string& text) { return readProfile(text, "fuzz"); };
  fuzz::readBack(read, writeProfile, fuzz::textOf(bytes, size));
  return 0;
}
