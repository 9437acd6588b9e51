// The channels between the members of one communicator, as its agent thread sees them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agree/core.h"
#include "agree/message.h"

namespace autoccl {

struct LinkEvent {
  enum class Kind {
    kMessage,
    kUp,     // a (new) connection: whatever was under way before it is lost
    kDown,   // lost; the link set tries to reopen it
    kDied,   // the rank's process is gone
    kLeft,   // the rank has ended its part; nothing more comes
    kFault,  // the rank says what this version cannot read; `reason` has the sentence
  };
  Kind kind = Kind::kMessage;
  int rank = 0;
  Message message;
  std::string reason;
};

/// Non-blocking, one agent thread. Messages of one connection arrive whole, in order, once, or not
/// at all; only a holder of the key can send one.
class LinkSet {
 public:
  virtual ~LinkSet() = default;
  /// Moves bytes, accepts and reopens connections, appends what happened.
  virtual void poll(int64_t nowNs, std::vector<LinkEvent>& events) = 0;
  /// Queues a message. False: no link to that rank or its queue is full; the protocol repeats
  /// itself.
  virtual bool send(int to, const Message& message) = 0;
  /// The host's verdict word, where all ranks share memory.
  [[nodiscard]] virtual VerdictWord* word() { return nullptr; }
};

}  // namespace autoccl
