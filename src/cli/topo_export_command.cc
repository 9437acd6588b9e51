#include <array>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/topo_commands.h"
#include "store/nccl/log.h"
#include "topo/any_file.h"
#include "topo/discover.h"
#include "topo/nccl_complete.h"
#include "topo/nccl_env.h"
#include "topo/platform.h"
#include "topo/summary.h"

namespace autoccl::cli {
namespace {

struct Options {
  std::string file, sysRoot, platform, format = "nccl", cpu, version, topoFile, out = "-";
  bool rails = false;
};

topo::CpuFacts cpuHere() {
  const topo::Host host = topo::discover();
  const topo::NumaNode& n = host.numa.front();
  return {n.arch, n.vendor, n.family, n.model};
}

std::string xmlIn(topo::XmlDialect dialect, topo::Host host, const Options& o) {
  std::optional<topo::CpuFacts> cpu;
  if (!o.cpu.empty()) cpu = o.cpu == "here" ? cpuHere() : topo::cpuFactsOf(o.cpu);
  const std::string source = o.file.empty() ? "this machine" : o.file;
  for (const std::string& sentence : topo::completeForNccl(host, source, cpu, dialect))
    std::fprintf(stderr, "%s\n", sentence.c_str());
  for (const std::string& note : host.notes) std::fprintf(stderr, "%s\n", note.c_str());
  return topo::writeNcclXml(host, dialect);
}

std::string asNccl(const topo::Host& host, const Options& o) {
  return xmlIn(topo::XmlDialect::kNccl, host, o);
}
std::string asRccl(const topo::Host& host, const Options& o) {
  return xmlIn(topo::XmlDialect::kRccl, host, o);
}

std::string asEnvironment(const topo::Host& host, const Options& o) {
  topo::EnvRequest request;
  if (!o.version.empty() && (request.ncclVersion = nccl::versionOf(o.version)) == 0)
    throw Error(ErrorCode::kUsage, "--nccl-version: '" + o.version + "' is no version",
                "write it as 2.28.9");
  request.topologyFile = o.topoFile;
  request.rails = o.rails;
  std::string lines = topo::ncclEnvironment(host, request);
  if (o.platform.empty()) return lines;
  for (const auto& v : topo::platformNamed(o.platform).variables)
    lines += "# " + v.why + "\n" + v.name + "=" + v.value + "\n";
  return lines;
}

std::string asSummary(const topo::Host& host, const Options&) {
  return topo::shapeKey(host) + " " + topo::summaryOf(host) + "\n";
}

struct Format {
  std::string_view name;
  std::string (*write)(const topo::Host& host, const Options& o);
};
constexpr std::array<Format, 4> kFormats = {
    {{"nccl", asNccl}, {"rccl", asRccl}, {"nccl-env", asEnvironment}, {"summary", asSummary}}};

void run(const Options& o) {
  std::string known;
  for (const Format& format : kFormats) {
    if (format.name == o.format) {
      const topo::Host host =
          o.file.empty() ? liveHost(o.sysRoot) : topo::readHost(readInput(o.file), o.file);
      return writeText(format.write(host, o), o.out);
    }
    known += (known.empty() ? "" : ", ") + std::string(format.name);
  }
  throw Error(ErrorCode::kUsage, "--format: '" + o.format + "' is not known", "known are " + known);
}

}  // namespace

void addTopoExport(CLI::App& app) {
  CLI::App* sub = app.add_subcommand(
      "export",
      "Write a topology for NCCL or RCCL, the variables that follow from it, or its "
      "summary. What had to be filled in is said on stderr.");
  const auto o = std::make_shared<Options>();
  sub->add_option("FILE", o->file, "A file as for show. Default: this machine.")->type_name("FILE");
  sub->add_option("--format", o->format,
                  "nccl and rccl: XML that their readers take; nccl-env: lines of a nccl.conf; "
                  "summary: a key of the shape and a line.")
      ->capture_default_str()
      ->type_name("FORMAT");
  sub->add_option(
         "--cpu", o->cpu,
         "CPU of sockets that the file does not describe: ARCH,VENDOR,FAMILY,MODEL, or here "
         "for this machine's.")
      ->type_name("CPU");
  sub->add_option("--nccl-version", o->version, "For nccl-env: the release. Default: the newest.")
      ->type_name("V");
  sub->add_option("--platform", o->platform,
                  "For nccl-env: with the variables of a known platform (autoccl topo platforms).")
      ->type_name("NAME");
  sub->add_option("--topo-file", o->topoFile, "For nccl-env: where the exported XML will lie.")
      ->type_name("FILE");
  sub->add_flag("--rails", o->rails, "For nccl-env: all hosts have their NICs on the same rails.");
  sub->add_option("--out", o->out, "Where to write it.")->capture_default_str()->type_name("FILE");
  sub->add_option("--sys-root", o->sysRoot,
                  "Reads /sys and /proc of another machine, saved below DIR.")
      ->type_name("DIR");
  sub->callback([o] { run(*o); });
}

}  // namespace autoccl::cli
