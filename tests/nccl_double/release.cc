#include "tests/nccl_double/release.h"

#include <cstdlib>
#include <limits>

namespace autoccl::nccl_double {
namespace {

int tunerOf(int version) {
  if (version < 21900) return 0;
  if (version < 22100) return 1;
  if (version < 22200) return 2;
  if (version < 22400) return 3;
  if (version < 22800) return 4;
  if (version < 23003) return 5;
  return version < 23200 ? 6 : 7;
}

int profilerOf(int version) {
  if (version < 22300) return 0;
  if (version < 22400) return 1;
  if (version < 22600) return 2;
  if (version < 22700) return 3;
  if (version < 22800) return 4;
  if (version < 22900) return 5;
  return version < 23100 ? 6 : 7;
}

int minTrafficOf(int version) {
  if (version < 22200) return 0;
  if (version < 22300) return 512;
  return version < 22900 ? 16 << 10 : 32 << 10;
}

Choice choiceOf(int version) {
  if (version < 22200) return Choice::kPair;
  return version < 23102 ? Choice::kSmallest : Choice::kSmallestEver;
}

}  // namespace

Release releaseOf(int version) {
  Release r;
  r.version = version;
  r.tunerNewest = tunerOf(version);
  // v1 and v2 were taken alone by their releases; later ones fall back as far as v2.
  r.tunerOldest = version < 22100 ? r.tunerNewest : 2;
  r.profilerNewest = profilerOf(version);
  r.envNewest = version < 22807 ? 0 : version < 23007 ? 1 : 2;
  r.tunerByDefaultName = r.prefixedName = version >= 22100;
  r.staticPlugin = version >= 22200;
  r.bareNamesOnly = version >= 22602 && version < 22705;
  r.choice = choiceOf(version);
  r.slowestUs = version < 22900 ? 3.6e9F : std::numeric_limits<float>::max();
  r.algorithms = version < 22300 ? 6 : 7;
  r.maxChannels = version < 22500 ? 32 : 64;
  r.minTrafficBytes = minTrafficOf(version);
  r.initInCaller = version >= 22800;
  r.kernelEvents = version >= 22600;
  r.gpuStamps = version >= 22700;
  r.simulate = version >= 22200;
  r.noCache = version >= 22907;
  r.efficiency = version >= 22700;
  r.symmetricProbe = r.channelsOnlyLower = r.patManyRanks = version >= 23102;
  return r;
}

const Release& release() {
  static const Release played = [] {
    const char* text = std::getenv("NCCL_DOUBLE_VERSION");
    return releaseOf(text != nullptr ? std::atoi(text) : 22809);
  }();
  return played;
}

}  // namespace autoccl::nccl_double
