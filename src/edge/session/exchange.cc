#include "edge/session/exchange.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/clock.h"

namespace autoccl {
namespace {

constexpr auto kNap = std::chrono::microseconds(200);
constexpr int64_t kFarewellNs = 1'000'000'000;  // for the last answers to leave

}  // namespace

Exchange::Exchange(const TcpLinks::Options& options, int64_t deadlineNs,
                   std::function<bool()> cancelled)
    : links_(options),
      rank_(options.rank),
      nRanks_(options.nRanks),
      deadlineNs_(deadlineNs),
      cancelled_(std::move(cancelled)),
      ofRanks_(static_cast<size_t>(options.nRanks)),
      next_(ofRanks_.size()) {}

Exchange::~Exchange() {
  if (rank_ != 0 || left_) return;
  const int64_t until = std::min(deadlineNs_, nowNs() + kFarewellNs);
  const auto allSent = [&] {
    for (int r = 1; r < nRanks_; ++r)
      if (!links_.idle(r)) return false;
    return true;
  };
  while (!allSent() && nowNs() < until) {
    pump();
    std::this_thread::sleep_for(kNap);
  }
}

void Exchange::send(int to) {
  (void)links_.send(to, Parcel{step_, rank_ == 0 ? *answer_ : *mine_});
}

void Exchange::pump() {
  events_.clear();
  links_.poll(nowNs(), events_);
  for (const LinkEvent& e : events_) {
    left_ = left_ || e.kind == LinkEvent::Kind::kLeft || e.kind == LinkEvent::Kind::kDied ||
            e.kind == LinkEvent::Kind::kFault;
    // What was under way on an older connection is lost.
    if (e.kind == LinkEvent::Kind::kUp && (rank_ == 0 ? answer_.has_value() : e.rank == 0 && mine_))
      send(e.rank);
    const auto* parcel =
        e.kind == LinkEvent::Kind::kMessage ? std::get_if<Parcel>(&e.message) : nullptr;
    if (parcel == nullptr) continue;
    if (rank_ != 0) {
      if (parcel->step == step_) answer_ = parcel->bytes;
    } else if (parcel->step == step_ && answer_) {
      send(e.rank);  // it has asked again
    } else if (parcel->step == step_) {
      ofRanks_[static_cast<size_t>(e.rank)] = parcel->bytes;
    } else if (parcel->step == step_ + 1) {  // it has the answer that we are about to leave
      next_[static_cast<size_t>(e.rank)] = parcel->bytes;
    }
  }
}

bool Exchange::collected() const {
  return std::all_of(ofRanks_.begin(), ofRanks_.end(), [](const auto& b) { return b.has_value(); });
}

bool Exchange::anyFalse() const {
  return std::any_of(ofRanks_.begin(), ofRanks_.end(),
                     [](const auto& b) { return b && (b->empty() || b->front() == 0); });
}

void Exchange::begin() {
  ++step_;
  mine_.reset();
  answer_.reset();
  ofRanks_ = std::exchange(next_, std::vector<std::optional<Bytes>>(ofRanks_.size()));
}

void Exchange::give(const Bytes& mine) {
  mine_ = mine;
  if (rank_ == 0)
    ofRanks_[0] = mine;
  else
    send(0);
}

void Exchange::conclude(const Bytes& answer) {
  answer_ = answer;
  for (int r = 1; r < nRanks_; ++r) send(r);
}

bool Exchange::wait() {
  if (left_) return false;
  if (nowNs() >= deadlineNs_ || (cancelled_ && cancelled_())) {
    left_ = true;
    return false;
  }
  std::this_thread::sleep_for(kNap);
  return true;
}

std::optional<Exchange::Bytes> Exchange::step(const Bytes& mine, const Answer& answer) {
  begin();
  give(mine);
  do {
    pump();
    if (rank_ == 0 && collected()) {
      std::vector<Bytes> all;
      for (const auto& bytes : ofRanks_) all.push_back(*bytes);
      conclude(answer(all));
    }
  } while (!answer_ && wait());
  return answer_;
}

std::optional<bool> Exchange::all(const std::function<std::optional<bool>()>& mine) {
  begin();
  do {
    pump();
    if (answer_) break;
    if (const auto said = mine_ ? std::nullopt : mine())
      give({static_cast<uint8_t>(*said ? 1 : 0)});
    if (rank_ == 0 && (anyFalse() || collected()))
      conclude({static_cast<uint8_t>(anyFalse() ? 0 : 1)});
  } while (!answer_ && wait());
  if (!answer_) return std::nullopt;
  return !answer_->empty() && answer_->front() != 0;
}

}  // namespace autoccl
