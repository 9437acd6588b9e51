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

Exchange::Exchange(const TcpLinks::Options& options, int64_t deadlineNs)
    : links_(options),
      rank_(options.rank),
      nRanks_(options.nRanks),
      deadlineNs_(deadlineNs),
      ofRanks_(static_cast<size_t>(options.nRanks)) {}

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
  (void)links_.send(to, Parcel{step_, rank_ == 0 ? *answer_ : mine_});
}

void Exchange::pump() {
  events_.clear();
  links_.poll(nowNs(), events_);
  for (const LinkEvent& e : events_) {
    left_ = left_ || e.kind == LinkEvent::Kind::kLeft || e.kind == LinkEvent::Kind::kDied ||
            e.kind == LinkEvent::Kind::kFault;
    // What was under way on an older connection is lost.
    if (e.kind == LinkEvent::Kind::kUp && (rank_ == 0 ? answer_.has_value() : e.rank == 0))
      send(e.rank);
    const auto* parcel =
        e.kind == LinkEvent::Kind::kMessage ? std::get_if<Parcel>(&e.message) : nullptr;
    if (parcel == nullptr) continue;
    if (rank_ != 0) {
      if (parcel->step == step_) answer_ = parcel->bytes;
    } else if (parcel->step == step_ && answer_) {
      send(e.rank);  // it has asked again
    } else {
      ofRanks_[static_cast<size_t>(e.rank)] = parcel->bytes;
    }
  }
}

bool Exchange::collected() const {
  return std::all_of(ofRanks_.begin(), ofRanks_.end(), [](const auto& b) { return b.has_value(); });
}

std::optional<Exchange::Bytes> Exchange::step(const Bytes& mine, const Answer& answer) {
  ++step_;
  mine_ = mine;
  answer_.reset();
  if (rank_ == 0)
    ofRanks_[0] = mine;
  else
    send(0);
  while (nowNs() < deadlineNs_) {
    pump();
    if (rank_ == 0 && collected()) {
      std::vector<Bytes> all;
      for (auto& bytes : ofRanks_) all.push_back(*std::exchange(bytes, std::nullopt));
      answer_ = answer(all);
      for (int r = 1; r < nRanks_; ++r) send(r);
    }
    if (answer_) return answer_;
    if (left_) return std::nullopt;
    std::this_thread::sleep_for(kNap);
  }
  left_ = true;
  return std::nullopt;
}

}  // namespace autoccl
