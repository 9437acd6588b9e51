// Which of its calls an engine measures.
#pragma once

namespace autoccl {

/// kTrials: those of trials, and of tasks that nothing has been tried for (CallGate::resolve);
/// their clock is the stream's where they are timed on it.
enum class Measuring { kEveryCall, kTrials };

}  // namespace autoccl
