#include "bench/group.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/clock.h"
#include "base/error.h"

namespace autoccl::bench {
namespace {

constexpr double kStartTimeoutS = 30;
constexpr double kEndTimeoutS = 3;

/// In the child: only calls that are safe after fork.
[[noreturn]] void becomeWorker(char* const* argv, char* const* environment, int log) noexcept {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  execvpe(argv[0], argv, environment);
  dprintf(STDERR_FILENO, "cannot start %s: %s\n", argv[0], strerror(errno));
  _exit(127);
}

std::string endOf(int status) {
  if (WIFSIGNALED(status)) return "was killed by signal " + std::to_string(WTERMSIG(status));
  return "ended with status " + std::to_string(WEXITSTATUS(status));
}

std::vector<char*> pointersTo(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& t : texts) out.push_back(t.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

Group::Group(GroupSpec spec, int nRanks, int cores)
    : spec_(std::move(spec)), nRanks_(nRanks), control_(nRanks, cores) {
  log_ = memfd_create("autoccl-bench-log", MFD_CLOEXEC);
  if (log_ >= 0) fcntl(log_, F_SETFL, O_APPEND);
  try {
    start();
    await(control_->attached, static_cast<uint32_t>(nRanks_), kStartTimeoutS, "starting");
  } catch (...) {
    endByForce();
    close(log_);
    throw;
  }
}

Group::~Group() {
  control_->now.kind = CommandKind::kExit;
  raise(control_->command, ++commands_);
  awaitEnd(kEndTimeoutS);
  endByForce();
  close(log_);
}

void Group::start() {
  if (spec_.launcher) return startProcess({});
  for (int r = 0; r < nRanks_; ++r)
    startProcess({{kRankVariable, std::to_string(r)}, {kRanksVariable, std::to_string(nRanks_)}});
}

void Group::startProcess(const std::vector<std::pair<std::string, std::string>>& own) {
  std::vector<std::string> settings;
  for (char** e = environ; *e; ++e) settings.emplace_back(*e);
  settings.push_back(std::string(kControlVariable) + "=" + control_.path());
  for (const auto& list : {spec_.environment, own})
    for (const auto& [name, value] : list) {
      settings.push_back(name);
      settings.back().append("=").append(value);
    }
  std::vector<char*> argv = pointersTo(spec_.argv);
  std::vector<char*> environment = pointersTo(settings);
  const pid_t child = fork();
  if (child == 0) becomeWorker(argv.data(), environment.data(), log_);
  if (child < 0) throw Error(ErrorCode::kSystem, "bench: cannot fork for " + spec_.name);
  setpgid(child, child);
  processes_.push_back(child);
}

bool Group::anyEnded() noexcept {
  bool ended = false;
  for (pid_t& p : processes_)
    if (p != 0 && waitpid(p, &lastStatus_, WNOHANG) == p) {
      p = 0;
      ended = true;
    }
  return ended;
}

void Group::await(Flag& flag, uint32_t target, double timeoutS, const std::string& doing) {
  struct Watch {
    Group* group;
    int64_t untilNs;
    bool ended = false;
  } watch{this, nowNs() + static_cast<int64_t>(timeoutS * 1e9)};
  WaitRules rules;
  rules.spins = 0;
  rules.alive = [](void* c) noexcept {
    auto& w = *static_cast<Watch*>(c);
    w.ended = w.group->anyEnded();
    return !w.ended && nowNs() < w.untilNs;
  };
  rules.aliveContext = &watch;
  if (waitFor(flag, target, rules)) return;
  lost_ = true;
  const std::string why =
      watch.ended ? endOf(lastStatus_)
                  : "did not answer within " + std::to_string(static_cast<int>(timeoutS)) + " s";
  throw Error(ErrorCode::kRemote,
              "bench: " + spec_.name + " " + why + " while " + doing + lastWords());
}

std::string Group::lastWords() const {
  std::string text(1500, '\0');
  const off_t size = lseek(log_, 0, SEEK_END);
  const off_t from = std::max<off_t>(0, size - static_cast<off_t>(text.size()));
  const ssize_t n = pread(log_, text.data(), text.size(), from);
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  return text.empty() ? "" : "; it said:\n" + text;
}

void Group::awaitEnd(double timeoutS) noexcept {
  const int64_t until = nowNs() + static_cast<int64_t>(timeoutS * 1e9);
  while (!processes_.empty() && nowNs() < until) {
    if (anyEnded())
      std::erase(processes_, 0);
    else
      usleep(2000);
  }
}

void Group::endByForce() noexcept {
  // A launcher ends its ranks when it is asked to, not when it is killed.
  for (const pid_t p : processes_)
    if (p != 0) kill(-p, SIGTERM);
  std::erase(processes_, 0);
  awaitEnd(1);
  for (const pid_t p : processes_) {
    kill(-p, SIGKILL);
    waitpid(p, nullptr, 0);
  }
  processes_.clear();
}

GroupReply Group::run(const Command& command, double timeoutS) {
  if (lost_)
    throw Error(ErrorCode::kRemote, "bench: " + spec_.name + " is lost since an earlier failure");
  control_->now = command;
  control_->stopAt = UINT32_MAX;
  control_->iterationsDone = 0;
  raise(control_->command, ++commands_);
  await(
      control_->finished, commands_ * static_cast<uint32_t>(nRanks_), timeoutS,
      std::string(toText(command.collective)) + " of " + std::to_string(command.bytes) + " bytes");
  return collect(command);
}

GroupReply Group::collect(const Command& command) const {
  GroupReply out;
  for (int r = 0; r < nRanks_; ++r) {
    const RankReply& reply = control_->replies[static_cast<size_t>(r)];
    out.wrong += reply.wrong;
    out.loadGflops += reply.loadGflops;
    if (r == 0) out.tuned = reply.tuned != 0;
    if (r == 0) out.config = reply.config.data();
    if (out.error.empty() && reply.error[0] != '\0')
      out.error = "rank " + std::to_string(r) + ": " + reply.error.data();
  }
  if (command.kind != CommandKind::kMeasure || !out.error.empty()) return out;
  for (uint32_t i = 0; i < control_->iterationsDone; ++i) {
    int64_t slowest = 0;
    for (int r = 0; r < nRanks_; ++r)
      slowest = std::max(slowest, control_->callNs[static_cast<size_t>(r)][i]);
    out.us.push_back(static_cast<double>(slowest) / 1e3);
  }
  return out;
}

std::vector<std::string> Group::space(Collective collective, uint64_t bytes) {
  Command command;
  command.kind = CommandKind::kSpace;
  command.collective = collective;
  command.bytes = bytes;
  const GroupReply reply = run(command, kStartTimeoutS);
  if (!reply.error.empty())
    throw Error(ErrorCode::kRemote, "bench: " + spec_.name + ", " + reply.error);
  std::vector<std::string> lines;
  const std::string_view text(control_->text.data(), control_->textBytes);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) lines.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace autoccl::bench
