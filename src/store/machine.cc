#include "store/machine.h"

#include <sched.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <set>
#include <system_error>

#include "base/settings.h"
#include "model/config.h"
#include "store/file.h"

namespace autoccl {
namespace {

std::string contentOf(const std::string& path) {
  try {
    return readWholeFile(path, size_t{4} << 20).value_or("");
  } catch (const std::exception&) {
    return "";  // hidden in this container: the property stays unknown
  }
}

std::string firstLine(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// The value of "key : value" or "key: value", without blanks around it.
std::string valueOf(const std::string& text, const std::string& key) {
  size_t at = text.rfind(key, 0) == 0 ? 0 : text.find("\n" + key);
  if (at == std::string::npos) return "";
  at = text.find(':', at);
  if (at == std::string::npos) return "";
  const std::string value = firstLine(text.substr(at + 1));
  const size_t from = value.find_first_not_of(" \t"), to = value.find_last_not_of(" \t");
  return from == std::string::npos ? "" : value.substr(from, to - from + 1);
}

uint64_t numberAt(const std::string& text) {
  uint64_t v = 0;
  std::from_chars(text.data(), text.data() + text.size(), v);
  return v;
}

void readCaches(const std::string& root, Machine& machine) {
  for (int i = 0; i < 8; ++i) {
    const std::string folder =
        root + "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
    const std::string type = firstLine(contentOf(folder + "type"));
    const std::string size = firstLine(contentOf(folder + "size"));
    if (size.empty() || type == "Instruction") continue;
    const uint64_t unit = size.back() == 'M' ? 1 << 20 : size.back() == 'K' ? 1 << 10 : 1;
    const uint64_t level = numberAt(contentOf(folder + "level"));
    if (level == 1) machine.l1 = numberAt(size) * unit;
    if (level == 2) machine.l2 = numberAt(size) * unit;
    if (level == 3) machine.l3 = numberAt(size) * unit;
  }
}

/// As the NVIDIA driver lists them: no library of it has to be loaded into this process.
void readGpus(const std::string& root, Machine& machine) {
  std::set<std::string> models;
  std::error_code hidden;
  for (const auto& gpu :
       std::filesystem::directory_iterator(root + "/proc/driver/nvidia/gpus", hidden)) {
    const std::string model = valueOf(contentOf(gpu.path().string() + "/information"), "Model");
    if (model.empty()) continue;
    ++machine.gpus;
    models.insert(model);
  }
  for (const std::string& model : models)
    machine.gpuModel += (machine.gpuModel.empty() ? "" : " + ") + model;
}

int coresAllowed() {
  if (!settingText("AUTOCCL_CORES").empty())
    return static_cast<int>(settingNumber("AUTOCCL_CORES"));
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

uint64_t hash(const std::string& text) {
  uint64_t h = 0xcbf29ce484222325ULL;  // FNV-1a, 64 bits
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return h;
}

std::string majorMinor(const std::string& kernel) {
  const size_t dot = kernel.find('.');
  if (dot == std::string::npos) return kernel;
  return kernel.substr(0, kernel.find_first_not_of("0123456789", dot + 1));
}

uint64_t wholeGiB(uint64_t bytes) {
  return (bytes + (uint64_t{1} << 29)) >> 30;
}

}  // namespace

Machine readMachine(const std::string& root) {
  Machine machine;
  const std::string cpu = contentOf(root + "/proc/cpuinfo");
  machine.cpuModel = valueOf(cpu, "model name");
  if (machine.cpuModel.empty()) machine.cpuModel = valueOf(cpu, "CPU part");
  machine.cores = coresAllowed();
  readCaches(root, machine);
  machine.memory = numberAt(valueOf(contentOf(root + "/proc/meminfo"), "MemTotal")) << 10;
  machine.kernel = firstLine(contentOf(root + "/proc/sys/kernel/osrelease"));
  readGpus(root, machine);
  return machine;
}

std::string fingerprintOf(const Machine& m) {
  std::string key = m.cpuModel + '\n' + std::to_string(m.cores);
  for (const uint64_t size : {m.l1, m.l2, m.l3, wholeGiB(m.memory)})
    key += '\n' + std::to_string(size);
  key += '\n' + majorMinor(m.kernel);
  if (m.gpus > 0) key += '\n' + std::to_string(m.gpus) + ' ' + m.gpuModel;
  char text[64];
  std::snprintf(text, sizeof text, "cpu-%dc-%016llx", m.cores,
                static_cast<unsigned long long>(hash(key)));
  return text;
}

std::string toText(const Machine& m) {
  std::string text = m.cpuModel.empty() ? "unknown CPU" : m.cpuModel;
  text += ", " + std::to_string(m.cores) + (m.cores == 1 ? " core" : " cores");
  if (m.l2) text += ", L2 " + bytesText(m.l2);
  if (m.l3) text += ", L3 " + bytesText(m.l3);
  if (m.memory) text += ", " + std::to_string(wholeGiB(m.memory)) + " GiB";
  if (m.gpus > 0) text += ", " + std::to_string(m.gpus) + " x " + m.gpuModel;
  if (!m.kernel.empty()) text += ", Linux " + m.kernel;
  return text;
}

}  // namespace autoccl
