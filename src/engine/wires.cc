#include "engine/wires.h"

namespace autoccl {

size_t wireBytes(int) noexcept { return 0; }

}  // namespace autoccl
