// Single lines of a NCCL_DEBUG=INFO log as values: formats of all releases.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace autoccl::nccl {

/// Who printed a line: "host:pid:tid [gpu] NCCL INFO …", after whatever a launcher put before it.
struct LogSpeaker {
  std::string_view host;
  int pid = 0;
  int gpu = -1;
};
[[nodiscard]] std::optional<LogSpeaker> speakerOf(std::string_view line);

/// What NCCL chose for a call. Three forms: "N Bytes -> Algo 1 proto 2 time T" (to 2.21),
/// "AllReduce: N Bytes -> Algo 1 proto 2 time T", "AllReduce: N Bytes -> Algo RING proto SIMPLE
/// channel{Lo..Hi}={0..15}" (from 2.22). -1 and 4 (AllReduce is not assumed): not said.
struct LogChoice {
  int function = -1;  // index into kFunctions
  uint64_t bytes = 0;
  int algorithm = -1, protocol = -1;  // indices into kAlgorithms and kProtocols
  double us = 0;                      // by its model; 0: not said
  int channels = 0;                   // 0: not said
};
[[nodiscard]] std::optional<LogChoice> choiceOf(std::string_view line);

/// "NCCL_X set by environment to Y." and its variants.
struct LogSetting {
  std::string_view name, value;
};
[[nodiscard]] std::optional<LogSetting> settingOf(std::string_view line);

/// "Channel 03/0 : 1[1] -> 9[1] [send] via NET/IB/3/GDRDMA", also without brackets or "/0".
struct LogHop {
  int channel = 0, from = 0, to = 0;
  bool sends = false;          // from a send side; of network hops alone
  std::string_view transport;  // "NET/IB/3/GDRDMA", "P2P/IPC", "SHM/direct/direct"
};
[[nodiscard]] std::optional<LogHop> hopOf(std::string_view line);

/// "Channel 00/16 :    0   1 …" says 16, "16 coll channels, …, 32 p2p channels" says both.
struct LogChannels {
  int collective = 0, peer = 0;  // 0: not said
};
[[nodiscard]] std::optional<LogChannels> channelsOf(std::string_view line);

/// "Using network IB".
[[nodiscard]] std::optional<std::string_view> networkOf(std::string_view line);

}  // namespace autoccl::nccl
