#include "edge/preload/target.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "edge/preload/private_library.h"

namespace autoccl::preload {
namespace {

const void* objectOf(const void* address) noexcept {
  Dl_info info{};
  return address != nullptr && dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

/// Any address of ours tells which object we are linked into.
const void* ourObject() noexcept {
  static const void* const object = objectOf(reinterpret_cast<const void*>(&findTarget));
  return object;
}

Target targetAt(void* address) noexcept {
  const void* object = objectOf(address);
  return object == nullptr || object == ourObject() ? Target{} : Target{address, object};
}

/// ncclX and pncclX of one scope.
struct Names {
  const char* weak;               // "ncclAllReduce"
  std::array<char, 64> strong{};  // "pncclAllReduce"
  explicit Names(const char* name) noexcept : weak(name) {
    strong[0] = 'p';
    for (size_t i = 0; name[i] != '\0' && i + 2 < strong.size(); ++i) strong[i + 1] = name[i];
  }
};

Target behindUs(const Names& names) noexcept {
  const Target weak = targetAt(dlsym(RTLD_NEXT, names.weak));
  const Target strong = targetAt(dlsym(RTLD_NEXT, names.strong.data()));
  const bool another = weak.address != nullptr && weak.object != strong.object;
  return another || strong.address == nullptr ? weak : strong;
}

/// A loaded object, held only while it is asked.
class Loaded {
 public:
  explicit Loaded(const char* path) noexcept : handle_(dlopen(path, RTLD_LAZY | RTLD_NOLOAD)) {}
  ~Loaded() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  [[nodiscard]] Target find(const Names& names) const noexcept {
    if (handle_ == nullptr) return {};
    const Target strong = targetAt(dlsym(handle_, names.strong.data()));
    return strong.address != nullptr ? strong : targetAt(dlsym(handle_, names.weak));
  }

 private:
  void* handle_;
};

Target inScopeOf(const void* caller, const Names& names) noexcept {
  Dl_info info{};
  link_map* map = nullptr;
  if (caller == nullptr ||
      dladdr1(caller, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0)
    return {};
  const bool program = map->l_name == nullptr || *map->l_name == '\0';
  return Loaded(program ? nullptr : map->l_name).find(names);
}

int addPath(dl_phdr_info* info, size_t, void* paths) {
  if (info->dlpi_name != nullptr && *info->dlpi_name != '\0')
    static_cast<std::vector<std::string>*>(paths)->emplace_back(info->dlpi_name);
  return 0;
}

/// Where the object that holds `at` is in memory.
struct Span {
  uintptr_t at, begin, size;
};

int findSpan(dl_phdr_info* info, size_t, void* into) {
  Span& span = *static_cast<Span*>(into);
  uintptr_t begin = UINTPTR_MAX, end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    begin = std::min(begin, static_cast<uintptr_t>(info->dlpi_addr + part.p_vaddr));
    end = std::max(end, static_cast<uintptr_t>(info->dlpi_addr + part.p_vaddr + part.p_memsz));
  }
  if (span.at < begin || span.at >= end) return 0;
  span.begin = begin;
  span.size = end - begin;
  return 1;
}

bool namedNccl(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);  // npos + 1 is 0
  return path.starts_with("libnccl.so") || path.starts_with("librccl.so");
}

Target inLoadedObjects(const Names& names) {
  std::vector<std::string> paths;
  dl_iterate_phdr(addPath, &paths);
  for (const bool byName : {true, false})
    for (const std::string& path : paths) {
      if (namedNccl(path) != byName) continue;
      const Target found = Loaded(path.c_str()).find(names);
      if (found.address == nullptr) continue;
      Dl_info info{};  // a handle also finds what the object's dependencies define
      if (byName || (dladdr(found.address, &info) != 0 && path == info.dli_fname)) return found;
    }
  return {};
}

}  // namespace

Target findTarget(const char* name, const void* caller) noexcept {
  try {
    const Names names(name);
    Target found = behindUs(names);
    if (found.address == nullptr) found = inScopeOf(caller, names);
    if (found.address == nullptr) found = inLoadedObjects(names);
    return found;
  } catch (...) {  // no memory for a list of names
    return {};
  }
}

std::string objectPath(const void* address) {
  Dl_info info{};
  if (address == nullptr || dladdr(address, &info) == 0) return "";
  link_map* map = nullptr;
  dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP);
  if (map != nullptr && map->l_name != nullptr && *map->l_name != '\0') return map->l_name;
  return "this program";
}

void Targets::remember(const void* caller) noexcept {
  if (meansFirst(caller)) return;
  Span span{reinterpret_cast<uintptr_t>(caller), 0, 0};
  dl_iterate_phdr(findSpan, &span);
  if (span.size == 0) return;  // code that no object holds
  const size_t at = nCallers_.fetch_add(1);
  if (at >= kCallers) return;
  callers_[at].begin.store(span.begin, std::memory_order_relaxed);
  callers_[at].size.store(span.size, std::memory_order_release);
}

void* Targets::lookUp(Symbol symbol, const void* caller) noexcept {
  const auto at = static_cast<size_t>(symbol);
  if (PrivateLibrary* copy = PrivateLibrary::ofCaller(caller)) return copy->of(symbol);
  const Target found = findTarget(kSymbolNames[at], caller);
  if (found.address == nullptr) return nullptr;
  const void* first = nullptr;
  if (library_.compare_exchange_strong(first, found.object)) first = found.object;
  if (first == found.object) {
    remember(caller);
    known_[at].store(found.address, std::memory_order_release);
  } else {
    mixed_.store(true);
  }
  if (mixed_.load())  // after the store: whoever finds the second library forgets all targets
    for (auto& known : known_) known.store(nullptr);
  return found.address;
}

}  // namespace autoccl::preload
