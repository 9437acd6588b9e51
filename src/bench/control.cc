#include "bench/control.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/error.h"

namespace autoccl::bench {
namespace {

constexpr uint32_t kSleepySpins = 200;
constexpr uint32_t kCrowdedSpins = 20;

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::kSystem, what + ": " + std::strerror(errno));
}

}  // namespace

ControlBlock::ControlBlock(int nRanks, int cores) {
  fd_ = memfd_create("autoccl-bench", MFD_CLOEXEC);
  if (fd_ < 0) refuse("bench: cannot make the control block");
  if (ftruncate(fd_, sizeof(Control)) != 0) {
    const int why = errno;
    close(fd_);
    errno = why;
    refuse("bench: cannot size the control block to " + std::to_string(sizeof(Control)) + " bytes");
  }
  map();
  control_->nRanks = static_cast<uint32_t>(nRanks);
  control_->cores = static_cast<uint32_t>(cores);
  control_->conductor = getpid();
}

ControlBlock::ControlBlock(const std::string& path) {
  fd_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd_ < 0) refuse("bench worker: cannot open the control block " + path);
  map();
}

ControlBlock::~ControlBlock() {
  munmap(control_, sizeof(Control));
  close(fd_);
}

void ControlBlock::map() {
  void* at = mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (at == MAP_FAILED) {
    const int why = errno;
    close(fd_);
    errno = why;
    refuse("bench: cannot map the control block");
  }
  control_ = static_cast<Control*>(at);
}

std::string ControlBlock::path() const {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd_);
}

std::string_view toText(LoadKind kind) noexcept {
  switch (kind) {
    case LoadKind::kLight:
      return "light";
    case LoadKind::kHeavy:
      return "heavy";
    case LoadKind::kNone:
      break;
  }
  return "none";
}

std::optional<LoadKind> loadFromText(std::string_view text) noexcept {
  for (const LoadKind kind : {LoadKind::kNone, LoadKind::kLight, LoadKind::kHeavy})
    if (text == toText(kind)) return kind;
  return std::nullopt;
}

bool conductorGone(const Control& control) noexcept {
  return kill(control.conductor, 0) != 0 && errno == ESRCH;
}

bool barrier(Control& control, uint32_t round) noexcept {
  const bool quiet = !control.now.sleepyBarrier && control.now.load == LoadKind::kNone;
  const bool crowded = control.nRanks > control.cores;
  WaitRules rules;
  rules.alive = [](void* c) noexcept { return !conductorGone(*static_cast<Control*>(c)); };
  rules.aliveContext = &control;
  rules.policy = quiet && crowded ? WaitPolicy::kYield : WaitPolicy::kFutex;
  if (control.now.sleepyBarrier) rules.spins = kSleepySpins;
  if (crowded) rules.spins = kCrowdedSpins;
  const uint32_t target = round * control.nRanks;
  add(control.arrive, 1);
  if (!waitFor(control.arrive, target, rules)) return false;
  if (quiet && !crowded) rules.policy = WaitPolicy::kSpin;
  add(control.align, 1);
  return waitFor(control.align, target, rules);
}

}  // namespace autoccl::bench
