#include "base/settings.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/error.h"
#include "base/size_text.h"

namespace autoccl {
namespace {

// Never destroyed: what runs at a program's end still reads settings, to say what it has to say.
const std::vector<SettingRow>& kRows = *new std::vector<SettingRow>{
    {"AUTOCCL_TUNE", "switch", "", "0", "0|1",
     "Tunes the collectives of this job while it runs; unset, nothing is touched. Of NCCL "
     "programs, preloading our library or naming it to NCCL is the wish, and 0 takes it back.",
     "0.1"},
    {"AUTOCCL_DISABLE", "switch", "", "0", "0|1",
     "Switches AutoCCL off in NCCL programs, whatever else is set.", "0.1"},
    {"AUTOCCL_POLICY", "choice", "", "subspacerace",
     "subspacerace|paper|artifact|exhaustive|random|anneal", "How configs are searched.", "0.1"},
    {"AUTOCCL_OBJECTIVE", "choice", "", "time", "time|step|sm",
     "What is made small: a collective's time, the whole step, or time plus a price per worker.",
     "0.1"},
    {"AUTOCCL_BUDGET", "number", "%", "2", "0..100",
     "Share of communication time that losing trials may cost; when it is spent, tuning pauses.",
     "0.1"},
    {"AUTOCCL_SM_PRICE", "number", "us", "0", "0..1000000",
     "Objective sm: microseconds charged for each worker (channels x threads) of a config.", "0.1"},
    {"AUTOCCL_DETERMINISTIC", "switch", "", "0", "0|1",
     "Tries only configs that give bit for bit the default's results.", "0.1"},
    {"AUTOCCL_CHECK", "switch", "", "0", "0|1",
     "Compares the result of every config with the default's before it is accepted.", "0.1"},
    {"AUTOCCL_CONFIG", "text", "", "", "a config as explain prints it",
     "Pins this config for every call that can run it; nothing is searched.", "0.1"},
    {"AUTOCCL_SEED", "number", "", "1", "0..4294967295",
     "Seed of the search's chance; the same seed and samples give the same trials.", "0.1"},
    {"AUTOCCL_PROFILE", "text", "", "", "a file",
     "What earlier runs learned: read by the leader at start; its choices are tried first.", "0.1"},
    {"AUTOCCL_RESULT", "text", "", "", "a file",
     "The leader writes the run's record here, while it runs and at its end.", "0.1"},
    {"AUTOCCL_JOURNAL", "text", "", "", "a file",
     "Names the trial in flight, so that a config that crashed a job is not tried again.", "0.1"},
    {"AUTOCCL_WAIT", "choice", "", "auto", "auto|spin|yield|futex",
     "What a waiting rank does by default; auto chooses by ranks per core.", "0.1"},
    {"AUTOCCL_SIMD", "choice", "", "auto", "auto|plain|avx2|avx512",
     "Instruction set of the reduction kernels; auto takes the widest this CPU has.", "0.1"},
    {"AUTOCCL_MAX_CHANNELS", "number", "", "16", "1..64",
     "Largest number of channels (NC) that any config may have.", "0.1"},
    {"AUTOCCL_MAX_THREADS", "number", "", "16", "1..64",
     "Largest number of threads in a channel (NT) that any config may have.", "0.1"},
    {"AUTOCCL_MAX_CHUNK", "size", "bytes", "4M", "4K..1G",
     "Largest chunk (C) that any config may have.", "0.1"},
    {"AUTOCCL_VARIANTS", "text", "", "",
     "words of threads, buffers, transport, infiniband, sockets, between commas",
     "NCCL programs: also tries these, on further communicators made beside each of the program's.",
     "0.1"},
    {"AUTOCCL_VARIANT_MEMORY", "size", "bytes", "4G", "0..64G",
     "GPU memory that the variants of one communicator may take on a rank, by estimate.", "0.1"},
    {"AUTOCCL_DIRECT", "switch", "", "0", "0|1",
     "NCCL programs: also tries the GPU engine, within one host. See docs/direct.md.", "0.1"},
    {"AUTOCCL_DIRECT_MEMORY", "size", "bytes", "128M", "4M..16G",
     "GPU memory that each rank of a GPU engine's group takes for staging.", "0.1"},
    {"AUTOCCL_FENCE_TIMEOUT", "number", "s", "30", "0.1..86400",
     "How long a call waits for the verdict of a change before its communicator fails.", "0.1"},
    {"AUTOCCL_INIT_TIMEOUT", "number", "s", "60", "0.1..86400",
     "How long a communicator's start waits for its ranks before it names the missing ones.",
     "0.1"},
    {"AUTOCCL_AGREEMENT_LINKS", "choice", "", "auto", "auto|shm|tcp",
     "How the CPU engine's ranks agree: through shared memory (auto on one host) or over TCP.",
     "0.1"},
    {"AUTOCCL_COORDINATOR", "text", "", "", "host:port",
     "Where ranks without a common unique id meet: rank 0's host, and the first of 64 ports.",
     "0.1"},
    {"AUTOCCL_KEY_FILE", "text", "", "", "a file of mode 0600",
     "The secret of the ranks that meet at AUTOCCL_COORDINATOR: 16 random bytes or more.", "0.1"},
    {"AUTOCCL_RANK", "number", "", "", "0..65535",
     "This process's rank in the job; set by autoccl run.", "0.1"},
    {"AUTOCCL_NRANKS", "number", "", "", "1..65536", "Ranks in the job; set by autoccl run.",
     "0.1"},
    {"AUTOCCL_ID", "text", "", "", "1 to 64 of A-Z a-z 0-9 _ -",
     "The job's name, from which its ranks find each other; set by autoccl run.", "0.1"},
    {"AUTOCCL_CORES", "number", "", "", "1..65536",
     "Cores the whole job may use, for the machine's fingerprint; set by autoccl run.", "0.1"},
    {"AUTOCCL_LOG", "choice", "", "warn", "off|warn|info|debug", "What is told on standard error.",
     "0.1"},
};

const SettingRow& rowOf(std::string_view name) {
  const auto& rows = settingRows();
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.name == name; });
  if (row == rows.end())
    throw Error(ErrorCode::kInternal, "setting " + std::string(name) + " is not in the table");
  return *row;
}

[[noreturn]] void refuse(const SettingRow& row, const std::string& value) {
  throw Error(ErrorCode::kUsage,
              std::string(row.name) + "='" + value + "' is not a " + std::string(row.type) +
                  " that is allowed here",
              "allowed: " + settingAllowedText(row.name));
}

bool holdsWord(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const size_t at = words.find('|');
    if (words.substr(0, at) == word) return true;
    if (at == std::string_view::npos) break;
    words.remove_prefix(at + 1);
  }
  return false;
}

/// The whole of `text` as a number; false for anything else, infinities and NaN included.
bool readNumber(std::string_view text, double& number) {
  if (text.empty() || text.find_first_not_of("0123456789.+-eE") != std::string_view::npos)
    return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool insideRange(const SettingRow& row, const std::string& value) {
  const size_t dots = row.allowed.find("..");
  const std::string_view low = row.allowed.substr(0, dots), high = row.allowed.substr(dots + 2);
  if (row.type == "size") {
    const auto bytes = readSize(value);
    return bytes && *bytes >= readSize(low) && *bytes <= readSize(high);
  }
  double v = 0, from = 0, to = 0;
  return readNumber(value, v) && readNumber(low, from) && readNumber(high, to) && v >= from &&
         v <= to;
}

bool isAllowed(const SettingRow& row, const std::string& value) {
  if (row.type == "choice" || row.type == "switch") return holdsWord(row.allowed, value);
  if (row.type == "number" || row.type == "size") return insideRange(row, value);
  if (row.name != "AUTOCCL_ID") return true;
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
  return value.size() <= 64 && value.find_first_not_of(kLetters) == std::string::npos;
}

std::string neededText(std::string_view name) {
  const Setting s = setting(name);
  if (s.value.empty())
    throw Error(ErrorCode::kUsage, std::string(name) + " is not set",
                "allowed: " + std::string(rowOf(name).allowed));
  return s.value;
}

}  // namespace

const std::vector<SettingRow>& settingRows() {
  return kRows;
}

Setting setting(std::string_view name) {
  const SettingRow& row = rowOf(name);
  const char* text = std::getenv(std::string(name).c_str());
  if (text == nullptr || *text == '\0') return {std::string(row.fallback), false};
  if (!isAllowed(row, text)) refuse(row, text);
  return {text, true};
}

double settingNumber(std::string_view name) {
  double number = 0;
  const std::string value = neededText(name);
  if (!readNumber(value, number)) refuse(rowOf(name), value);
  return number;
}

uint64_t settingSize(std::string_view name) {
  const std::string value = neededText(name);
  const auto bytes = readSize(value);
  if (!bytes) refuse(rowOf(name), value);
  return *bytes;
}

bool settingSwitch(std::string_view name) {
  return setting(name).value == "1";
}

std::string settingText(std::string_view name) {
  return setting(name).value;
}

bool settingAllows(std::string_view name, const std::string& value) {
  return isAllowed(rowOf(name), value);
}

std::string settingAllowedText(std::string_view name) {
  const SettingRow& row = rowOf(name);
  return std::string(row.allowed) + (row.unit.empty() ? "" : " " + std::string(row.unit));
}

std::vector<std::string> unknownSettings() {
  std::vector<std::string> names;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view pair(*entry);
    const std::string_view name = pair.substr(0, pair.find('='));
    if (name.substr(0, 8) != "AUTOCCL_") continue;
    const auto known = [&](const SettingRow& row) { return row.name == name; };
    if (std::none_of(kRows.begin(), kRows.end(), known)) names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace autoccl
