#include "transport/fake/fake_wire.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace autoccl {

FakeWire::FakeWire(int nRanks, int rails, size_t capacity)
    : nRanks_(static_cast<size_t>(nRanks)),
      rails_(static_cast<size_t>(rails)),
      capacity_(capacity),
      queues_(nRanks_ * nRanks_ * rails_),
      tallies_(nRanks_) {}

size_t FakeWire::queue(int from, int to, int rail) const {
  const auto f = static_cast<size_t>(from), t = static_cast<size_t>(to);
  const auto r = static_cast<size_t>(rail);
  ACCL_CHECK(f < nRanks_ && t < nRanks_ && f != t && r < rails_);
  return (f * nRanks_ + t) * rails_ + r;
}

bool FakeWire::canSend(int from, int to, int rail) const {
  return queues_[queue(from, to, rail)].size() < capacity_;
}

bool FakeWire::canReceive(int to, int from, int rail) const {
  return !queues_[queue(from, to, rail)].empty();
}

void FakeWire::send(int from, int to, int rail, FakeMessage message) {
  ACCL_CHECK(canSend(from, to, rail));
  Tally& t = tallies_[static_cast<size_t>(from)];
  t.sentWords += message.words.size();
  t.sentMessages += 1;
  message.depth += 1;
  queues_[queue(from, to, rail)].push_back(std::move(message));
}

FakeMessage FakeWire::receive(int to, int from, int rail) {
  ACCL_CHECK(canReceive(to, from, rail));
  auto& q = queues_[queue(from, to, rail)];
  FakeMessage message = std::move(q.front());
  q.pop_front();
  Tally& t = tallies_[static_cast<size_t>(to)];
  t.receivedWords += message.words.size();
  t.receivedMessages += 1;
  t.depth = std::max(t.depth, message.depth);
  return message;
}

bool FakeWire::empty() const {
  return std::all_of(queues_.begin(), queues_.end(), [](const auto& q) { return q.empty(); });
}

}  // namespace autoccl
