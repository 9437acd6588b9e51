#include "edge/session/sample_links.h"

#include <algorithm>

namespace autoccl {

SampleLinks::SampleLinks(const TcpLinks::Options& options, SampleBoard& board)
    : links_(options),
      board_(board),
      rank_(options.rank),
      nRanks_(options.nRanks),
      received_(static_cast<size_t>(nRanks_)),
      noticed_(static_cast<size_t>(nRanks_)) {}

void SampleLinks::poll(int64_t nowNs, std::vector<LinkEvent>& events) {
  const auto before = static_cast<std::ptrdiff_t>(events.size());
  links_.poll(nowNs, events);
  events.erase(std::remove_if(events.begin() + before, events.end(),
                              [this](const LinkEvent& event) { return consume(event); }),
               events.end());
}

/// True for what is not the agreement's.
bool SampleLinks::consume(const LinkEvent& event) {
  if (event.kind == LinkEvent::Kind::kUp && leads()) {
    noticed_[static_cast<size_t>(event.rank)].reset();
    sendNotice(event.rank);
  }
  if (event.kind != LinkEvent::Kind::kMessage) return false;
  if (const auto* samples = std::get_if<Samples>(&event.message)) {
    if (leads()) takeSamples(event.rank, *samples);
    return true;
  }
  const auto* notice = std::get_if<Notice>(&event.message);
  if (!notice) return false;
  if (!leads() && event.rank == 0) {
    board_.setSkipMask(notice->skipMask);
    board_.setSettledTasks(notice->settledTasks);
    if (notice->ready) board_.setReady();
  }
  return true;
}

void SampleLinks::takeSamples(int rank, const Samples& samples) {
  RankBoard& board = board_.of(rank);
  board.firstCallNs.store(samples.sums.firstCallNs, std::memory_order_relaxed);
  board.lastCallNs.store(samples.sums.lastCallNs, std::memory_order_relaxed);
  board.exposedNs.store(samples.sums.exposedNs, std::memory_order_relaxed);
  board.calls.store(samples.sums.calls, std::memory_order_relaxed);
  uint64_t& received = received_[static_cast<size_t>(rank)];
  board.lost.store(samples.before > received ? samples.before - received : 0,
                   std::memory_order_relaxed);
  received += samples.calls.size();
  for (const CallSample& sample : samples.calls) (void)board.samples.push(sample);
}

void SampleLinks::pump() {
  if (!leads()) return sendSamples();
  for (int rank = 1; rank < nRanks_; ++rank) sendNotice(rank);
}

void SampleLinks::sendSamples() {
  RankBoard& mine = board_.of(rank_);
  if (!links_.idle(0)) return;
  Samples message;
  message.before = taken_ + mine.samples.dropped() + mine.lost.load(std::memory_order_relaxed);
  CallSample sample;
  while (message.calls.size() < kMaxSamples && mine.samples.pop(sample))
    message.calls.push_back(sample);
  if (message.calls.empty()) return;
  taken_ += message.calls.size();
  message.sums = {mine.firstCallNs.load(std::memory_order_relaxed),
                  mine.lastCallNs.load(std::memory_order_relaxed),
                  mine.exposedNs.load(std::memory_order_relaxed),
                  mine.calls.load(std::memory_order_relaxed)};
  (void)links_.send(0, message);
}

void SampleLinks::sendNotice(int to) {
  const Notice now{board_.skipMask(), board_.settledTasks(), board_.ready()};
  auto& noticed = noticed_[static_cast<size_t>(to)];
  if (noticed != now && links_.send(to, now)) noticed = now;
}

}  // namespace autoccl
