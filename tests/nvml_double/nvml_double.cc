// A look-alike of libnvidia-ml.so.1: two H200 joined by an NVSwitch that a virtual machine hides,
// and a third GPU joined to the first by one link. Only what src/topo/nvml.cc calls.
#include <cstdio>
#include <cstring>

namespace {

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
  unsigned long long value;
};

int devices[3] = {0, 1, 2};
int indexOf(void* device) {
  return *static_cast<int*>(device);
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int nvmlInit_v2() {
  return 0;
}
EXPORTED int nvmlShutdown() {
  return 0;
}
EXPORTED int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 3;
  return 0;
}
EXPORTED int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = &devices[index];
  return 0;
}
EXPORTED int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* info) {
  std::snprintf(info->busId, sizeof info->busId, "00000000:1%d:00.0", indexOf(device));
  return 0;
}
EXPORTED int nvmlDeviceGetName(void*, char* name, unsigned length) {
  std::snprintf(name, length, "NVIDIA H200");
  return 0;
}
EXPORTED int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return 0;
}
EXPORTED int nvmlDeviceGetNvLinkCapability(void*, unsigned, unsigned, unsigned* can) {
  *can = 1;
  return 0;
}
EXPORTED int nvmlDeviceGetFieldValues(void* device, int, FieldValue* value) {
  const unsigned links = indexOf(device) == 2 ? 1 : 18;
  value->result = 0;
  value->value = value->scope < links ? 1 : 0;
  return 0;
}
EXPORTED int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned, PciInfo* info) {
  std::strcpy(info->busId, indexOf(device) == 2 ? "00000000:10:00.0" : "FFFFFFFF:FFFF:FF");
  return 0;
}
