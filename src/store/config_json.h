// Tasks and configs inside our JSON files, for the readers of this room.
#pragma once

#include <string>

#include "model/config.h"
#include "model/task.h"
#include "store/json.h"

namespace autoccl {

/// A member that holds a config's text ("ring/simple/shm nc=2 …").
[[nodiscard]] Config readConfig(JsonFields& fields, std::string_view key);

/// The members collective, dtype, op, ranks, bytes; without the communicator.
void writeTask(Json& object, const Task& task);
[[nodiscard]] Task readTask(JsonFields& fields);

/// One of `allowed`, separated by '|'.
[[nodiscard]] std::string readWord(JsonFields& fields, std::string_view key,
                                   std::string_view allowed);

}  // namespace autoccl
