#include "topo/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "topo/words.h"

namespace autoccl::topo {
namespace {

// NVML's interface as far as it is called here (nvml.h, version 12).
using Device = void*;
struct PciInfo {
  char legacyBusId[16];
  unsigned domain, bus, device, deviceId, subsystemId;
  char busId[32];
};
struct FieldValue {
  unsigned field, scope;
  long long timestamp, latency;
  unsigned type;
  int result;
  union {
    unsigned long long whole;
    unsigned word;
  } value;
};
constexpr unsigned kLinkState = 165, kPeerToPeer = 0;

struct Functions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*byIndex)(unsigned, Device*) = nullptr;
  int (*pciInfo)(Device, PciInfo*) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*capability)(Device, int*, int*) = nullptr;
  int (*linkState)(Device, unsigned, unsigned*) = nullptr;
  int (*linkCapability)(Device, unsigned, unsigned, unsigned*) = nullptr;
  int (*linkRemote)(Device, unsigned, PciInfo*) = nullptr;
  int (*fields)(Device, int, FieldValue*) = nullptr;
};

template <class F>
void find(void* library, const char* symbol, F& into) {
  into = reinterpret_cast<F>(dlsym(library, symbol));
}

Functions functionsOf(void* library) {
  Functions f;
  find(library, "nvmlInit_v2", f.init);
  find(library, "nvmlShutdown", f.shutdown);
  find(library, "nvmlDeviceGetCount_v2", f.count);
  find(library, "nvmlDeviceGetHandleByIndex_v2", f.byIndex);
  find(library, "nvmlDeviceGetPciInfo_v3", f.pciInfo);
  find(library, "nvmlDeviceGetName", f.name);
  find(library, "nvmlDeviceGetCudaComputeCapability", f.capability);
  find(library, "nvmlDeviceGetNvLinkState", f.linkState);
  find(library, "nvmlDeviceGetNvLinkCapability", f.linkCapability);
  find(library, "nvmlDeviceGetNvLinkRemotePciInfo_v2", f.linkRemote);
  find(library, "nvmlDeviceGetFieldValues", f.fields);
  return f;
}

std::string textOf(const char* chars, size_t size) {
  return {chars, std::find(chars, chars + size, '\0')};
}

class Reader {
 public:
  Reader(const Functions& f, Host& host) : f_(f), host_(host) {}

  std::string run() {
    unsigned count = 0;
    if (f_.count(&count) != 0) return "NVML counts no devices";
    std::vector<std::pair<int, Device>> known;  // index into the host's GPUs
    for (unsigned i = 0; i < count; ++i) {
      Device device = nullptr;
      PciInfo info{};
      if (f_.byIndex(i, &device) != 0 || f_.pciInfo(device, &info) != 0) continue;
      known.emplace_back(gpuAt(normalBusId(textOf(info.busId, sizeof info.busId))), device);
      name(static_cast<int>(i), device, at(known.back().first));
    }
    // Only now is every GPU known that a link may lead to.
    for (const auto& [index, device] : known)
      for (unsigned l = 0; f_.linkRemote && l < mostLinks(at(index).computeCapability); ++l)
        if (usable(device, l, at(index).computeCapability)) link(device, l, at(index));
    return "";
  }

 private:
  Gpu& at(int index) { return host_.gpus[static_cast<size_t>(index)]; }

  void name(int index, Device device, Gpu& gpu) const {
    gpu.index = index;
    char model[96] = "";
    if (f_.name && f_.name(device, model, sizeof model) == 0)
      gpu.model = textOf(model, sizeof model);
    int major = 0, minor = 0;
    if (f_.capability && f_.capability(device, &major, &minor) == 0)
      gpu.computeCapability = major * 10 + minor;
  }

  int gpuAt(const std::string& busId) {
    if (const int known = host_.gpuByBusId(busId); known >= 0) return known;
    PciDevice d;
    d.busId = busId;
    d.deviceClass = "0x030200";
    Gpu gpu;
    gpu.pci = static_cast<int>(host_.pci.size());
    host_.pci.push_back(std::move(d));
    host_.gpus.push_back(std::move(gpu));
    return static_cast<int>(host_.gpus.size()) - 1;
  }

  static unsigned mostLinks(int capability) {
    return capability < 60   ? 0
           : capability < 70 ? 4
           : capability < 80 ? 6
           : capability < 90 ? 12
                             : 18;
  }

  bool usable(Device device, unsigned l, int capability) const {
    unsigned peers = 0, active = 0;
    if (f_.linkCapability && (f_.linkCapability(device, l, kPeerToPeer, &peers) != 0 || peers == 0))
      return false;
    FieldValue value{};
    value.field = kLinkState;
    value.scope = l;
    if (capability >= 90 && f_.fields && f_.fields(device, 1, &value) == 0 && value.result == 0)
      return value.value.word == 1;
    return f_.linkState && f_.linkState(device, l, &active) == 0 && active == 1;
  }

  void link(Device device, unsigned l, Gpu& gpu) const {
    PciInfo remote{};
    if (f_.linkRemote(device, l, &remote) != 0) return;
    const std::string target = normalBusId(textOf(remote.busId, sizeof remote.busId));
    const auto known = std::ranges::find(gpu.links, target, &GpuLink::target);
    if (known != gpu.links.end()) {
      ++known->count;
      return;
    }
    GpuLink made;
    made.target = target;
    made.count = 1;
    const int seen = host_.pciByBusId(target);
    made.targetClass = seen >= 0 ? host_.pci[static_cast<size_t>(seen)].deviceClass : "0x068000";
    gpu.links.push_back(std::move(made));
  }

  const Functions& f_;
  Host& host_;
};

}  // namespace

std::string addNvml(Host& host, const char* library) {
  void* handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) return std::string(library) + " is not there";
  const Functions f = functionsOf(handle);
  std::string reason = "NVML lacks what is needed";
  if (f.init && f.shutdown && f.count && f.byIndex && f.pciInfo) {
    reason = "NVML does not start";
    if (f.init() == 0) {
      reason = Reader(f, host).run();
      (void)f.shutdown();
    }
  }
  dlclose(handle);
  std::ranges::stable_sort(host.gpus, {},
                           [](const Gpu& g) { return g.index < 0 ? 1 << 20 : g.index; });
  return reason;
}

}  // namespace autoccl::topo
