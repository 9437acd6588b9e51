#include "edge/session/record_book.h"

#include <utility>

#include "base/clock.h"
#include "base/date.h"
#include "base/launchers.h"
#include "base/log.h"
#include "base/settings.h"
#include "store/file.h"
#include "store/machine.h"

namespace autoccl {
namespace {

std::string resultPath() {
  std::string path = settingText("AUTOCCL_RESULT");
  const std::string rank = launchedRankText();
  if (!path.empty() && !rank.empty() && rank != "0") path += "." + rank;
  return path;
}

}  // namespace

// Never destroyed: a program may end with sessions open, whose agent threads then still run.
RecordBook& RecordBook::ofProcess() {
  static auto* const book = new RecordBook;
  return *book;
}

RecordBook::RecordBook() : path_(resultPath()), date_(isoDate()), startedNs_(nowNs()) {
  const Machine machine = readMachine();
  machine_ = fingerprintOf(machine);
  machineText_ = toText(machine);
}

RunRecord RecordBook::joined() const {
  RunRecord whole;
  whole.machine = machine_;
  whole.machineText = machineText_;
  whole.library = "autoccl " AUTOCCL_VERSION;
  whole.date = date_;
  whole.wallSeconds = static_cast<double>(nowNs() - startedNs_) / 1e9;
  bool finished = true;
  for (const auto& [id, part] : parts_) {
    joinRecords(whole, part.record);
    finished &= part.finished;
  }
  whole.state = finished ? "finished" : "running";
  return whole;
}

void RecordBook::put(uint64_t sessionId, RunRecord part, bool finished) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    parts_[sessionId] = {std::move(part), finished};
    if (!path_.empty()) replaceFile(path_, writeRunRecord(joined()), Durable::kNo);
  } catch (const std::exception& error) {
    if (!std::exchange(told_, true)) logLine(LogLevel::kWarn, error.what());
  }
}

}  // namespace autoccl
