#include "cli/job.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "base/clock.h"
#include "base/error.h"

namespace autoccl::cli {
namespace {

constexpr std::array kForwarded{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int kTickMs = 250;

[[noreturn]] void failOn(const std::string& what) {
  throw Error(ErrorCode::kSystem,
              what + ": " + std::error_code(errno, std::generic_category()).message());
}

/// A pipe's reading end that hands on whole lines; the last one also without its newline.
class LineForwarder {
 public:
  LineForwarder(int from, int to, std::string prefix)
      : from_(from), to_(to), prefix_(std::move(prefix)) {}
  [[nodiscard]] int from() const { return from_; }
  [[nodiscard]] bool open() const { return from_ >= 0; }

  void take() {
    char block[65536];
    const ssize_t n = read(from_, block, sizeof block);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n > 0)
      pending_.append(block, static_cast<size_t>(n));
    else
      finish();
    flushLines();
  }
  void finish() {
    if (from_ < 0) return;
    close(from_);
    from_ = -1;
    if (!pending_.empty() && pending_.back() != '\n') pending_ += '\n';
    flushLines();
  }

 private:
  void flushLines() {
    const size_t end = pending_.rfind('\n');
    if (end == std::string::npos) return;
    std::string out;
    for (size_t at = 0; at <= end;) {
      const size_t next = pending_.find('\n', at) + 1;
      out.append(prefix_).append(pending_, at, next - at);
      at = next;
    }
    pending_.erase(0, end + 1);
    for (std::string_view rest = out; !rest.empty();) {
      const ssize_t n = write(to_, rest.data(), rest.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return;  // our reader is gone; the ranks go on
      rest.remove_prefix(static_cast<size_t>(n));
    }
  }

  int from_, to_;
  std::string prefix_, pending_;
};

void sleepUntilReadable(std::vector<pollfd>& polled, int timeoutMs) {
  if (poll(polled.data(), polled.size(), timeoutMs) < 0 && errno != EINTR) failOn("poll");
}

class Job {
 public:
  Job(const std::vector<RankCommand>& ranks, const JobOptions& options)
      : ranks_(ranks), options_(options), pids_(ranks.size(), 0) {
    sigemptyset(&watched_);
    sigaddset(&watched_, SIGCHLD);
    for (const int s : kForwarded) sigaddset(&watched_, s);
    sigprocmask(SIG_BLOCK, &watched_, &before_);
    signals_ = signalfd(-1, &watched_, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals_ < 0) failOn("signalfd");
  }
  ~Job() {
    killAll(SIGKILL);
    for (const pid_t pid : pids_)
      if (pid > 0) waitpid(pid, nullptr, 0);
    for (LineForwarder& lines : forwarders_) lines.finish();
    if (signals_ >= 0) close(signals_);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  JobEnd run() {
    for (size_t r = 0; r < ranks_.size(); ++r) start(r);
    const int64_t begun = nowNs();
    int64_t nextTick = begun;
    while (running() > 0) {
      waitForEvents();
      reap();
      const int64_t now = nowNs();
      if (options_.timeoutSeconds > 0 && now - begun > seconds(options_.timeoutSeconds))
        timeOut(now);
      enforceEnd(now);
      if (options_.tick && now >= nextTick) {
        options_.tick();
        nextTick = now + kSecondNs / 2;
      }
    }
    drain();
    return end_;
  }

 private:
  static int64_t seconds(double s) {
    return static_cast<int64_t>(s * static_cast<double>(kSecondNs));
  }
  [[nodiscard]] size_t running() const {
    return static_cast<size_t>(
        std::count_if(pids_.begin(), pids_.end(), [](pid_t p) { return p > 0; }));
  }

  void start(size_t r) {
    std::array<int, 2> out{-1, -1}, err{-1, -1}, started{-1, -1};
    const bool piped = options_.captured;
    if (pipe2(started.data(), O_CLOEXEC) != 0) failOn("pipe");
    if (piped && (pipe2(out.data(), O_CLOEXEC) != 0 || pipe2(err.data(), O_CLOEXEC) != 0))
      failOn("pipe");
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0) failOn("fork");
    if (pid == 0) becomeRank(r, piped ? out[1] : -1, piped ? err[1] : -1, started[1], parent);
    pids_[r] = pid;
    setpgid(pid, pid);  // here too: a signal may come before the child has done it
    close(started[1]);
    if (piped) {
      close(out[1]);
      close(err[1]);
      const std::string prefix = options_.prefixed ? "[" + std::to_string(r) + "] " : "";
      forwarders_.emplace_back(out[0], STDOUT_FILENO, prefix);
      forwarders_.emplace_back(err[0], STDERR_FILENO, prefix);
    }
    int cause = 0;
    const ssize_t n = read(started[0], &cause, sizeof cause);
    close(started[0]);
    if (n != sizeof cause) return;  // exec closed the pipe: the program runs
    throw Error(ErrorCode::kUsage, "CMD: cannot run '" + ranks_[r].words[0] + "': " +
                                       std::error_code(cause, std::generic_category()).message());
  }

  [[noreturn]] void becomeRank(size_t r, int out, int err, int started, pid_t parent) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);  // it died before we asked to be told
    if (out >= 0) dup2(out, STDOUT_FILENO);
    if (err >= 0) dup2(err, STDERR_FILENO);
    if (r > 0 || isatty(STDIN_FILENO)) {
      const int null = open("/dev/null", O_RDONLY);
      if (null >= 0) dup2(null, STDIN_FILENO);
    }
    sigprocmask(SIG_SETMASK, &before_, nullptr);
    if (!ranks_[r].cores.empty()) {
      cpu_set_t set;
      CPU_ZERO(&set);
      for (const int core : ranks_[r].cores) CPU_SET(static_cast<size_t>(core), &set);
      sched_setaffinity(0, sizeof set, &set);
    }
    for (const auto& [name, value] : ranks_[r].variables) setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> words;
    for (const std::string& word : ranks_[r].words)
      words.push_back(const_cast<char*>(word.c_str()));  // execvp does not write to them
    words.push_back(nullptr);
    execvp(words[0], words.data());
    const int cause = errno;
    [[maybe_unused]] const ssize_t n = write(started, &cause, sizeof cause);
    _exit(127);
  }

  void waitForEvents() {
    std::vector<pollfd> polled{{signals_, POLLIN, 0}};
    std::vector<LineForwarder*> owners{nullptr};
    for (LineForwarder& lines : forwarders_) {
      if (!lines.open()) continue;
      polled.push_back({lines.from(), POLLIN, 0});
      owners.push_back(&lines);
    }
    sleepUntilReadable(polled, kTickMs);
    bool announced = false;
    for (size_t i = 1; i < polled.size(); ++i) {
      if (polled[i].revents == 0) continue;
      if (!announced && options_.beforeLines) options_.beforeLines();
      announced = true;
      owners[i]->take();
    }
    signalfd_siginfo info{};
    while (read(signals_, &info, sizeof info) == sizeof info) {
      const int s = static_cast<int>(info.ssi_signo);
      if (s != SIGCHLD) forward(s);
    }
  }

  void forward(int s) {
    killAll(s);
    if (s == SIGUSR1 || s == SIGUSR2) return;
    if (end_.interrupted) return killAll(SIGKILL);  // the second time is meant
    end_.interrupted = true;
    if (end_.status == 0) {
      end_.status = 128 + s;
      end_.signal = s;
    }
    endBy(nowNs());
  }

  void reap() {
    for (size_t r = 0; r < pids_.size(); ++r) {
      if (pids_[r] <= 0) continue;
      siginfo_t ended{};
      const auto id = static_cast<id_t>(pids_[r]);
      if (waitid(P_PID, id, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0)
        continue;
      killpg(pids_[r], SIGKILL);  // what the rank left behind, while its number is still its own
      int how = 0;
      waitpid(pids_[r], &how, 0);
      pids_[r] = 0;
      if (how == 0 || end_.status != 0) continue;
      end_.failedRank = static_cast<int>(r);
      end_.signal = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
      end_.status = WIFSIGNALED(how) ? 128 + end_.signal : WEXITSTATUS(how);
      endBy(nowNs());
    }
  }

  void timeOut(int64_t now) {
    if (end_.timedOut) return;
    end_.timedOut = true;
    if (end_.status == 0) end_.status = 1;
    termAt_ = now;
    killAt_ = now + kSecondNs;
  }
  void endBy(int64_t now) {
    if (termAt_ != 0) return;
    termAt_ = now + seconds(options_.graceSeconds);
    killAt_ = termAt_ + kSecondNs;
  }
  void enforceEnd(int64_t now) {
    if (termAt_ == 0 || now < termAt_) return;
    if (now >= killAt_) return killAll(SIGKILL);
    if (!termSent_) killAll(SIGTERM);
    termSent_ = true;
  }
  void killAll(int s) {
    for (const pid_t pid : pids_)
      if (pid > 0) killpg(pid, s);
  }

  /// What is left in the pipes of ranks that have ended; a stray grandchild may hold one open.
  void drain() {
    if (options_.beforeLines) options_.beforeLines();
    for (LineForwarder& lines : forwarders_) {
      while (lines.open()) {
        std::vector<pollfd> polled{{lines.from(), POLLIN, 0}};
        sleepUntilReadable(polled, 0);
        if (polled[0].revents == 0) break;
        lines.take();
      }
      lines.finish();
    }
  }

  const std::vector<RankCommand>& ranks_;
  const JobOptions& options_;
  std::vector<pid_t> pids_;  // 0: has ended
  std::vector<LineForwarder> forwarders_;
  sigset_t watched_{}, before_{};
  int signals_ = -1;
  int64_t termAt_ = 0, killAt_ = 0;
  bool termSent_ = false;
  JobEnd end_;
};

}  // namespace

std::string JobEnd::text() const {
  const std::string rank = "rank " + std::to_string(failedRank);
  if (timedOut) return "the job did not end within its --timeout and was ended";
  if (interrupted) return std::string("the job was ended by ") + strsignal(signal);
  if (failedRank < 0) return "";
  if (signal)
    return rank + " was killed by signal " + std::to_string(signal) + " (" + strsignal(signal) +
           ")";
  return rank + " failed with exit status " + std::to_string(status);
}

JobEnd runJob(const std::vector<RankCommand>& ranks, const JobOptions& options) {
  return Job(ranks, options).run();
}

}  // namespace autoccl::cli
