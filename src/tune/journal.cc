#include "tune/journal.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/error.h"

namespace autoccl {
namespace {

constexpr std::string_view kHead = "autoccl-journal 1";
constexpr std::string_view kTrying = "trying ";
constexpr std::string_view kQuarantined = "quarantined ";
constexpr std::string_view kEnd = "end";
constexpr size_t kKeyDigits = 16;

std::string hex(uint64_t value) {
  char digits[kKeyDigits + 1];
  const auto end = std::to_chars(digits, digits + kKeyDigits, value, 16).ptr;
  const std::string text(digits, end);
  return std::string(kKeyDigits - text.size(), '0') + text;
}

void put(std::string& text, std::string_view word, const std::vector<Journal::Entry>& entries) {
  for (const auto& e : entries)
    text.append(word).append(hex(e.taskKey)).append(" ").append(toText(e.config)).append("\n");
}

Journal::Entry entryOf(std::string_view rest) {
  Journal::Entry entry;
  const char* const stop = rest.data() + std::min(kKeyDigits, rest.size());
  const auto [end, error] = std::from_chars(rest.data(), stop, entry.taskKey, 16);
  if (error != std::errc() || end != stop || rest.size() <= kKeyDigits || rest[kKeyDigits] != ' ')
    throw Error(ErrorCode::kInput, "no task key", "a line is WORD, 16 hex digits, config");
  entry.config = parseConfig(rest.substr(kKeyDigits + 1));
  return entry;
}

void readLine(Journal& journal, std::string_view line) {
  if (line.starts_with(kTrying))
    journal.inFlight.push_back(entryOf(line.substr(kTrying.size())));
  else if (line.starts_with(kQuarantined))
    journal.quarantined.push_back(entryOf(line.substr(kQuarantined.size())));
  else
    throw Error(ErrorCode::kInput, "unknown line", "allowed: trying, quarantined, end");
}

}  // namespace

std::string formatJournal(const Journal& journal) {
  std::string text(kHead);
  text += "\n";
  put(text, kTrying, journal.inFlight);
  put(text, kQuarantined, journal.quarantined);
  return text.append(kEnd).append("\n");
}

Journal parseJournal(const std::string& text, const std::string& fileName) {
  Journal journal;
  std::string_view rest = text;
  for (int number = 1; !rest.empty(); ++number) {
    const size_t stop = rest.find('\n');
    if (stop == std::string_view::npos) break;  // cut short
    const std::string_view line = rest.substr(0, stop);
    rest.remove_prefix(stop + 1);
    try {
      if (number == 1) {
        if (line != kHead)
          throw Error(ErrorCode::kInput, "not a journal", "it begins with 'autoccl-journal 1'");
      } else if (line == kEnd) {
        break;
      } else {
        readLine(journal, line);
      }
    } catch (const Error& e) {
      throw Error(ErrorCode::kInput, fileName + ":" + std::to_string(number) + ": " + e.what());
    }
  }
  return journal;
}

std::vector<Journal::Entry> suspects(const Journal& journal, const std::vector<Config>* lastRun) {
  if (lastRun == nullptr) return journal.inFlight;
  std::vector<Journal::Entry> found;
  for (const Journal::Entry& e : journal.inFlight)
    if (std::find(lastRun->begin(), lastRun->end(), e.config) != lastRun->end()) found.push_back(e);
  return found;
}

bool atLeast(const Config& c, const Config& q) noexcept {
  return c.algorithm == q.algorithm && c.protocol == q.protocol && c.transport == q.transport &&
         c.extra == q.extra && c.channels >= q.channels && c.threads >= q.threads &&
         c.chunk >= q.chunk;
}

}  // namespace autoccl
