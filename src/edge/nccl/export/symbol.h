// How the library offers a plugin to NCCL, which looks for data by name.
#pragma once

/// Everything else in the library is hidden. A variable outside of any namespace has its plain
/// name.
#define AUTOCCL_PLUGIN_SYMBOL __attribute__((visibility("default"), used))
