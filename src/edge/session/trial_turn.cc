#include "edge/session/trial_turn.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/clock.h"
#include "base/log.h"

namespace autoccl {
namespace {

constexpr int64_t kStandBackNs = 6'000'000;  // three looks of another leader
constexpr int kTaken = -1, kRefused = -2;

/// The socket that has the name from now on, kTaken, or kRefused where there are none here.
int bound(const std::string& name) {
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return kRefused;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const size_t length = std::min(name.size(), sizeof(address.sun_path) - 1);
  std::memcpy(address.sun_path + 1, name.data(), length);
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), bytes) == 0) return fd;
  const bool taken = errno == EADDRINUSE;
  close(fd);
  return taken ? kTaken : kRefused;
}

void release(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

}  // namespace

std::string TrialTurn::nameOf(const char* part) const {
  return "autoccl-" + std::to_string(getuid()) + "-" + place_ + "-" + part;
}

/// With the time of this very moment: inside the turn, unlike the step's.
void TrialTurn::log(const char* what) const {
  if (logLevel() >= LogLevel::kDebug)
    logLine(LogLevel::kDebug,
            "trials of " + owner_ + ": turn " + what + " at " + std::to_string(nowNs()));
}

bool TrialTurn::take(int64_t now) {
  if (held_) return true;
  if (now < standBackNs_) return false;
  if (waitingSinceNs_ == 0) waitingSinceNs_ = now;
  const int fd = bound(nameOf("turn"));
  if (fd == kTaken && now - waitingSinceNs_ < kPatienceNs) {
    if (waiting_ < 0) waiting_ = std::max(bound(nameOf("wait")), -1);
    return false;
  }
  turn_ = std::max(fd, -1);
  release(waiting_);
  waitingSinceNs_ = 0;
  held_ = true;
  log(turn_ >= 0 ? "taken" : "not waited for");
  return true;
}

void TrialTurn::begun(std::vector<std::pair<uint64_t, uint64_t>> lastCalls, int64_t now) {
  if (!held_) return;
  running_ = std::move(lastCalls);
  begun_ = true;
  endNs_ = now + kLongestNs;
}

void TrialTurn::seen(uint64_t taskKey, uint64_t callIndex) {
  if (begun_)
    std::erase_if(running_, [&](const auto& last) {
      return last.first == taskKey && callIndex >= last.second;
    });
}

void TrialTurn::step(int64_t now) {
  if (begun_ && (running_.empty() || now >= endNs_)) giveBack(now);
}

void TrialTurn::giveBack(int64_t now) {
  if (!held_) return release(waiting_);
  log("given back");
  release(turn_);
  held_ = begun_ = false;
  running_.clear();
  int other = bound(nameOf("wait"));
  if (other == kTaken) standBackNs_ = now + kStandBackNs;
  release(other);
}

}  // namespace autoccl
