// The files of data/platforms as the build put them into the program (cmake/Platforms.cmake).
#pragma once

#include <span>
#include <string_view>

namespace autoccl::topo {

struct PlatformFile {
  std::string_view name, text;
};
[[nodiscard]] std::span<const PlatformFile> platformFiles();

}  // namespace autoccl::topo
