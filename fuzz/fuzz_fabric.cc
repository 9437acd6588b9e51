#include "fuzz/fuzz.h"
#include "topo/fabric.h"
#include "topo/platform.h"
#include "topo/toml.h"

// TOML, fabrics and platforms: read or refused with a reason; a fabric's text is read back as the
// same.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace autoccl;
  const std::string text = fuzz::textOf(bytes, size);
  (void)fuzz::accepted([&] { return topo::parseToml(text, "f"); });
  (void)fuzz::accepted([&] { return topo::readPlatform(text, "f"); });
  fuzz::readBack([](const std::string& t) { return topo::readFabric(t, "f"); }, topo::writeFabric,
                 text);
  return 0;
}
