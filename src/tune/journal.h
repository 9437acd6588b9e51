// The journal: which configs are being tried right now, so that a crash is not repeated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/config.h"

namespace autoccl {

/// A job that dies leaves its journal behind. The next one quarantines what was in flight, with its
/// larger neighbours, and what was quarantined before. A config is in flight from before its plan
/// is published until the round after its own is over; configs that have run well before
/// are not named.
struct Journal {
  struct Entry {
    uint64_t taskKey = 0;
    Config config;
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  std::vector<Entry> inFlight;
  std::vector<Entry> quarantined;
  friend bool operator==(const Journal&, const Journal&) = default;
};

/// Text, one entry a line:
///   autoccl-journal 1
///   trying 00000000000000ff ring/simple/shm nc=4 nt=1 c=64K wait=spin
///   quarantined 00000000000000ff ...
///   end
[[nodiscard]] std::string formatJournal(const Journal& journal);

/// Reads it back. A journal that was cut short (no "end") still gives its whole lines: it is read
/// after crashes. Anything else wrong throws Error with file:line: reason.
[[nodiscard]] Journal parseJournal(const std::string& text, const std::string& fileName);

/// What ended the job, as far as can be told: of the configs in flight those that a rank ran last;
/// all of them where that is not known (`lastRun` null).
[[nodiscard]] std::vector<Journal::Entry> suspects(const Journal& journal,
                                                   const std::vector<Config>* lastRun);

/// True if c is q or larger than q in its subspace: no smaller in channels, threads and chunk.
[[nodiscard]] bool atLeast(const Config& c, const Config& q) noexcept;

}  // namespace autoccl
