#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "report/text_table.h"
#include "store/nccl/lint.h"
#include "store/nccl/log.h"
#include "store/nccl/settings.h"
#include "store/nccl/versions.h"

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

/// What a release lets AutoCCL change; a star behind the one that is used here.
void showReleases(int version, DoctorReport& report) {
  const nccl::VersionRow* here = version != 0 ? nccl::versionRow(version) : nullptr;
  TextTable table({{"NCCL"},
                   {"tuner"},
                   {"profiler"},
                   {"A"},
                   {"P"},
                   {"T"},
                   {"NC"},
                   {"NT"},
                   {"C"},
                   {"times from"},
                   {"rank from"}});
  const auto interface = [](int number) {
    return number == 0 ? std::string("-") : "v" + std::to_string(number);
  };
  for (const nccl::VersionRow& r : nccl::versionRows()) {
    const auto lever = [](nccl::Lever l) { return std::string(nccl::toText(l)); };
    table.row({std::string(r.releases) + (&r == here ? " *" : ""), interface(r.tuner),
               interface(r.profiler), lever(r.algorithm), lever(r.protocol), lever(r.transport),
               lever(r.channels), lever(r.threads), lever(r.chunk), std::string(r.times),
               std::string(r.identity)});
  }
  report.text +=
      "what AutoCCL changes by release (call: from one call to the next; variant: with "
      "--variants):\n" +
      table.text();
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
  showReleases(version, report);
}

}  // namespace autoccl::cli
