# data/platforms/*.toml become part of room_topo: one source with the text of each.
file(GLOB platforms CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/data/platforms/*.toml)
list(LENGTH platforms count)
set(entries "")
foreach(file ${platforms})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  get_filename_component(name ${file} NAME)
  file(READ ${file} text)
  string(APPEND entries "    {\"${name}\", R\"toml(${text})toml\"},\n")
endforeach()
set(generated ${CMAKE_BINARY_DIR}/generated/platform_files.cc)
file(CONFIGURE OUTPUT ${generated} @ONLY CONTENT "#include \"topo/platform_files.h\"

namespace autoccl::topo {
namespace {
constexpr PlatformFile kFiles[] = {
@entries@};
}  // namespace

std::span<const PlatformFile> platformFiles() {
  return kFiles;
}

}  // namespace autoccl::topo
")
target_sources(room_topo PRIVATE ${generated})
