#include "store/nccl/log_ranks.h"

#include <algorithm>

#include "store/nccl/settings.h"

namespace autoccl::nccl {
namespace {

std::string speakerText(std::string_view line) {
  const auto who = speakerOf(line);
  if (!who) return "a rank";
  return std::string(who->host) + " GPU " + std::to_string(who->gpu);
}

/// Names of settings that may differ from rank to rank by their nature.
bool mayDiffer(std::string_view name) {
  return name == "NCCL_DEBUG_FILE" || name == "NCCL_HOSTID" || name == "NCCL_COMM_ID";
}

/// "NET/IB/3/GDRDMA" is NIC 3; nothing for other transports.
std::string_view nicOf(std::string_view transport) {
  if (!transport.starts_with("NET/")) return {};
  const size_t name = transport.find('/', 4);
  if (name == transport.npos) return {};
  const std::string_view rest = transport.substr(name + 1);
  return rest.substr(0, rest.find('/'));
}

}  // namespace

bool LogRanks::line(std::string_view text, size_t number) {
  if (const auto choice = choiceOf(text)) {
    const auto key = std::tuple(choice->function, choice->bytes, choice->algorithm,
                                choice->protocol, choice->channels);
    if (choices_.size() < kMost || choices_.contains(key)) {
      SeenChoice& seen = choices_[key];
      if (seen.times++ == 0) seen = {*choice, 1, number};
    }
    return true;
  }
  if (const auto setting = settingOf(text)) {
    if (!mayDiffer(setting->name)) say(settings_, setting->name, setting->value, text, number);
    return true;
  }
  if (const auto network = networkOf(text)) {
    say(networks_, "network", *network, text, number);
    return true;
  }
  if (const size_t at = text.find("NCCL version "); at != text.npos) {
    const std::string_view version = text.substr(at + 13);
    say(versions_, "version", version.substr(0, version.find_first_of(" \r")), text, number);
    return true;
  }
  if (const auto found = hopOf(text)) {
    hop(*found, text, number);
    return true;
  }
  if (const auto found = channelsOf(text)) {
    channels_ = std::max(channels_, found->collective);
    peerChannels_ = std::max(peerChannels_, found->peer);
    if (channelsLine_ == 0) channelsLine_ = number;
    return true;
  }
  return false;
}

void LogRanks::say(ByName& all, std::string_view name, std::string_view value,
                   std::string_view text, size_t number) {
  auto at = all.find(name);
  if (at == all.end()) {
    if (all.size() >= kMost) return;
    at = all.emplace(std::string(name), std::vector<Said>()).first;
  }
  const bool known =
      std::ranges::any_of(at->second, [&](const Said& s) { return s.value == value; });
  if (!known && at->second.size() < 8)
    at->second.push_back({std::string(value), speakerText(text), number});
}

/// The same GPU of each host should leave by the same NIC on a channel.
void LogRanks::hop(const LogHop& hop, std::string_view text, size_t number) {
  const auto who = speakerOf(text);
  const std::string_view nic = nicOf(hop.transport);
  if (!who || nic.empty() || !hop.sends) return;
  say(nics_, std::to_string(hop.channel) + " of GPU " + std::to_string(who->gpu), nic, text,
      number);
}

void LogRanks::differences(const ByName& all, const std::string& file, std::string_view what,
                           std::string_view consequence, std::string_view fix,
                           std::string_view rule, std::vector<Finding>& out) const {
  for (const auto& [name, said] : all) {
    if (said.size() < 2) continue;
    out.push_back({file + ":" + std::to_string(said[1].line),
                   std::string(what) + (what.ends_with(' ') ? name : "") + " is " + said[1].value +
                       " on " + said[1].who + ", " + said[0].value + " on " + said[0].who,
                   std::string(consequence), std::string(fix), std::string(rule)});
  }
}

void LogRanks::channelsAsked(const std::string& file, std::vector<Finding>& out) const {
  const auto asked = settings_.find("NCCL_MIN_NCHANNELS");
  if (asked == settings_.end() || channels_ == 0) return;
  const int64_t wanted = integerAsRead(asked->second.front().value);
  if (wanted <= channels_) return;
  out.push_back({file + ":" + std::to_string(channelsLine_),
                 "NCCL_MIN_NCHANNELS=" + asked->second.front().value + " asked for, " +
                     std::to_string(channels_) + " channels made",
                 "what was measured is not what was asked for",
                 "ask for no more than the library gives: at most 64, and a multiple of its rings",
                 "log-channels"});
}

std::vector<Finding> LogRanks::findings(const std::string& file) const {
  std::vector<Finding> out;
  differences(versions_, file, "NCCL's version",
              "ranks of different releases hang or fail to connect",
              "install one release on every host", "log-versions", out);
  differences(settings_, file, "setting ",
              "ranks may choose differently and hang, or exchange other sizes",
              "give all ranks the same variables", "log-settings", out);
  differences(networks_, file, "the network", "ranks cannot reach each other, or wait for ever",
              "load the same network plugin on every host", "log-network", out);
  differences(nics_, file, "the NIC on channel ",
              "the same GPU leaves by another NIC on another host: traffic crosses rails",
              "list the NICs in one order on every host (NCCL_IB_HCA)", "log-rails", out);
  channelsAsked(file, out);
  return out;
}

std::vector<SeenChoice> LogRanks::choices() const {
  std::vector<SeenChoice> all;
  all.reserve(choices_.size());
  for (const auto& [key, seen] : choices_) all.push_back(seen);
  return all;
}

}  // namespace autoccl::nccl
