#include "fuzz/fuzz.h"
#include "tune/journal.h"

// A journal that can be read can be read wherever it was cut: it is read after crashes.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace autoccl;
  const auto read = [](const std::string& text) { return parseJournal(text, "fuzz"); };
  const std::string text = fuzz::textOf(bytes, size);
  if (fuzz::readBack(read, formatJournal, text)) (void)read(text.substr(0, size / 2));
  return 0;
}
