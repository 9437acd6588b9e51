#!/usr/bin/env python3
"""Makes the source that carries the GPU kernels' bytes.

usage: embed_image.py OUT.cc [KERNELS]    without KERNELS: an image that is empty
Exit 0 when written, 2 on a bad call.
"""
import pathlib
import sys

SOURCE = """// Made by scripts/embed_image.py.
#include "direct/image.h"

namespace autoccl::direct {{

{body}

}}  // namespace autoccl::direct
"""
EMPTY = "std::span<const std::byte> embeddedImage() noexcept {\n  return {};\n}"
# The assembler takes the file in whole; a C array of some megabytes would take the compiler minutes.
FILLED = """__asm__(
    ".section .rodata.autoccl_kernels,\\"a\\",@progbits\\n"
    ".balign 64\\n"
    ".hidden autoccl_kernels_begin\\n.global autoccl_kernels_begin\\n"
    "autoccl_kernels_begin:\\n"
    ".incbin \\"{path}\\"\\n"
    ".hidden autoccl_kernels_end\\n.global autoccl_kernels_end\\n"
    "autoccl_kernels_end:\\n"
    ".previous\\n");
extern "C" {{
extern const std::byte autoccl_kernels_begin[] __attribute__((visibility("hidden")));
extern const std::byte autoccl_kernels_end[] __attribute__((visibility("hidden")));
}}

std::span<const std::byte> embeddedImage() noexcept {{
  return {{autoccl_kernels_begin, static_cast<size_t>(autoccl_kernels_end - autoccl_kernels_begin)}};
}}"""


def main() -> int:
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    body = EMPTY if len(sys.argv) == 2 else FILLED.format(path=pathlib.Path(sys.argv[2]).resolve())
    out = pathlib.Path(sys.argv[1])
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(SOURCE.format(body=body), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
