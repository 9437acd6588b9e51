#include <deque>
#include <memory>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/findings_output.h"
#include "cli/output.h"
#include "cli/topo_commands.h"
#include "topo/any_file.h"
#include "topo/fabric.h"
#include "topo/lint.h"
#include "topo/nccl_check.h"
#include "topo/nccl_graphs.h"
#include "topo/platform.h"

namespace autoccl::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  std::vector<int> gpus;
  std::string sysRoot, platform, json, sarif;
};

/// Places of the GPUs that the job has, by the numbers people use.
std::vector<int> chosen(const topo::Host& host, const std::vector<int>& numbers) {
  std::vector<int> places;
  for (const int number : numbers) {
    int place = -1;
    for (size_t i = 0; i < host.gpus.size(); ++i)
      if (host.gpus[i].index == number || (host.gpus[i].index < 0 && static_cast<int>(i) == number))
        place = static_cast<int>(i);
    if (place < 0)
      throw Error(ErrorCode::kUsage, "--gpus: there is no GPU " + std::to_string(number),
                  "there are " + std::to_string(host.gpus.size()));
    places.push_back(place);
  }
  return places;
}

class Linter {
 public:
  explicit Linter(const Options& o) : o_(o) {}

  void file(const std::string& path, const std::string& text) {
    const topo::FileKind kind = topo::kindOfFile(text);
    if (kind == topo::FileKind::kFabric) return void(topo::readFabric(text, path));
    if (kind == topo::FileKind::kNcclGraphs) return void(topo::readNcclGraphs(text, path));
    if (kind == topo::FileKind::kNcclTopology) add(topo::ncclRefusals(text, path));
    host(topo::readHost(text, path), path);
  }
  void host(topo::Host host, const std::string& source) {
    hosts_.push_back(std::move(host));
    named_.emplace_back(source, &hosts_.back());
    add(topo::lintHost(hosts_.back(), source, chosen(hosts_.back(), o_.gpus)));
    if (!o_.platform.empty())
      add(topo::lintPlatform(hosts_.back(), topo::platformNamed(o_.platform), source));
  }
  /// Throws ExitWith{kFindings} where there is something to say.
  void done() {
    add(topo::lintRails(named_));
    Json list = Json::list();
    for (const Finding& f : all_) list.add(findingJson(f));
    if (!o_.json.empty()) writeJson(Json::object().add("findings", std::move(list)), o_.json);
    if (!o_.sarif.empty()) writeJson(findingsSarif(all_), o_.sarif);
    if (o_.json != "-" && o_.sarif != "-") writeText(findingsText(all_), "-");
  }
  [[nodiscard]] bool found() const { return !all_.empty(); }

 private:
  void add(std::vector<Finding> more) {
    all_.insert(all_.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
  }

  const Options& o_;
  std::deque<topo::Host> hosts_;
  std::vector<std::pair<std::string, const topo::Host*>> named_;
  std::vector<Finding> all_;
};

void run(const Options& o) {
  Linter linter(o);
  if (o.files.empty()) linter.host(liveHost(o.sysRoot), "this machine");
  try {
    eachTopoFile(o.files, [&](const auto& file, const auto& text) { linter.file(file, text); });
  } catch (const ExitWith&) {
    linter.done();
    throw;
  }
  linter.done();
  if (linter.found()) throw ExitWith{kFindings};
}

}  // namespace

void addTopoLint(CLI::App& app) {
  CLI::App* sub = app.add_subcommand(
      "lint",
      "Say what is wrong in a topology, and what NCCL's reader will not take; exit 3 if "
      "there is anything.");
  const auto o = std::make_shared<Options>();
  sub->add_option("FILE", o->files,
                  "Files as for show; several hosts of a job are compared rail by rail. Default: "
                  "this machine.")
      ->type_name("FILE");
  sub->add_option("--gpus", o->gpus, "The GPUs of the job, such as 0,1. Default: all.")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("N");
  sub->add_option("--sys-root", o->sysRoot,
                  "Reads /sys and /proc of another machine, saved below DIR.")
      ->type_name("DIR");
  sub->add_option("--platform", o->platform,
                  "Also hold it against a known platform (autoccl topo platforms).")
      ->type_name("NAME");
  sub->add_option("--json", o->json, "Writes the findings as JSON (- is stdout, instead of text).")
      ->type_name("FILE");
  sub->add_option("--sarif", o->sarif,
                  "Writes them as SARIF for CI (- is stdout, instead of text).")
      ->type_name("FILE");
  sub->callback([o] { run(*o); });
}

}  // namespace autoccl::cli
