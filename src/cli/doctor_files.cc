#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/lines.h"
#include "cli/doctor.h"
#include "cli/output.h"
#include "report/text_table.h"
#include "store/hccl/lint.h"
#include "store/nccl/lint.h"
#include "store/nccl/log.h"
#include "store/nccl/rules.h"
#include "store/nccl/settings.h"
#include "topo/any_file.h"
#include "topo/fabric.h"
#include "topo/lint.h"
#include "topo/lspci.h"
#include "topo/nccl_check.h"
#include "topo/nccl_graphs.h"
#include "topo/summary.h"
#include "topo/words.h"

namespace autoccl::cli {
namespace {

/// One file on its way through the readers.
struct File {
  const DoctorInput& input;
  std::string path;
  std::string text;
  std::string_view firstLine;  // that is not empty and no comment
  DoctorFiles& all;
};

std::string_view firstLineOf(std::string_view text) {
  std::string_view found;
  eachLine(text, [&](std::string_view line, int) {
    if (found.empty() && !line.empty() && !line.starts_with('#')) found = line;
  });
  return found;
}

bool isTopology(const File& f) {
  const topo::FileKind kind = topo::kindOfFile(f.text);
  return kind != topo::FileKind::kOther && kind != topo::FileKind::kFabric;
}
void topology(File& f, DoctorReport& report) {
  if (topo::kindOfFile(f.text) == topo::FileKind::kNcclGraphs) {
    const topo::NcclGraphs graphs = topo::readNcclGraphs(f.text, f.path);
    report.text += f.path + ": " + std::to_string(graphs.graphs.size()) + " graphs of NCCL\n";
    return;
  }
  f.all.hosts.push_back(topo::readHost(f.text, f.path));
  f.all.named.emplace_back(f.path, &f.all.hosts.back());
  report.text += f.path + ": " + topo::summaryOf(f.all.hosts.back()) + "\n";
  if (topo::kindOfFile(f.text) == topo::FileKind::kNcclTopology)
    report.add(topo::ncclRefusals(f.text, f.path));
  report.add(topo::lintHost(f.all.hosts.back(), f.path));
}

bool isFabric(const File& f) {
  return topo::kindOfFile(f.text) == topo::FileKind::kFabric;
}
void fabric(File& f, DoctorReport& report) {
  const topo::Fabric read = topo::readFabric(f.text, f.path);
  report.text += f.path + ": a fabric of " + std::to_string(read.hosts) + " hosts\n";
  for (const topo::Leaf& leaf : read.leaves)
    if (leaf.rails.size() > 1 && read.spines > 0 && read.oversubscription(leaf) > 1)
      report.findings.push_back({f.path,
                                 leaf.name + " takes " + std::to_string(leaf.rails.size()) +
                                     " NICs of a host and is oversubscribed " +
                                     amount(read.oversubscription(leaf)) + " : 1",
                                 "NICs of one host share the way up to the spine",
                                 "put each NIC of a host on a leaf of its own", "topo-leaf"});
}

bool isTable(const File& f) {
  return nccl::looksLikeBenchTable(f.text);
}
void table(File& f, DoctorReport& report) {
  nccl::BenchTable read = nccl::readBenchTable(f.text, f.path);
  report.text +=
      f.path + ": output of nccl-tests, " + std::to_string(read.rows.size()) + " sizes" +
      (read.ranks > 0 ? ", " + std::to_string(read.ranks) + " ranks on " +
                            std::to_string(read.hosts) + (read.hosts == 1 ? " host" : " hosts")
                      : "") +
      (read.foreignLines > 0 ? ", " + std::to_string(read.foreignLines) + " other lines inside"
                             : "") +
      "\n";
  f.all.tables.push_back(std::move(read));
}

bool isLspci(const File& f) {
  return topo::looksLikeLspci(f.text);
}
void lspci(File& f, DoctorReport& report) {
  report.text += f.path + ": lspci -vvv\n";
  report.add(topo::lspciFindings(f.text, f.path));
}

bool isRules(const File& f) {
  return std::ranges::count(f.firstLine, ',') >= 7;
}
void rules(File& f, DoctorReport& report) {
  const std::vector<nccl::Rule> read = nccl::readRules(f.text, f.path);
  report.text += f.path + ": a tuner's rule file, " + std::to_string(read.size()) + " rules\n";
  report.add(nccl::lintRules(read, f.path));
}

bool isConf(const File& f) {
  return f.firstLine.find('=') != f.firstLine.npos && f.firstLine.find(' ') > f.firstLine.find('=');
}
void conf(File& f, DoctorReport& report) {
  nccl::Sources sources;
  std::vector<hccl::Setting> hccls;
  for (const nccl::Setting& s : nccl::readConf(f.text, f.path))
    if (s.name.starts_with("HCCL_"))
      hccls.push_back({s.name, s.value, s.where});
    else
      sources.all.push_back(s);
  report.text += f.path + ": NCCL settings, " + std::to_string(sources.all.size()) + " of them";
  report.text += hccls.empty() ? "\n" : "; HCCL's, " + std::to_string(hccls.size()) + "\n";
  report.add(nccl::lintSettings(sources, f.input.ncclVersion));
  report.add(hccl::lintSettings(hccls));
}

bool isAny(const File&) {
  return true;
}
void log(File& f, DoctorReport& report) {
  const nccl::Log read = nccl::readLog(f.text, f.path);
  report.text +=
      f.path + ": " + std::to_string(read.ncclLines) + " of " + std::to_string(read.lines) +
      " lines are NCCL's; version " +
      (read.version == 0 ? "unknown" : nccl::versionText(read.version)) + ", tuner plugin " +
      (!read.tuner.empty() ? read.tuner
       : read.sawTuner     ? "not active"
                           : "unknown") +
      (read.network.empty() ? "" : ", network " + read.network) +
      (read.channels > 0 ? ", " + std::to_string(read.channels) + " channels" : "") +
      (read.cutLines > 0 ? ", " + std::to_string(read.cutLines) + " lines cut off" : "") + "\n";
  report.text += nccl::choicesText(read);
  report.add(read.findings);
}

/// The first that knows a file reads it.
struct FileReader {
  bool (*is)(const File& file);
  void (*look)(File& file, DoctorReport& report);
};
constexpr std::array<FileReader, 7> kReaders = {{{isTopology, topology},
                                                 {isFabric, fabric},
                                                 {isTable, table},
                                                 {isLspci, lspci},
                                                 {isRules, rules},
                                                 {isConf, conf},
                                                 {isAny, log}}};

void lookAtFile(const DoctorInput& input, const std::string& path, DoctorFiles& all,
                DoctorReport& report) {
  File file{input, path, readInput(path), {}, all};
  file.firstLine = firstLineOf(file.text);
  constexpr const char* kGive =
      "give a log, a table of nccl-tests, a nccl.conf, a rule file or a topology";
  if (file.text.find('\0') != std::string::npos)
    throw Error(ErrorCode::kInput, path + ": is a binary file", kGive);
  if (file.firstLine.empty()) throw Error(ErrorCode::kInput, path + ": has no line to read", kGive);
  std::ranges::find_if(kReaders, [&](const FileReader& r) {
    return r.is(file);
  })->look(file, report);
}

}  // namespace

void lookAtFiles(const DoctorInput& input, DoctorReport& report) {
  DoctorFiles all;
  for (const std::string& path : input.files) try {
      lookAtFile(input, path, all, report);
    } catch (const Error& error) {
      report.unreadable.emplace_back(error.what());
    }
  report.add(topo::lintRails(all.named));
  lookAtTables(input, all, report);
}

}  // namespace autoccl::cli
