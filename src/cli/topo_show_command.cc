#include <memory>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/topo_commands.h"
#include "cli/topo_views.h"
#include "report/text_table.h"
#include "topo/any_file.h"
#include "topo/fabric.h"
#include "topo/nccl_graphs.h"

namespace autoccl::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string sysRoot, json, svg, html;
};

std::string linkClassText(const topo::LinkClass& link) {
  if (link.GBps <= 0) return "not given";
  return figure(link.GBps) + " GB/s, " + figure(link.alphaUs) + " us" +
         (link.sharedBy > 1 ? ", shared by " + std::to_string(link.sharedBy) : "");
}

std::string fabricText(const topo::Fabric& f) {
  std::string out = "fabric" + (f.name.empty() ? "" : " " + f.name) + ": " +
                    std::to_string(f.hosts) + " hosts of " + std::to_string(f.gpusPerHost) +
                    " GPUs and " + std::to_string(f.nicsPerHost) + " NICs, " +
                    std::to_string(f.leaves.size()) + " leaves, " + std::to_string(f.spines) +
                    " spines\n";
  TextTable links({{"link"}, {"is"}});
  links.row({"GPU to GPU", linkClassText(f.gpu)});
  links.row({"PCIe", linkClassText(f.pci)});
  links.row({"socket", linkClassText(f.socket)});
  links.row({"NIC to leaf", linkClassText(f.nic)});
  links.row({"leaf to spine", linkClassText(f.spine)});
  TextTable leaves(
      {{"leaf"}, {"hosts", true}, {"rails", true}, {"uplinks", true}, {"oversubscribed"}});
  for (const topo::Leaf& leaf : f.leaves) {
    const double over = f.oversubscription(leaf);
    leaves.row({leaf.name, std::to_string(leaf.hosts.size()), std::to_string(leaf.rails.size()),
                std::to_string(leaf.uplinks), over > 0 ? figure(over) + " : 1" : "no way up"});
  }
  return out + links.text() + "\n" + leaves.text();
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& w : words) out += (out.empty() ? "" : " ") + w;
  return out;
}

std::string graphsText(const topo::NcclGraphs& all) {
  std::string out;
  for (const auto& g : all.graphs) {
    out += "graph " + std::to_string(g.id) + ", " + topo::patternText(g.pattern) + ": " +
           std::to_string(g.found.size()) + " channels of " + figure(g.intraGBps) +
           " GB/s inside (" + g.intraClass + "), " + figure(g.interGBps) + " between hosts (" +
           g.interClass + ")\n";
    for (const topo::GraphChannel& c : g.found)
      out += "  GPUs " + joined(c.gpus) + (c.nets.empty() ? "" : "  NICs " + joined(c.nets)) + "\n";
  }
  return out;
}

class Shower {
 public:
  explicit Shower(const Options& o) : o_(o) {}

  void host(const topo::Host& host, const std::string& source) {
    text(topoTree(host));
    all_.add(topoJson(host).add("file", source));
    if (!o_.svg.empty()) writeText(topoSvg(host), o_.svg);
    if (!o_.html.empty()) writeText(topoPage(host, source), o_.html);
  }
  void file(const std::string& path, const std::string& content) {
    const topo::FileKind kind = topo::kindOfFile(content);
    if (kind == topo::FileKind::kFabric)
      text(fabricText(topo::readFabric(content, path)));
    else if (kind == topo::FileKind::kNcclGraphs)
      text(graphsText(topo::readNcclGraphs(content, path)));
    else
      host(topo::readHost(content, path), path);
  }
  void done() {
    if (!o_.json.empty()) writeJson(Json::object().add("topologies", std::move(all_)), o_.json);
  }

 private:
  [[nodiscard]] bool quiet() const { return o_.json == "-" || o_.svg == "-" || o_.html == "-"; }
  void text(const std::string& shown) {
    if (!quiet()) writeText((first_ ? "" : "\n") + shown, "-");
    first_ = false;
  }

  const Options& o_;
  Json all_ = Json::list();
  bool first_ = true;
};

void run(const Options& o) {
  Shower shower(o);
  if (o.files.empty()) shower.host(liveHost(o.sysRoot), "this machine");
  try {
    eachTopoFile(o.files, [&](const auto& file, const auto& text) { shower.file(file, text); });
  } catch (const ExitWith&) {
    shower.done();  // what could be read
    throw;
  }
  shower.done();
}

}  // namespace

void addTopoShow(CLI::App& app) {
  CLI::App* sub = app.add_subcommand(
      "show", "Draw this machine, or what a topology file describes: tree, links, nearest NICs.");
  const auto o = std::make_shared<Options>();
  sub->add_option("FILE", o->files,
                  "NCCL's or RCCL's topology XML, NCCL's graphs, hwloc's XML, the text of "
                  "nvidia-smi topo -m, a fabric (docs/topo.md). Default: this machine.")
      ->type_name("FILE");
  sub->add_option("--sys-root", o->sysRoot,
                  "Reads /sys and /proc of another machine, saved below DIR.")
      ->type_name("DIR");
  sub->add_option("--json", o->json, "Writes it as JSON (- is stdout, instead of text).")
      ->type_name("FILE");
  sub->add_option("--svg", o->svg, "Writes the drawing (- is stdout, instead of text).")
      ->type_name("FILE");
  sub->add_option("--html", o->html,
                  "Writes a page with the drawing (- is stdout, instead of text).")
      ->type_name("FILE");
  sub->callback([o] { run(*o); });
}

}  // namespace autoccl::cli
