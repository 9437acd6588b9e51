#include "store/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/error.h"

namespace autoccl {
namespace {

[[noreturn]] void failOn(const std::string& path, const char* what) {
  const std::error_code cause(errno, std::generic_category());
  throw Error(ErrorCode::kSystem, path + ": cannot " + what + ": " + cause.message());
}

/// Owns a descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

void writeAll(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t n = write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) failOn(path, "write");
    content.remove_prefix(static_cast<size_t>(n));
  }
}

std::string folderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

void writeBeside(const std::string& temporary, const std::string& path, std::string_view content,
                 Durable durable) {
  const Descriptor file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.get() < 0) failOn(path, "write beside it");
  writeAll(file.get(), content, path);
  if (durable == Durable::kYes && fsync(file.get()) != 0) failOn(path, "sync");
  if (rename(temporary.c_str(), path.c_str()) != 0) failOn(path, "replace");
}

}  // namespace

void replaceFile(const std::string& path, std::string_view content, Durable durable) {
  const std::string temporary = path + ".new." + std::to_string(getpid());
  unlink(temporary.c_str());
  try {
    writeBeside(temporary, path, content, durable);
  } catch (...) {
    unlink(temporary.c_str());
    throw;
  }
  if (durable == Durable::kNo) return;
  const Descriptor folder(open(folderOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0 || fsync(folder.get()) != 0) failOn(folderOf(path), "sync");
}

std::optional<std::string> readWholeFile(const std::string& path, size_t maxBytes) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    if (errno == ENOENT) return std::nullopt;
    failOn(path, "open");
  }
  struct stat status {};
  if (fstat(file.get(), &status) != 0) failOn(path, "look at");
  if (!S_ISREG(status.st_mode)) throw Error(ErrorCode::kInput, path + ": is no plain file");
  std::string content;
  char block[65536];
  for (;;) {
    const ssize_t n = read(file.get(), block, sizeof block);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) failOn(path, "read");
    if (n == 0) return content;
    content.append(block, static_cast<size_t>(n));
    if (content.size() > maxBytes)
      throw Error(ErrorCode::kInput,
                  path + ": is larger than " + std::to_string(maxBytes) + " bytes");
  }
}

void makeFolders(const std::string& path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    if (!folder.empty() && mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
      failOn(folder, "make the folder");
    if (slash == std::string::npos) return;
  }
}

}  // namespace autoccl
