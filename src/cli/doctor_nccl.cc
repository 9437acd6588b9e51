#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "report/text_table.h"
#include "store/nccl/lint.h"
#include "store/nccl/log.h"
#include "store/nccl/settings.h"

namespace autoccl::cli {
namespace {

struct Library {
  std::string path;
  int version = 0;
};

/// The library that a program here would load by its name; loading it starts nothing.
Library libraryOfLoader() {
  Library library;
  void* handle = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) return library;
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr) library.path = map->l_name;
  using GetVersion = int (*)(int*);
  if (const auto get = reinterpret_cast<GetVersion>(dlsym(handle, "ncclGetVersion")))
    (void)get(&library.version);
  dlclose(handle);
  return library;
}

void showSettings(const nccl::Sources& sources, DoctorReport& report) {
  if (sources.all.empty()) {
    report.text += "settings: none of NCCL's is set\n";
    return;
  }
  TextTable table({{"setting"}, {"value"}, {"from"}, {"in force"}});
  for (const nccl::Setting& s : sources.all)
    table.row({s.name, s.value, s.where, sources.inForce(s.name) == &s ? "yes" : "no"});
  report.text += table.text();
}

}  // namespace

void lookAtNccl(const DoctorInput& input, DoctorReport& report) {
  const Library library = libraryOfLoader();
  if (library.version == 0)
    report.text +=
        "library: libnccl.so.2 is not on the loader's path; a program may bring its own\n";
  else
    report.text +=
        "library: NCCL " + nccl::versionText(library.version) + ", " + library.path + "\n";
  const nccl::Sources sources = nccl::readSources(environ);
  showSettings(sources, report);
  const int version = input.ncclVersion != 0 ? input.ncclVersion : library.version;
  report.add(nccl::lintSettings(sources, version));
}

}  // namespace autoccl::cli
