// Runs jobs on the doubles and reads what the double noted of them, for tests.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace autoccl::testing {

using Environment = std::vector<std::pair<std::string, std::string>>;

struct Ran {
  int status = 0;    // of the command; 124: stopped after `seconds`
  std::string text;  // standard output and error together
  [[nodiscard]] bool says(const std::string& words) const {
    return text.find(words) != std::string::npos;
  }
};

/// Runs a program of the build's bin folder with these words, on the doubles.
[[nodiscard]] Ran runJob(const std::string& words, const Environment& variables = {},
                         int seconds = 60);

/// A folder for NCCL_DOUBLE_TRACE, and what was noted in it.
class TraceFolder {
 public:
  TraceFolder();
  ~TraceFolder();
  TraceFolder(const TraceFolder&) = delete;
  TraceFolder& operator=(const TraceFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

  /// Forgets what was noted.
  void clear();
  /// Lines of all files that contain all the words.
  [[nodiscard]] std::vector<std::string> lines(const std::vector<std::string>& words) const;
  /// The first two ranks of one communicator whose calls differ, as text; "" if all agree.
  [[nodiscard]] std::string firstDifference() const;
  /// Calls noted over all ranks.
  [[nodiscard]] size_t calls() const { return lines({"call "}).size(); }

 private:
  std::string path_;
};

/// Runs the job with `calls` calls, then with four and sixteen times as many, until `seen` holds of
/// what was noted: how many calls pass before the agents have had their turn depends on the
/// machine. The trace is the last run's.
[[nodiscard]] Ran runUntil(const std::function<bool()>& seen, int calls, const std::string& words,
                           TraceFolder& trace, const Environment& variables);

/// The words after "choices " of every rank's last line.
[[nodiscard]] std::vector<std::string> choicesOf(const Ran& ran);

}  // namespace autoccl::testing
