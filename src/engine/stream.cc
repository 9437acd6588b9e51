#include "engine/stream.h"

#include <algorithm>

#include "base/clock.h"
#include "transport/quiet_thread.h"

namespace autoccl {

Stream::Stream(const std::string& name) : ring_(kDepth) {
  thread_ = startQuietThread(name, [this] { serve(); });
}

Stream::~Stream() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  filled_.notify_all();
  thread_.join();
}

void Stream::push(const Item& item) {
  std::unique_lock lock(mutex_);
  emptied_.wait(lock, [&] { return pushed_ - taken_ < kDepth; });
  ring_[pushed_++ % kDepth] = item;
  lock.unlock();
  filled_.notify_one();
}

void Stream::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    filled_.wait(lock, [&] { return stop_ || pushed_ != taken_; });
    if (pushed_ == taken_) return;
    Item item = ring_[taken_++ % kDepth];
    lock.unlock();
    item.run(item.storage.data());
    lock.lock();
    ++finished_;
    emptied_.notify_all();
  }
}

void Stream::synchronize() {
  std::unique_lock lock(mutex_);
  const uint64_t goal = pushed_;
  emptied_.wait(lock, [&] { return finished_ >= goal; });
}

bool Stream::idle() const {
  const std::lock_guard lock(mutex_);
  return finished_ == pushed_;
}

void Event::record(Stream* stream) {
  uint64_t mark;
  {
    const std::lock_guard lock(mutex_);
    mark = ++recorded_;
  }
  if (stream == nullptr) {
    pass(mark);
    return;
  }
  stream->enqueue([event = retain(), mark] {
    event->pass(mark);
    event->drop();
  });
}

void Event::pass(uint64_t mark) noexcept {
  {
    const std::lock_guard lock(mutex_);
    done_ = std::max(done_, mark);
    timeNs_ = nowNs();
  }
  passed_.notify_all();
}

uint64_t Event::lastMark() const {
  const std::lock_guard lock(mutex_);
  return recorded_;
}

void Event::wait(uint64_t mark) {
  std::unique_lock lock(mutex_);
  passed_.wait(lock, [&] { return done_ >= mark; });
}

bool Event::done(uint64_t mark) const {
  const std::lock_guard lock(mutex_);
  return done_ >= mark;
}

int64_t Event::timeNs() const {
  const std::lock_guard lock(mutex_);
  return timeNs_;
}

}  // namespace autoccl
