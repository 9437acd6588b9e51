// For tests: links with delays and faults as a seed or a test wants them, in one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "agree/link.h"

namespace autoccl {

/// The network of n ranks. A message takes a random time up to maxDelayNs; messages of one
/// direction keep their order; a cut link loses what is on it. Every message is packed and
/// unpacked.
class SimNet {
 public:
  SimNet(int nRanks, uint64_t seed, int64_t maxDelayNs)
      : n_(nRanks), random_(seed), maxDelayNs_(maxDelayNs) {
    wires_.resize(static_cast<size_t>(nRanks) * static_cast<size_t>(nRanks));
  }

  void send(int from, int to, const Message& message, int64_t nowNs) {
    Wire& wire = at(from, to);
    if (wire.cut) return;
    const int64_t delay = std::uniform_int_distribution<int64_t>(0, maxDelayNs_)(random_);
    wire.lastNs = std::max(wire.lastNs, nowNs + delay);
    wire.queue.emplace_back(wire.lastNs, pack(message));
  }
  void cut(int a, int b, bool cut) {
    for (Wire* wire : {&at(a, b), &at(b, a)}) {
      wire->queue.clear();
      if (wire->cut != cut) wire->changed = true;
      wire->cut = cut;
    }
  }
  void poll(int rank, int64_t nowNs, std::vector<LinkEvent>& events) {
    for (int from = 0; from < n_; ++from) {
      Wire& wire = at(from, rank);
      if (from == rank) continue;
      if (std::exchange(wire.changed, false))
        happened(events, wire.cut ? LinkEvent::Kind::kDown : LinkEvent::Kind::kUp, from);
      while (!wire.queue.empty() && wire.queue.front().first <= nowNs) {
        const Packed& packed = wire.queue.front().second;
        if (auto message = unpack(packed.type, packed.body)) {
          LinkEvent& event = events.emplace_back();
          event.rank = from;
          event.message = std::move(*message);
        }
        wire.queue.pop_front();
      }
    }
  }

 private:
  static void happened(std::vector<LinkEvent>& events, LinkEvent::Kind kind, int rank) {
    LinkEvent& event = events.emplace_back();
    event.kind = kind;
    event.rank = rank;
  }
  struct Wire {
    std::deque<std::pair<int64_t, Packed>> queue;
    int64_t lastNs = 0;
    bool cut = false;
    bool changed = true;  // up from the start
  };
  Wire& at(int from, int to) {
    return wires_[static_cast<size_t>(from) * static_cast<size_t>(n_) + static_cast<size_t>(to)];
  }

  int n_;
  std::mt19937_64 random_;
  int64_t maxDelayNs_;
  std::vector<Wire> wires_;
};

class SimLinks final : public LinkSet {
 public:
  SimLinks(std::shared_ptr<SimNet> net, int rank) : net_(std::move(net)), rank_(rank) {}
  void poll(int64_t nowNs, std::vector<LinkEvent>& events) override {
    nowNs_ = nowNs;
    net_->poll(rank_, nowNs, events);
  }
  bool send(int to, const Message& message) override {
    net_->send(rank_, to, message, nowNs_);
    return true;
  }

 private:
  std::shared_ptr<SimNet> net_;
  int rank_;
  int64_t nowNs_ = 0;
};

}  // namespace autoccl
