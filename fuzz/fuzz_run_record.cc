#include "fuzz/fuzz.h"
#include "store/run_record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace autoccl;
  const auto read = [](const std::string& text) { return readRunRecord(text, "fuzz"); };
  fuzz::readBack(read, writeRunRecord, fuzz::textOf(bytes, size));
  return 0;
}
