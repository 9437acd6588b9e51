#include "fuzz/fuzz.h"
#include "store/flight_recorder.h"

// Whatever the file, what is read of it are configs that have a text.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace autoccl;
  static fuzz::InputFile file;
  const auto last = FlightRecorder::read(file.holding(bytes, size));
  if (!last) return 0;
  for (const Config& config : *last) fuzz::must(parseConfig(toText(config)) == config);
  return 0;
}
