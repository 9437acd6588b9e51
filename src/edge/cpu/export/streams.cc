// Streams and events of the C interface.
#include "edge/session/exposure.h"
#include "handle.h"

namespace autoccl {
namespace {

acclResult_t isNull(const char* what) {
  return refuse(acclInvalidArgument, std::string(what) + " is NULL");
}

}  // namespace

}  // namespace autoccl

using namespace autoccl;

extern "C" {

acclResult_t acclStreamCreate(acclStream_t* stream) {
  return guarded([&] {
    if (stream == nullptr) return isNull("stream");
    *stream = new acclStream;
    return acclSuccess;
  });
}

acclResult_t acclStreamDestroy(acclStream_t stream) {
  return guarded([&] {
    delete stream;
    return acclSuccess;
  });
}

acclResult_t acclStreamSynchronize(acclStream_t stream) {
  return guarded([&] {
    const Exposure::Wait wait;
    if (stream != nullptr) stream->stream.synchronize();
    return acclSuccess;
  });
}

acclResult_t acclStreamQuery(acclStream_t stream) {
  return guarded(
      [&] { return stream == nullptr || stream->stream.idle() ? acclSuccess : acclInProgress; });
}

acclResult_t acclStreamWaitEvent(acclStream_t stream, acclEvent_t event) {
  return guarded([&] {
    if (event == nullptr) return isNull("event");
    const uint64_t mark = event->event->lastMark();
    if (stream == nullptr) {
      event->event->wait(mark);
      return acclSuccess;
    }
    stream->stream.enqueue([shared = event->event->retain(), mark] {
      shared->wait(mark);
      shared->drop();
    });
    return acclSuccess;
  });
}

acclResult_t acclLaunchHostFunc(acclStream_t stream, void (*fn)(void*), void* arg) {
  return guarded([&] {
    if (fn == nullptr) return isNull("fn");
    if (stream == nullptr)
      fn(arg);
    else
      stream->stream.enqueue([fn, arg] { fn(arg); });
    return acclSuccess;
  });
}

acclResult_t acclEventCreate(acclEvent_t* event) {
  return guarded([&] {
    if (event == nullptr) return isNull("event");
    *event = new acclEvent;
    return acclSuccess;
  });
}

acclResult_t acclEventDestroy(acclEvent_t event) {
  return guarded([&] {
    if (event != nullptr) event->event->drop();
    delete event;
    return acclSuccess;
  });
}

acclResult_t acclEventRecord(acclEvent_t event, acclStream_t stream) {
  return guarded([&] {
    if (event == nullptr) return isNull("event");
    event->event->record(stream != nullptr ? &stream->stream : nullptr);
    return acclSuccess;
  });
}

acclResult_t acclEventSynchronize(acclEvent_t event) {
  return guarded([&] {
    if (event == nullptr) return isNull("event");
    const Exposure::Wait wait;
    event->event->wait(event->event->lastMark());
    return acclSuccess;
  });
}

acclResult_t acclEventElapsedTime(float* ms, acclEvent_t start, acclEvent_t end) {
  return guarded([&] {
    if (ms == nullptr || start == nullptr || end == nullptr) return isNull("an argument");
    for (const acclEvent_t event : {start, end}) {
      const uint64_t mark = event->event->lastMark();
      if (mark == 0) return refuse(acclInvalidArgument, "an event was never recorded");
      if (!event->event->done(mark))
        return refuse(acclInProgress, "an event has not been passed yet");
    }
    *ms = static_cast<float>(static_cast<double>(end->event->timeNs() - start->event->timeNs()) *
                             1e-6);
    return acclSuccess;
  });
}

}  // extern "C"
