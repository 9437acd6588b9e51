#include <memory>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/topo_commands.h"
#include "report/text_table.h"
#include "topo/discover.h"
#include "topo/platform.h"
#include "topo/summary.h"
#include "topo/sysfs.h"

namespace autoccl::cli {
namespace {

/// This machine, if the firmware's product name tells.
bool isHere(const topo::Platform& p) {
  const std::string product = topo::SysTree("").text("/sys/class/dmi/id/product_name");
  return !p.product.empty() && product.starts_with(p.product);
}

std::string allText() {
  TextTable table({{"name"}, {"platform"}, {"here"}, {"is"}});
  for (const topo::Platform& p : topo::platforms())
    table.row({p.name, p.title, isHere(p) ? "yes" : "", topo::summaryOf(hostOf(p))});
  return table.text(terminalWidth());
}

std::string oneText(const topo::Platform& p) {
  std::string out =
      p.title + ": " + topo::summaryOf(hostOf(p)) + "\nsource: " + p.source + "\n\ncheck\n";
  for (const std::string& check : p.checks) out += "  " + check + "\n";
  if (!p.variables.empty()) out += "\nset\n";
  for (const auto& v : p.variables) out += "  " + v.name + "=" + v.value + "  " + v.why + "\n";
  return out;
}

}  // namespace

void addTopoPlatforms(CLI::App& app) {
  CLI::App* sub = app.add_subcommand(
      "platforms", "List the known platforms, or what to check and set on one of them.");
  const auto name = std::make_shared<std::string>();
  sub->add_option("NAME", *name, "One of the list.")->type_name("NAME");
  sub->callback(
      [name] { writeText(name->empty() ? allText() : oneText(topo::platformNamed(*name)), "-"); });
}

}  // namespace autoccl::cli
