// What a leader reads before it begins and keeps on disk while it runs: settings, profile, journal.
#pragma once

#include <string>

#include "edge/session/leader.h"
#include "edge/session/session.h"

namespace autoccl {

/// Options from the AUTOCCL_* settings, the profile (a file that does not fit is a miss and is
/// noted) and the journal and flight recording a crashed run left; begins a new recording. Throws
/// Error for a setting out of its range.
[[nodiscard]] Leader::Options leaderOptions(const TuningSession::Seat& seat);

/// The journal of one communicator: AUTOCCL_JOURNAL plus "." and the communicator's name; empty
/// where the setting is.
[[nodiscard]] std::string journalPath(const std::string& communicator);

/// The flight recording beside a journal.
[[nodiscard]] std::string flightPath(const std::string& journal);

/// After an orderly end nothing is in flight: what stays is what was quarantined.
void closeJournal(const std::string& communicator) noexcept;

}  // namespace autoccl
