#include "store/nccl/log.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <span>

#include "base/lines.h"
#include "store/nccl/choice.h"

namespace autoccl::nccl {
namespace {

/// A text that some line holds, and what it means. `reportsTuner`: it says that no tuner plugin is
/// in use.
struct Sign {
  std::string_view text;
  bool reportsTuner;
  std::string_view what, consequence, fix;
};
constexpr std::string_view kNotActive = "NCCL uses its own tuner: nothing is tuned";
constexpr std::string_view kShmSo =
    "the communicator does not start, or the job dies by a bus error";
constexpr std::string_view kShmFix =
    "give the container more: docker run --shm-size=8g, or an emptyDir of medium Memory on "
    "/dev/shm";
constexpr std::array<Sign, 22> kSigns = {{
    {"libnccl-tuner-./", true, "a tuner plugin was named by a relative path", kNotActive,
     "name it by its absolute path; with releases 2.26.2 to 2.27.3 put its folder into "
     "LD_LIBRARY_PATH and set NCCL_TUNER_PLUGIN to the bare file name"},
    {"libnccl-profiler-./", false, "a profiler plugin was named by a relative path",
     "it is not loaded",
     "name it by its absolute path, or by its bare file name on 2.26.2 to 2.27.3"},
    {"Using internal tuner plugin", true, "no tuner plugin was found", kNotActive,
     "start with `autoccl run --`, or set NCCL_TUNER_PLUGIN=libnccl-tuner-autoccl.so with its "
     "folder in LD_LIBRARY_PATH"},
    {"using internal tuner instead", true, "the plugin has no tuner of a version this NCCL knows",
     kNotActive,
     "set NCCL_TUNER_PLUGIN=libnccl-tuner-autoccl.so, which has all versions from 2 to 6"},
    {"using default tuner instead", true, "the tuner plugin could not be used", kNotActive,
     "see the reason on this line; releases 2.19 and 2.20 load only what NCCL_TUNER_PLUGIN names"},
    {"External tuner plugin", true, "the named tuner plugin is not supported by this NCCL",
     kNotActive, "check the name, and that the file offers ncclTunerPlugin_v2 or later"},
    {"Unrecognized element token", false, "NCCL_ALGO or NCCL_PROTO has a word NCCL does not know",
     "every communicator fails to start",
     "correct it; `autoccl doctor` says which words there are"},
    {"Unrecognized prefix token", false,
     "NCCL_ALGO or NCCL_PROTO names a function NCCL does not know",
     "every communicator fails to start", "correct it"},
    {"must have a prefix", false,
     "an entry of NCCL_ALGO or NCCL_PROTO after the first has no function",
     "every communicator fails to start", "write function:list for every entry after the first"},
    {"Message truncated : received", false, "two ranks disagree about the size of a message",
     "ranks run different configs or have different NCCL variables",
     "give all ranks the same NCCL variables, library and plugins"},
    {"bytes instead of", false, "two ranks disagree about the size of a message",
     "ranks run different configs or have different NCCL variables",
     "give all ranks the same NCCL variables, library and plugins"},
    {"Mismatched collective detected", false, "ranks issued different collectives",
     "the job fails or hangs", "look for a rank that takes another path through the program"},
    {"Attribute arch of node cpu not found", false,
     "the topology file describes a socket without arch, and the job has no GPU there",
     "the communicator does not start",
     "complete the file: autoccl topo export FILE --cpu here, or unset NCCL_TOPO_FILE"},
    {"XML nodes (max 256)", false, "the topology has more than NCCL's 256 elements",
     "the communicator does not start",
     "leave devices that are neither GPU nor NIC of the job out of the topology file"},
    {"XML parser is limited to", false, "the topology file is larger than NCCL's reader takes",
     "the communicator does not start", "see autoccl topo lint FILE"},
    {"XML Import Channel", false, "NCCL_GRAPH_FILE holds a graph for other GPUs than the job's",
     "the communicator does not start",
     "unset NCCL_GRAPH_FILE; it may stand in ~/.nccl.conf or /etc/nccl.conf"},
    {"Could not find NET with id", false, "a forced algorithm wants a NIC that is not there",
     "the communicator does not start", "unset NCCL_ALGO and NCCL_GRAPH_FILE"},
    {"Error while creating shared memory segment", false, "/dev/shm is too small", kShmSo, kShmFix},
    {"unable to allocate shared memory", false, "/dev/shm is too small", kShmSo, kShmFix},
    {"Could not enable P2P between dev", false, "peer access between two GPUs cannot be enabled",
     "they talk through host memory", "look at autoccl topo lint: ACS and IOMMU"},
    {"NET/IB : No device found", false, "NCCL finds no RDMA device",
     "traffic between hosts goes over sockets, at a tenth of the bandwidth or less",
     "load the driver, or give the container /dev/infiniband; for EFA load the OFI plugin"},
    {"P2P is disabled between", false, "peer access between two GPUs is switched off",
     "they talk through host memory", "unset NCCL_P2P_DISABLE and NCCL_P2P_LEVEL, then measure"},
}};
constexpr std::array<std::string_view, 3> kInUse = {
    "Using tuner plugin ", "Using tuner plugin: ", "Successfully loaded external tuner plugin "};
constexpr std::string_view kVersion = "NCCL version ";

std::string_view firstWord(std::string_view text) {
  while (text.starts_with('\'') || text.starts_with(' ')) text.remove_prefix(1);
  return text.substr(0, text.find_first_of("' \t\r"));
}

class Reader {
 public:
  explicit Reader(const std::string& fileName) : file_(fileName) {}

  void line(std::string_view text) {
    ++log_.lines;
    const size_t version = text.find(kVersion);
    if (version == text.npos && text.find("NCCL") == text.npos) return;
    ++log_.ncclLines;
    if (!ranks_.line(text, log_.lines) && looksCut(text)) ++log_.cutLines;
    if (const auto network = networkOf(text); network && log_.network.empty())
      log_.network = *network;
    if (version != text.npos && log_.version == 0)
      log_.version = versionOf(text.substr(version + kVersion.size()));
    for (const std::string_view mark : kInUse)
      if (const size_t at = text.find(mark); at != text.npos) {
        log_.tuner = firstWord(text.substr(at + mark.size()));
        log_.sawTuner = true;
      }
    const auto sign =
        std::ranges::find_if(kSigns, [&](const Sign& s) { return text.find(s.text) != text.npos; });
    if (sign == kSigns.end()) return;
    log_.sawTuner = log_.sawTuner || sign->reportsTuner;
    if (!known_.insert(sign->what).second) return;
    log_.findings.push_back({file_ + ":" + std::to_string(log_.lines), std::string(sign->what),
                             std::string(sign->consequence), std::string(sign->fix), "log-line"});
    if (sign->reportsTuner) tunerFindings_.emplace(sign->what);
  }

  /// A plugin that was found in the end takes back what earlier look-ups said.
  Log take() {
    if (!log_.tuner.empty())
      std::erase_if(log_.findings,
                    [this](const Finding& f) { return tunerFindings_.contains(f.what); });
    for (Finding& f : ranks_.findings(file_)) log_.findings.push_back(std::move(f));
    log_.choices = ranks_.choices();
    log_.channels = ranks_.channels();
    return std::move(log_);
  }

 private:
  /// Has the words of a choice or a hop, and is none: another line was written into it.
  static bool looksCut(std::string_view text) {
    return text.find("Bytes -> Algo") != text.npos || text.find("-> Algo") != text.npos ||
           (text.find("Channel ") != text.npos && text.find(" -> ") != text.npos);
  }

  const std::string& file_;
  Log log_;
  LogRanks ranks_;
  std::set<std::string_view> known_;
  std::set<std::string, std::less<>> tunerFindings_;
};

}  // namespace

std::string choicesText(const Log& log) {
  constexpr size_t kMost = 40;
  const auto named = [](int index, std::span<const std::string_view> names) {
    const auto i = static_cast<size_t>(index);
    return i < names.size() ? std::string(names[i]) : std::string("?");
  };
  std::string out;
  for (size_t i = 0; i < log.choices.size() && i < kMost; ++i) {
    const LogChoice& c = log.choices[i].choice;
    out += "  " + (c.function < 0 ? "a collective" : named(c.function, kFunctions)) + " of " +
           std::to_string(c.bytes) + " bytes: " + named(c.algorithm, kAlgorithms) + "/" +
           named(c.protocol, kProtocols) +
           (c.channels > 0 ? ", " + std::to_string(c.channels) + " channels" : "") + ", " +
           std::to_string(log.choices[i].times) + " times\n";
  }
  return out + (log.choices.size() > kMost ? "  …\n" : "");
}

int versionOf(std::string_view text) {
  int parts[3] = {0, 0, 0};
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (int i = 0; i < 3; ++i) {
    const auto [next, error] = std::from_chars(at, end, parts[i]);
    if (error != std::errc() || parts[i] < 0 || parts[i] > 99) return 0;
    at = next;
    if (i < 2 && (at == end || *at++ != '.')) return 0;
  }
  return parts[0] * 10000 + parts[1] * 100 + parts[2];
}

std::string versionText(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

Log readLog(std::string_view text, const std::string& fileName) {
  Reader reader(fileName);
  eachLine(text, [&](std::string_view line, int) { reader.line(line); });
  return reader.take();
}

}  // namespace autoccl::nccl
