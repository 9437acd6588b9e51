// Send and receive on a communicator: the mailboxes are in mail.cc.
#include "engine/communicator.h"

namespace autoccl {

Communicator::Issue Communicator::issueMail() noexcept {
  while (issuing_.test_and_set(
      std::memory_order_acquire)) {  // two threads at once: a fault of the program
  }
  Issue issue;
  issue.turn = issued_++;
  issuing_.clear(std::memory_order_release);
  return issue;
}

bool Communicator::executeMail(std::span<const Letter> letters, std::span<uint8_t> state,
                               const Issue& issue) noexcept {
  awaitTurn(issue);
  const bool done = !broken() && deliver(letters, state);
  if (!done) explainBreak();
  passTurn(issue);
  return done;
}

bool Communicator::deliver(std::span<const Letter> letters, std::span<uint8_t> state) noexcept {
  WaitRules rules = rulesFor(host_.crowded() ? WaitPolicy::kYield : WaitPolicy::kFutex);
  rules.alive = mailPeersAlive;
  mailPeers_ = 0;
  for (const Letter& letter : letters) mailPeers_ |= uint64_t{1} << letter.peer;
  switch (mail_.deliver(letters, state, rules)) {
    case Mail::Outcome::kDone:
      return true;
    case Mail::Outcome::kLengths: {
      const Mail::Faulty f = mail_.faulty();
      breakWith(ErrorCode::kUsage, "rank " + std::to_string(f.peer) + " sends " +
                                       std::to_string(f.sent) + " bytes, the receive expects " +
                                       std::to_string(f.expected) +
                                       "; give both sides the same count and type");
      return false;
    }
    case Mail::Outcome::kCopyFailed:
      breakWith(ErrorCode::kSystem, "the bytes of a send could not be read from its process");
      return false;
    case Mail::Outcome::kBroken:
      break;
  }
  const int dead = liveness_.findDead([&](int r) { return (mailPeers_ >> r & 1) != 0; });
  if (dead >= 0)
    breakWith(ErrorCode::kRemote,
              "rank " + std::to_string(dead) + " ended with a send or receive under way");
  return false;
}

bool Communicator::mailPeersAlive(void* context) noexcept {
  auto& self = *static_cast<Communicator*>(context);
  return self.liveness_.findDead([&](int r) { return (self.mailPeers_ >> r & 1) != 0; }) < 0;
}

}  // namespace autoccl
