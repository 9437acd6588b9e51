// NCCL's topology XML, as NCCL dumps it, vendors write it and RCCL extends it.
#pragma once

#include <string>
#include <string_view>

#include "topo/host.h"

namespace autoccl::topo {

/// Reads version 1 (NCCL) and 2 (RCCL: xgmi, gcn, arch). Devices without <gpu> or <net> count by
/// their PCI class. What we do not know is kept in `extra` and counted; elements that NCCL too
/// would pass over are named in `notes`. Throws Error "file:line: reason" for no XML, another root
/// element, an attribute that should be a number and is none. Linear in the file.
[[nodiscard]] Host readNcclXml(std::string_view text, const std::string& file);

enum class XmlDialect : uint8_t { kNccl, kRccl };

/// In the form that NCCL's own reader takes: no prolog, one blank between attributes, elements in
/// the order they were read. What is unknown is left out; complete() tells what NCCL needs.
[[nodiscard]] std::string writeNcclXml(const Host& host, XmlDialect dialect);

}  // namespace autoccl::topo
