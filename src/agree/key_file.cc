#include "agree/key_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <vector>

#include "base/error.h"

namespace autoccl {
namespace {

constexpr size_t kMaxKeyBytes = 4096;

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

}  // namespace

MacKey readKeyFile(const std::string& path) {
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
  struct stat status {};
  if (file.fd < 0 || fstat(file.fd, &status) != 0)
    throw Error(ErrorCode::kInput, path + ": " + std::strerror(errno),
                "AUTOCCL_KEY_FILE must name a file of 16 random bytes or more");
  if (!S_ISREG(status.st_mode) || (status.st_mode & 077) != 0 || status.st_uid != geteuid())
    throw Error(ErrorCode::kInput, path + ": others may read or write the key, or own it",
                "chmod 600 it, as the user who runs the job");
  std::vector<uint8_t> bytes(kMaxKeyBytes + 1);
  const ssize_t count = read(file.fd, bytes.data(), bytes.size());
  MacKey key{};
  if (count < static_cast<ssize_t>(key.size()) || count > static_cast<ssize_t>(kMaxKeyBytes))
    throw Error(ErrorCode::kInput, path + ": the key has " + std::to_string(count) + " bytes",
                "allowed: 16 to 4096");
  bytes.resize(static_cast<size_t>(count));
  std::copy_n(bytes.begin(), key.size(), key.begin());
  if (bytes.size() == key.size()) return key;
  return sipHash128(key, std::span(bytes).subspan(key.size()));
}

}  // namespace autoccl
