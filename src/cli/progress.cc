#include "cli/progress.h"

#include <unistd.h>

#include <cstdio>

#include "base/clock.h"
#include "base/error.h"
#include "report/summary.h"
#include "store/file.h"

namespace autoccl::cli {
namespace {

constexpr int64_t kIntervalNs = 2'000'000'000;

}  // namespace

Progress::Progress(bool on) : on_(on && isatty(STDERR_FILENO)) {}

void Progress::show(const std::string& recordPath) {
  if (!on_) return;
  if (nowNs() >= nextNs_) {
    nextNs_ = nowNs() + kIntervalNs;
    try {
      if (const auto text = readWholeFile(recordPath)) {
        RunRecord record = readRunRecord(*text, recordPath);
        line_ = progressText(before_, record);
        before_ = std::move(record);
      }
    } catch (const Error& error) {
      line_ = error.what();
    }
  }
  if (line_.empty()) return;
  std::fprintf(stderr, "\r\033[K%s", line_.c_str());
  std::fflush(stderr);
  shown_ = true;
}

void Progress::clear() {
  if (!shown_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace autoccl::cli
