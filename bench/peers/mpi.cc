// `autoccl bench --vs openmpi,mpich`: a rank that calls MPI. Built once for each MPI that is
// installed, from this one file; only the C interface of MPI 3 is used.
#include <mpi.h>

#include <cstdio>

#include "base/error.h"
#include "bench/worker.h"

namespace autoccl::bench {
namespace {

class Mpi final : public Library {
 public:
  void call(const CallShape& c) override {
    const int status = dispatch(c);
    if (status != MPI_SUCCESS)
      throw Error(ErrorCode::kRemote, "MPI returned " + std::to_string(status));
  }
  std::string configInEffect() override { return "default"; }

 private:
  static int dispatch(const CallShape& c) {
    const auto count = static_cast<int>(c.count);
    const auto part = static_cast<int>(c.part);
    const MPI_Comm world = MPI_COMM_WORLD;
    const MPI_Datatype type = MPI_FLOAT;
    int rank = 0;
    MPI_Comm_rank(world, &rank);
    switch (c.collective) {
      case Collective::kAllReduce:
        return MPI_Allreduce(MPI_IN_PLACE, c.receive, count, type, MPI_SUM, world);
      case Collective::kReduce:
        return MPI_Reduce(rank == 0 ? MPI_IN_PLACE : c.send, c.receive, count, type, MPI_SUM, 0,
                          world);
      case Collective::kBroadcast:
        return MPI_Bcast(c.send, count, type, 0, world);
      case Collective::kAllGather:
        return MPI_Allgather(c.send, part, type, c.receive, part, type, world);
      case Collective::kReduceScatter:
        return MPI_Reduce_scatter_block(c.send, c.receive, part, type, MPI_SUM, world);
      case Collective::kAllToAll:
        return MPI_Alltoall(c.send, part, type, c.receive, part, type, world);
      case Collective::kGather:
        return MPI_Gather(c.send, part, type, c.receive, part, type, 0, world);
      case Collective::kScatter:
        return MPI_Scatter(c.send, part, type, c.receive, part, type, 0, world);
      default:
        throw Error(ErrorCode::kUsage,
                    "the MPI driver has no " + std::string(toText(c.collective)));
    }
  }
};

}  // namespace
}  // namespace autoccl::bench

int main(int argc, char** argv) {
  using namespace autoccl::bench;
  const auto control = openControl();
  if (!control) return 2;
  Place place;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &place.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &place.nRanks);
  placeOnCores(place);
  Mpi mpi;
  const int status = serve(**control, place, mpi);
  MPI_Finalize();
  return status;
}
