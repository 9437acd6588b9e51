#include "store/nccl/log.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "base/lines.h"

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
constexpr std::array<Sign, 12> kSigns = {{
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
                             std::string(sign->consequence), std::string(sign->fix)});
    if (sign->reportsTuner) tunerFindings_.emplace(sign->what);
  }

  /// A plugin that was found in the end takes back what earlier look-ups said.
  Log take() {
    if (!log_.tuner.empty())
      std::erase_if(log_.findings,
                    [this](const Finding& f) { return tunerFindings_.contains(f.what); });
    return std::move(log_);
  }

 private:
  const std::string& file_;
  Log log_;
  std::set<std::string_view> known_;
  std::set<std::string, std::less<>> tunerFindings_;
};

}  // namespace

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
