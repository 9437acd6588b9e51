#include "agree/message.h"

#include "agree/bytes.h"

namespace autoccl {
namespace {

constexpr size_t kEntryBytes = 8 + 12;
constexpr size_t kTaskBytes = 8 + 4;
constexpr size_t kSampleBytes = 8 + 8 + 12 + 8 + 8 + 1 + 1;

void putConfig(ByteWriter& w, const Config& c) {
  w.put(c.algorithm);
  w.put(c.protocol);
  w.put(c.transport);
  w.put(c.extra);
  w.put(c.channels);
  w.put(c.threads);
  w.put(c.chunk);
}

Config getConfig(ByteReader& r) {
  Config c;
  c.algorithm = static_cast<Algorithm>(r.getBelow(kAlgorithms));
  c.protocol = static_cast<Protocol>(r.getBelow(kProtocols));
  c.transport = static_cast<Transport>(r.getBelow(kTransports));
  c.extra = r.get<uint8_t>();
  c.channels = r.get<uint16_t>();
  c.threads = r.get<uint16_t>();
  c.chunk = r.get<uint32_t>();
  if (!wellFormed(c)) r.fail();
  return c;
}

struct BodyWriter {
  ByteWriter w;

  void operator()(const Join& m) {
    w.put(m.nRanks);
    w.putText(m.digest.version, kMaxText);
    w.putText(m.digest.library, kMaxText);
    w.put(m.digest.settings);
    w.put(m.digest.space);
  }
  void operator()(const Joined&) {}
  void operator()(const Off& m) { w.putText(m.reason, kMaxText); }
  void operator()(const Prepare& m) {
    w.put(m.version);
    w.put(static_cast<uint8_t>(m.freeze));
    w.put(static_cast<uint32_t>(m.tasks.size()));
    for (const auto& task : m.tasks) {
      w.put(task.taskKey);
      w.put(static_cast<uint32_t>(task.entries.size()));
      for (const auto& entry : task.entries) {
        w.put(entry.fromCall);
        putConfig(w, entry.config);
      }
    }
  }
  void operator()(const Ack& m) {
    w.put(m.version);
    w.put(static_cast<uint32_t>(m.nextIndex.size()));
    for (const uint64_t index : m.nextIndex) w.put(index);
    w.put(static_cast<uint32_t>(m.hashes.size()));
    for (const auto& h : m.hashes) {
      w.put(h.calls);
      w.put(h.hash);
    }
    w.put(static_cast<uint8_t>(m.veto));
    w.putText(m.reason, kMaxText);
  }
  void operator()(const Verdict& m) {
    w.put(m.version);
    w.put(static_cast<uint8_t>(m.commit));
  }
  void operator()(const Settled& m) {
    w.put(m.version);
    w.put(static_cast<uint8_t>(m.commit));
    w.put(static_cast<uint8_t>(m.waited));
  }
  void operator()(const Ask& m) { w.put(m.version); }
  void operator()(const Tell& m) {
    w.put(m.version);
    w.put(m.knowledge);
  }
  void operator()(const Samples& m) {
    w.put(m.before);
    w.put(m.sums.firstCallNs);
    w.put(m.sums.lastCallNs);
    w.put(m.sums.exposedNs);
    w.put(m.sums.calls);
    w.put(static_cast<uint32_t>(m.calls.size()));
    for (const CallSample& s : m.calls) {
      w.put(s.taskKey);
      w.put(s.callIndex);
      putConfig(w, s.inEffect);
      w.put(s.arrivedNs);
      w.put(s.finishedNs);
      w.put(static_cast<uint8_t>(s.failed != 0));
      w.put(static_cast<uint8_t>(s.clock));
    }
  }
  void operator()(const Notice& m) {
    w.put(m.skipMask);
    w.put(m.settledTasks);
    w.put(static_cast<uint8_t>(m.ready));
  }
  void operator()(const Parcel& m) {
    w.put(m.step);
    w.put(static_cast<uint32_t>(m.bytes.size()));
    w.putBytes(m.bytes);
  }
};

Join readJoin(ByteReader& r) {
  Join m;
  m.nRanks = r.get<uint32_t>();
  m.digest.version = r.getText(kMaxText);
  m.digest.library = r.getText(kMaxText);
  m.digest.settings = r.get<uint64_t>();
  m.digest.space = r.get<uint64_t>();
  return m;
}

Prepare::TaskChange readTaskChange(ByteReader& r, size_t& entriesLeft) {
  Prepare::TaskChange task;
  task.taskKey = r.get<uint64_t>();
  const size_t count = r.getCount(entriesLeft, kEntryBytes);
  if (task.taskKey == 0 || count == 0) r.fail();
  if (r.failed()) return task;
  entriesLeft -= count;
  task.entries.reserve(count);
  for (size_t i = 0; i < count && !r.failed(); ++i) {
    TableEntry entry;
    entry.fromCall = r.get<uint64_t>();
    entry.config = getConfig(r);
    if (i > 0 && entry.fromCall <= task.entries.back().fromCall) r.fail();
    if (entry.fromCall == UINT64_MAX) r.fail();
    task.entries.push_back(entry);
  }
  return task;
}

Prepare readPrepare(ByteReader& r) {
  Prepare m;
  m.version = r.get<uint64_t>();
  m.freeze = r.getBelow(2) != 0;
  const size_t count = r.getCount(kMaxTasksPerPrepare, kTaskBytes);
  size_t entriesLeft = kMaxEntriesPerPrepare;
  for (size_t i = 0; i < count && !r.failed(); ++i) {
    m.tasks.push_back(readTaskChange(r, entriesLeft));
    for (size_t j = 0; j < i; ++j)
      if (m.tasks[j].taskKey == m.tasks[i].taskKey) r.fail();
  }
  if (m.version == 0) r.fail();
  return m;
}

Ack readAck(ByteReader& r) {
  Ack m;
  m.version = r.get<uint64_t>();
  const size_t count = r.getCount(kMaxTasksPerPrepare, 8);
  for (size_t i = 0; i < count; ++i) m.nextIndex.push_back(r.get<uint64_t>());
  const size_t hashes = r.getCount(kMaxHashes, 16);
  for (size_t i = 0; i < hashes; ++i) {
    SequenceHash h;
    h.calls = r.get<uint64_t>();
    h.hash = r.get<uint64_t>();
    if (h.calls == 0 || h.calls % kHashPeriod != 0) r.fail();
    m.hashes.push_back(h);
  }
  m.veto = r.getBelow(2) != 0;
  m.reason = r.getText(kMaxText);
  return m;
}

Samples readSamples(ByteReader& r) {
  Samples m;
  m.before = r.get<uint64_t>();
  m.sums.firstCallNs = r.get<int64_t>();
  m.sums.lastCallNs = r.get<int64_t>();
  m.sums.exposedNs = r.get<int64_t>();
  m.sums.calls = r.get<int64_t>();
  const size_t count = r.getCount(kMaxSamples, kSampleBytes);
  m.calls.reserve(count);
  for (size_t i = 0; i < count && !r.failed(); ++i) {
    CallSample s;
    s.taskKey = r.get<uint64_t>();
    s.callIndex = r.get<uint64_t>();
    s.inEffect = getConfig(r);
    s.arrivedNs = r.get<int64_t>();
    s.finishedNs = r.get<int64_t>();
    s.failed = r.getBelow(2);
    s.clock = static_cast<CallClock>(r.getBelow(kCallClocks));
    m.calls.push_back(s);
  }
  return m;
}

Notice readNotice(ByteReader& r) {
  Notice m;
  m.skipMask = r.get<uint64_t>();
  m.settledTasks = r.get<uint64_t>();
  m.ready = r.getBelow(2) != 0;
  return m;
}

Parcel readParcel(ByteReader& r) {
  Parcel m;
  m.step = r.get<uint32_t>();
  m.bytes.resize(r.getCount(kMaxParcel, 1));
  for (uint8_t& byte : m.bytes) byte = r.get<uint8_t>();
  return m;
}

Message readBody(uint8_t type, ByteReader& r) {
  switch (type) {
    case 0:
      return readJoin(r);
    case 1:
      return Joined{};
    case 2:
      return Off{r.getText(kMaxText)};
    case 3:
      return readPrepare(r);
    case 4:
      return readAck(r);
    case 5: {
      const auto version = r.get<uint64_t>();
      return Verdict{version, r.getBelow(2) != 0};
    }
    case 6: {
      const auto version = r.get<uint64_t>();
      const bool commit = r.getBelow(2) != 0;
      return Settled{version, commit, r.getBelow(2) != 0};
    }
    case 7:
      return Ask{r.get<uint64_t>()};
    case 8: {
      const auto version = r.get<uint64_t>();
      return Tell{version, static_cast<Knowledge>(r.getBelow(3))};
    }
    case 9:
      return readSamples(r);
    case 10:
      return readNotice(r);
    case 11:
      return readParcel(r);
    default:
      r.fail();
      return Joined{};
  }
}

}  // namespace

Packed pack(const Message& message) {
  Packed packed;
  packed.type = static_cast<uint8_t>(message.index());
  std::visit(BodyWriter{ByteWriter(packed.body)}, message);
  return packed;
}

std::optional<Message> unpack(uint8_t type, std::span<const uint8_t> body) {
  ByteReader reader(body);
  Message message = readBody(type, reader);
  if (!reader.complete()) return std::nullopt;
  return message;
}

}  // namespace autoccl
