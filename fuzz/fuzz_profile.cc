#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "store/profile.h"

// Whatever the bytes, the reader throws Error or gives a profile that can be written and read
// again: an Error from the second reading is a fault.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  std::optional<autoccl::Profile> profile;
  try {
    profile = autoccl::readProfile(std::string(reinterpret_cast<const char*>(bytes), size), "fuzz");
  } catch (const autoccl::Error&) {
    return 0;
  }
  (void)autoccl::readProfile(autoccl::writeProfile(*profile), "again");
  return 0;
}
