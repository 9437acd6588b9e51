#include "store/nccl/log_lines.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "store/nccl/choice.h"

namespace autoccl::nccl {
namespace {

/// Takes parts off the front of a text; says by `ok` whether all were there.
struct Cursor {
  std::string_view rest;
  bool ok = true;

  void blanks() {
    while (rest.starts_with(' ')) rest.remove_prefix(1);
  }
  void word(std::string_view expected) {
    blanks();
    ok = ok && rest.starts_with(expected);
    if (ok) rest.remove_prefix(expected.size());
  }
  bool tryWord(std::string_view maybe) {
    blanks();
    if (!rest.starts_with(maybe)) return false;
    rest.remove_prefix(maybe.size());
    return true;
  }
  template <class T>
  T number() {
    blanks();
    T value{};
    const auto [at, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    ok = ok && error == std::errc();
    rest.remove_prefix(static_cast<size_t>(at - rest.data()));
    return value;
  }
  std::string_view token() {
    blanks();
    const std::string_view found = rest.substr(0, rest.find_first_of(" \t\r"));
    rest.remove_prefix(found.size());
    return found;
  }
};

char lowered(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
bool sameWord(std::string_view a, std::string_view b) {
  // Logs write COLLNET_DIRECT or CollNetDirect.
  const auto next = [](std::string_view& s) {
    while (s.starts_with('_')) s.remove_prefix(1);
    if (s.empty()) return '\0';
    const char c = lowered(s.front());
    s.remove_prefix(1);
    return c;
  };
  for (;;) {
    const char x = next(a), y = next(b);
    if (x != y) return false;
    if (x == '\0') return true;
  }
}

/// A number of the table, or one of its names; -1 for anything else.
template <class Names>
int indexOf(std::string_view word, const Names& names) {
  int number = 0;
  const char* const end = word.data() + word.size();
  const auto [at, error] = std::from_chars(word.data(), end, number);
  if (error == std::errc() && at == end)
    return number >= 0 && number < static_cast<int>(names.size()) ? number : -1;
  const auto found = std::ranges::find_if(names, [&](auto name) { return sameWord(name, word); });
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

/// The word that ends where `text` ends.
std::string_view lastWord(std::string_view text) {
  while (text.ends_with(' ')) text.remove_suffix(1);
  const size_t blank = text.find_last_of(" \t");
  return blank == text.npos ? text : text.substr(blank + 1);
}

}  // namespace

std::optional<LogSpeaker> speakerOf(std::string_view line) {
  const size_t mark = line.find("] NCCL ");
  if (mark == line.npos) return std::nullopt;
  const size_t open = line.rfind('[', mark);
  if (open == line.npos) return std::nullopt;
  LogSpeaker speaker;
  Cursor gpu{line.substr(open + 1, mark - open - 1)};
  speaker.gpu = gpu.number<int>();
  const std::string_view who = lastWord(line.substr(0, open));  // host:pid:tid
  const size_t first = who.find(':'), second = who.find(':', first + 1);
  if (!gpu.ok || first == who.npos || second == who.npos) return std::nullopt;
  Cursor pid{who.substr(first + 1, second - first - 1)};
  speaker.pid = pid.number<int>();
  speaker.host = who.substr(0, first);
  return pid.ok ? std::optional(speaker) : std::nullopt;
}

std::optional<LogChoice> choiceOf(std::string_view line) {
  constexpr std::string_view kMark = " Bytes -> Algo ";
  const size_t at = line.find(kMark);
  if (at == line.npos) return std::nullopt;
  LogChoice choice;
  const std::string_view before = line.substr(0, at);
  const std::string_view size = lastWord(before);
  Cursor bytes{size};
  choice.bytes = bytes.number<uint64_t>();
  if (!bytes.ok) return std::nullopt;
  const std::string_view function = lastWord(before.substr(0, before.size() - size.size()));
  if (function.ends_with(':'))
    choice.function = indexOf(function.substr(0, function.size() - 1), kFunctions);
  Cursor after{line.substr(at + kMark.size())};
  choice.algorithm = indexOf(after.token(), kAlgorithms);
  after.word("proto");
  choice.protocol = indexOf(after.token(), kProtocols);
  if (!after.ok) return std::nullopt;
  if (after.tryWord("time")) choice.us = after.number<double>();
  if (after.tryWord("channel{Lo..Hi}={")) {
    const int low = after.number<int>();
    after.word("..");
    const int high = after.number<int>();
    if (after.ok && high >= low) choice.channels = high - low + 1;
  }
  return choice;
}

std::optional<LogSetting> settingOf(std::string_view line) {
  constexpr std::string_view kMark = " set by environment to ";
  const size_t at = line.find(kMark);
  if (at == line.npos) return std::nullopt;
  LogSetting setting{lastWord(line.substr(0, at)), line.substr(at + kMark.size())};
  while (setting.value.ends_with(' ') || setting.value.ends_with('\r'))
    setting.value.remove_suffix(1);
  if (setting.value.ends_with('.')) setting.value.remove_suffix(1);
  return setting.name.starts_with("NCCL_") ? std::optional(setting) : std::nullopt;
}

std::optional<LogHop> hopOf(std::string_view line) {
  const size_t at = line.find("Channel ");
  const size_t via = line.rfind(" via ");
  if (at == line.npos || via == line.npos || via < at) return std::nullopt;
  LogHop hop;
  Cursor c{line.substr(at + 8)};
  hop.channel = c.number<int>();
  if (c.rest.starts_with('/')) {
    c.rest.remove_prefix(1);
    (void)c.number<int>();
  }
  c.word(":");
  hop.from = c.number<int>();
  (void)c.token();
  c.word("->");
  hop.to = c.number<int>();
  hop.sends = c.rest.substr(0, c.rest.find(" via ")).find("[send]") != std::string_view::npos;
  Cursor last{line.substr(via + 5)};
  hop.transport = last.token();
  return c.ok ? std::optional(hop) : std::nullopt;
}

std::optional<LogChannels> channelsOf(std::string_view line) {
  LogChannels channels;
  if (const size_t at = line.find(" coll channels"); at != line.npos) {
    Cursor c{lastWord(line.substr(0, at))};
    channels.collective = c.number<int>();
    const size_t peer = line.find(" p2p channels,");
    Cursor p{peer == line.npos ? std::string_view() : lastWord(line.substr(0, peer))};
    const int number = p.number<int>();
    if (p.ok) channels.peer = number;
    return c.ok ? std::optional(channels) : std::nullopt;
  }
  const size_t at = line.find("Channel ");
  if (at == line.npos || line.find("->") != line.npos) return std::nullopt;
  Cursor c{line.substr(at + 8)};
  (void)c.number<int>();
  c.word("/");
  channels.collective = c.number<int>();
  c.word(":");
  return c.ok ? std::optional(channels) : std::nullopt;
}

std::optional<std::string_view> networkOf(std::string_view line) {
  constexpr std::string_view kMark = "Using network ";
  const size_t at = line.find(kMark);
  if (at == line.npos) return std::nullopt;
  std::string_view name = line.substr(at + kMark.size());
  while (name.ends_with(' ') || name.ends_with('\r')) name.remove_suffix(1);
  return name;
}

}  // namespace autoccl::nccl
