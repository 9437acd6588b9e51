#include "cli/commands.h"

int main(int argc, char** argv) {
  return autoccl::cli::runCommandLine(argc, argv);
}
