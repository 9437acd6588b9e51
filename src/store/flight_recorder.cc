#include "store/flight_recorder.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "base/error.h"
#include "store/file.h"

namespace autoccl {
namespace {

constexpr size_t kLine = 64;  // the head takes one too

}  // namespace

FlightRecorder::~FlightRecorder() {
  if (map_ != nullptr) munmap(map_, bytes_);
}

void FlightRecorder::create(const std::string& path, int nRanks) {
  static_assert(sizeof(Line) == kLine);
  std::string empty(kLine * static_cast<size_t>(nRanks + 1), '\0');
  std::memcpy(empty.data(), &kMagic, sizeof kMagic);
  replaceFile(path, empty, Durable::kNo);
}

bool FlightRecorder::open(const std::string& path, int rank) noexcept {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  struct stat info {};
  const size_t needed = kLine * static_cast<size_t>(rank + 2);
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
      static_cast<size_t>(info.st_size) >= needed) {
    void* const map = mmap(nullptr, needed, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED) {
      map_ = map;
      bytes_ = needed;
    }
  }
  ::close(fd);
  if (map_ == nullptr) return false;
  auto* const line = reinterpret_cast<Line*>(static_cast<std::byte*>(map_) +
                                             kLine * static_cast<size_t>(rank + 1));
  line_.store(line, std::memory_order_release);
  return true;
}

std::optional<std::vector<Config>> FlightRecorder::read(const std::string& path) {
  const auto text = readWholeFile(path, size_t{1} << 20);
  if (!text || text->size() < kLine || text->size() % kLine != 0) return std::nullopt;
  if (std::memcmp(text->data(), &kMagic, sizeof kMagic) != 0) return std::nullopt;
  std::vector<Config> last;
  for (size_t at = kLine; at < text->size(); at += kLine) {
    uint64_t call = 0;
    std::memcpy(&call, text->data() + at + 16, sizeof call);
    Config config;
    std::memcpy(static_cast<void*>(&config), text->data() + at, sizeof config);
    if (call != 0 && wellFormed(config)) last.push_back(config);
  }
  return last;
}

}  // namespace autoccl
