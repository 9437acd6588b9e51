#include <unistd.h>

#include <cstdio>
#include <memory>

#include "base/date.h"
#include "cli/bench_options.h"
#include "cli/bench_output.h"
#include "cli/bench_plot.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "store/machine.h"

namespace autoccl::cli {
namespace {

constexpr const char* kFooter =
    "Each library runs in a group of ranks of its own. A round measures every contender once; idle "
    "groups sleep.\n"
    "Before each call the ranks rewrite their inputs, line up and take the time; a call's time is "
    "the "
    "slowest\nrank's. Ratios compare rounds; their 95 % bounds are in the JSON.\n"
    "A row whose ratio to a peer is below 0.95 at its upper bound is measured once more.\n"
    "--compute: matrix product and sigmoid on the ranks' cores. light 192x192x192, half of the "
    "time; "
    "heavy 1024x1024x1024, always.\n"
    "Exit status: 0 done, 1 a group of ours failed or results were wrong, 2 bad usage.";

struct Options {
  BenchWords words;
  std::string engine = "cpu";
  std::string json;
  std::string svg;
  bool quiet = false;
};

/// One line on the terminal that tells what is being done, rewritten in place.
class Doing {
 public:
  explicit Doing(bool shown) : shown_(shown && isatty(STDERR_FILENO)) {}
  ~Doing() { clear(); }
  Doing(const Doing&) = delete;
  Doing& operator=(const Doing&) = delete;
  void say(const std::string& what) const {
    if (shown_) std::fprintf(stderr, "\r\033[K%s ...", what.c_str());
  }
  void clear() const {
    if (shown_) std::fputs("\r\033[K", stderr);
  }

 private:
  bool shown_;
};

void run(const Options& options) {
  const bench::BenchPlan plan = planOf(options.words);
  const std::string machine = toText(readMachine());
  BenchTable table(plan);
  const bool quiet = options.quiet || options.json == "-";
  const Doing doing(!quiet);
  const auto print = [&](const std::string& text) {
    doing.clear();
    if (!quiet) writeText(text, "-");
  };
  print(table.head(machine));
  bench::Listener listener;
  listener.doing = [&](const std::string& what) { doing.say(what); };
  listener.point = [&](const std::vector<bench::BenchRow>& rows) { print(table.lines(rows)); };
  const bench::BenchResult result = runBench(plan, listener);
  print(table.foot(result));
  if (!options.json.empty())
    writeJson(benchDocument(plan, result, machine, isoDate()), options.json);
  if (!options.svg.empty()) writeText(benchSvg(result), options.svg);
  for (const bench::BenchRow& row : result.rows)
    if (row.own && row.wrong > 0) throw ExitWith{kFailed};
}

void addWhat(CLI::App& app, Options& o) {
  app.add_option("--engine", o.engine, "What carries our collectives out. Allowed: cpu.")
      ->check(CLI::IsMember({"cpu"}))
      ->type_name("WORD");
  app.add_option("-n,--ranks", o.words.ranks, "Ranks in each group.")
      ->check(CLI::Range(1, bench::kMaxRanks))
      ->capture_default_str()
      ->type_name("N");
  app.add_option(
         "--collective", o.words.collectives,
         "Which, separated by commas: allreduce, allgather, reducescatter, broadcast, reduce, "
         "alltoall, gather, scatter.")
      ->capture_default_str()
      ->type_name("LIST");
  app.add_option("--sizes", o.words.sizes, "Sizes as NCCL counts them: 64K,1M or 1K:128M:x4.")
      ->capture_default_str()
      ->type_name("LIST");
  app.add_option(
         "--vs", o.words.vs,
         "Libraries to measure beside ours: openmpi, openmpi-ucx, openmpi-segring, mpich, gloo.")
      ->type_name("LIST");
  app.add_option("--mode", o.words.modes,
                 "default; tuned: the tuner's choice; exhaustive: the best of a thinned grid.")
      ->capture_default_str()
      ->type_name("LIST");
  app.add_option(
         "--buffers", o.words.buffers,
         "registered: from acclMemAlloc; ordinary: any other. Peers always use ordinary ones.")
      ->capture_default_str()
      ->type_name("LIST");
  app.add_option("--compute", o.words.compute, "Load beside the calls: none, light, heavy.")
      ->capture_default_str()
      ->type_name("WORD");
}

void addHow(CLI::App& app, Options& o) {
  app.add_option("--pin", o.words.pins, "Measures this config too; may be given more than once.")
      ->expected(1)
      ->take_all()
      ->type_name("CONFIG");
  app.add_option(
         "--pin-from", o.words.pinFrom,
         "Measures the tuned configs of this earlier --json FILE too, each at its own task.")
      ->type_name("FILE");
  app.add_option("--rounds", o.words.rounds, "Rounds over all contenders.")
      ->check(CLI::Range(2, 1000))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--round-ms", o.words.roundMs, "Time of one contender in one round.")
      ->check(CLI::Range(0.1, 60000.0))
      ->capture_default_str()
      ->type_name("MS");
  app.add_option("--tune-calls", o.words.tuneCalls, "Calls that tuning one task may take.")
      ->check(CLI::Range(1u, 10000000u))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--tune-seconds", o.words.tuneSeconds, "Time that tuning one task may take.")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str()
      ->type_name("S");
  app.add_flag("--check", o.words.check, "Compares each round's last result, element by element.");
  app.add_flag("--no-limits", o.words.noLimits, "Leaves the measurement of the host's limit out.");
  app.add_option("--json", o.json, "Writes all rows into FILE (- is stdout).")->type_name("FILE");
  app.add_option("--svg", o.svg, "Draws time by size, and the response of an exhaustive search.")
      ->type_name("FILE");
  app.add_flag("-q,--quiet", o.quiet, "No table, no progress.");
}

}  // namespace

void addBench(CLI::App& app) {
  const auto o = std::make_shared<Options>();
  addWhat(app, *o);
  addHow(app, *o);
  app.footer(kFooter);
  app.callback([o] { run(*o); });
}

}  // namespace autoccl::cli
