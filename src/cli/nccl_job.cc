#include "cli/nccl_job.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "base/error.h"
#include "store/file.h"

namespace autoccl::cli {
namespace {

constexpr size_t kKeyBytes = 32;
constexpr unsigned kFirstPort = 20000;  // below those that the kernel hands out
constexpr unsigned kPortSpan = 64;      // that a job's communicators use, from its own port on
constexpr unsigned kPortChoices = 190;

/// Where PATH finds the program; empty where it does not.
std::string programPath(const std::string& word) {
  if (word.find('/') != std::string::npos) return word;
  const char* path = std::getenv("PATH");
  for (std::string_view rest = path != nullptr ? path : ""; !rest.empty();) {
    const size_t end = rest.find(':');
    std::string file = std::string(rest.substr(0, end)) + "/" + word;
    if (access(file.c_str(), X_OK) == 0) return file;
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return "";
}

/// Whether the file holds one of the words; read in blocks that overlap by a word's length.
class FileWords {
 public:
  explicit FileWords(const std::string& path) : in_(path, std::ios::binary) {}
  [[nodiscard]] bool holds(std::initializer_list<std::string_view> words) {
    constexpr size_t kBlock = size_t{1} << 20, kOverlap = 64;
    std::string block;
    in_.clear();
    in_.seekg(0);
    while (in_) {
      if (block.size() > kOverlap) block.erase(0, block.size() - kOverlap);
      const size_t kept = block.size();
      block.resize(kept + kBlock);
      in_.read(block.data() + kept, static_cast<std::streamsize>(kBlock));
      block.resize(kept + static_cast<size_t>(in_.gcount()));
      for (const std::string_view word : words)
        if (block.find(word) != std::string::npos) return true;
    }
    return false;
  }

 private:
  std::ifstream in_;
};

void randomBytes(void* into, size_t bytes) {
  if (getrandom(into, bytes, 0) != static_cast<ssize_t>(bytes))
    throw Error(ErrorCode::kSystem, "the kernel gives no random bytes for the job's key");
}

}  // namespace

NcclGuess guessNccl(const std::vector<std::string>& words, bool hostHasGpu) {
  FileWords file(programPath(words.at(0)));
  if (file.holds({"libasan.so", "libtsan.so"}))
    return {false, words[0] + " is built with a sanitizer, whose runtime must be loaded first"};
  if (file.holds({"libnccl.so", "librccl.so"})) return {true, words[0] + " names libnccl"};
  if (hostHasGpu) return {true, "this host has a GPU"};
  return {false, words[0] + " does not name libnccl, and this host has no GPU"};
}

bool hostHasGpu() {
  for (const char* node : {"/dev/nvidiactl", "/dev/nvidia0", "/dev/kfd"})
    if (access(node, F_OK) == 0) return true;
  return false;
}

void requirePreloadable(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode))
    throw Error(ErrorCode::kUsage, path + ": is not there",
                "build it (./run build) or choose --engine cpu");
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    throw Error(ErrorCode::kUsage, path + ": others may write to it, so it is not loaded",
                "chmod go-w it");
  if (path.find_first_of(": ") != std::string::npos)
    throw Error(ErrorCode::kUsage, path + ": LD_PRELOAD holds no path with a space or a colon",
                "install AutoCCL somewhere else");
}

std::string ncclLibraryPath() {
  std::error_code none;
  const auto command = std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
  std::string path = (command.parent_path() / "lib" / kNcclLibrary).string();
  if (access(path.c_str(), F_OK) != 0 && access((command / kNcclLibrary).c_str(), F_OK) == 0)
    path = (command / kNcclLibrary).string();
  requirePreloadable(path);
  return path;
}

Variables ncclVariables(const std::string& library, const std::string& folder,
                        const Lookup& lookup) {
  const auto before = lookup("LD_PRELOAD");
  Variables v{{"LD_PRELOAD", before ? library + ":" + *before : library}};
  if (!lookup("AUTOCCL_ID"))
    v.emplace_back("AUTOCCL_ID", newJobId());  // a launcher of ours is above
  if (lookup("AUTOCCL_COORDINATOR") || lookup("AUTOCCL_KEY_FILE")) return v;
  std::string key(kKeyBytes, '\0');
  randomBytes(key.data(), key.size());
  uint32_t choice = 0;
  randomBytes(&choice, sizeof choice);
  const std::string file = folder + "/key";
  replaceFile(file, key, Durable::kNo);
  v.emplace_back("AUTOCCL_KEY_FILE", file);
  v.emplace_back("AUTOCCL_COORDINATOR",
                 "127.0.0.1:" + std::to_string(kFirstPort + choice % kPortChoices * kPortSpan));
  return v;
}

std::vector<std::string> ncclWarnings(const Lookup& lookup) {
  std::vector<std::string> warnings;
  const std::string copy = lookup("NCCL_P2P_USE_CUDA_MEMCPY").value_or("0");
  if (copy != "0")
    warnings.push_back("NCCL_P2P_USE_CUDA_MEMCPY=" + copy +
                       " is set: NCCL can deadlock with it; unset it unless you have reason to");
  const std::string tuner = lookup("NCCL_TUNER_PLUGIN").value_or(kNcclLibrary);
  if (tuner.find("autoccl") == std::string::npos)
    warnings.push_back("NCCL_TUNER_PLUGIN=" + tuner +
                       " is set: NCCL asks that tuner and not ours; unset it to be tuned");
  return warnings;
}

}  // namespace autoccl::cli
