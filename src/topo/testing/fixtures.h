// Topology files of every kind for tests: small, and of the shape that real ones have.
#pragma once

namespace autoccl::topo::fixtures {

/// As NCCL dumps it: 2 sockets, 4 GPUs on an NVSwitch, a NIC a socket.
inline constexpr const char* kDump = R"(<system version="1">
  <cpu host_hash="0x1" numaid="0" affinity="000000ff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:10:00.0" class="0x060400" vendor="0x1000" device="0xc030" subsystem_vendor="0x1000" subsystem_device="0x1" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:11:00.0" class="0x030200" vendor="0x10de" device="0x2330" subsystem_vendor="0x10de" subsystem_device="0x1" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="90" rank="0" gdr="1"><nvlink target="0000:80:00.0" count="18" tclass="0x068000"/></gpu>
      </pci>
      <pci busid="0000:12:00.0" class="0x030200" vendor="0x10de" device="0x2330" subsystem_vendor="0x10de" subsystem_device="0x1" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="1" sm="90" rank="1" gdr="1"><nvlink target="0000:80:00.0" count="18" tclass="0x068000"/></gpu>
      </pci>
      <pci busid="0000:13:00.0" class="0x020700" vendor="0x15b3" device="0x1021" subsystem_vendor="0x15b3" subsystem_device="0x1" link_speed="32.0 GT/s PCIe" link_width="16">
        <nic><net name="mlx5_0" dev="0" latency="0.000000" speed="400000" port="1" guid="0x1" maxconn="131072" gdr="1"/></nic>
      </pci>
    </pci>
  </cpu>
  <cpu host_hash="0x1" numaid="1" affinity="0000ff00" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:90:00.0" class="0x060400" vendor="0x1000" device="0xc030" subsystem_vendor="0x1000" subsystem_device="0x1" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:91:00.0" class="0x030200" vendor="0x10de" device="0x2330" subsystem_vendor="0x10de" subsystem_device="0x1" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="2" sm="90" rank="2" gdr="1"><nvlink target="0000:80:00.0" count="18" tclass="0x068000"/></gpu>
      </pci>
      <pci busid="0000:92:00.0" class="0x030200" vendor="0x10de" device="0x2330" subsystem_vendor="0x10de" subsystem_device="0x1" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="3" sm="90" rank="3" gdr="1"><nvlink target="0000:80:00.0" count="18" tclass="0x068000"/></gpu>
      </pci>
      <pci busid="0000:93:00.0" class="0x020700" vendor="0x15b3" device="0x1021" subsystem_vendor="0x15b3" subsystem_device="0x1" link_speed="32.0 GT/s PCIe" link_width="16">
        <nic><net name="mlx5_1" dev="1" latency="0.000000" speed="400000" port="1" guid="0x2" maxconn="131072" gdr="1"/></nic>
      </pci>
    </pci>
  </cpu>
</system>
)";

/// As a cloud ships it: devices without gpu or net, an older spelling, comments, an invented bus
/// id, and a second socket of which nothing but a device without class is said.
inline constexpr const char* kSkeleton = R"(<!-- one socket of
     a virtual machine -->
<system version="1">
  <cpu numaid="0" affinity="0000000f" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="8 GT/s" link_width="16">  <!-- switch -->
      <pci busid="0000:10:1c.0" class="0x030200" link_speed="8 GT/s" link_width="16"/>
      <pci busid="0000:10:1d.0" class="0x030200" link_speed="8 GT/s" link_width="16"/>
      <pci busid="0000:10:1b.0" class="0x020000" link_speed="8 GT/s" link_width="16"/>
    </pci>
  </cpu>
  <cpu numaid="1">
    <pci busid="0000:00:16.0"/>
  </cpu>
</system>
)";

/// RCCL's dialect: version 2, xgmi, gcn and arch; three bridges above a GPU, one above the NIC.
inline constexpr const char* kRccl = R"(<system version="2">
  <cpu numaid="0" affinity="000000ff" arch="x86_64" vendor="AuthenticAMD" familyid="25" modelid="17">
    <pci busid="0000:05:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:08:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
        <pci busid="0000:0c:00.0" class="0x120000" link_speed="32.0 GT/s PCIe" link_width="16">
          <gpu dev="0" sm="304" gcn="gfx942" arch="38911" rank="0" gdr="1">
            <xgmi target="0000:15:00.0" count="1" tclass="0x120000"/>
          </gpu>
        </pci>
      </pci>
      <pci busid="0000:07:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16">
        <nic><net name="mlx5_0" dev="0" speed="400000" port="1" latency="0.0" guid="0xf0" maxconn="131072" gdr="1"/></nic>
      </pci>
    </pci>
    <pci busid="0000:15:00.0" class="0x120000" link_speed="32.0 GT/s PCIe" link_width="16">
      <gpu dev="1" sm="304" gcn="gfx942" arch="38911" rank="1" gdr="1">
        <xgmi target="0000:0c:00.0" count="1" tclass="0x120000"/>
      </gpu>
    </pci>
  </cpu>
</system>
)";

inline constexpr const char* kMatrix =
    "\t\x1b[4mGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV18\tPIX\tNODE\t0-55,112-167\t0\t\tN/A\n"
    "GPU1\tNV18\t X \tNODE\tPIX\t0-55,112-167\t0\t\tN/A\n"
    "NIC0\tPIX\tNODE\t X \tNODE\t\t\t\t\n"
    "NIC1\tNODE\tPIX\tNODE\t X \t\t\t\t\n"
    "\n"
    "Legend:\n"
    "\n"
    "  X    = Self\n"
    "\n"
    "NIC Legend:\n"
    "\n"
    "  NIC0: mlx5_0\n"
    "  NIC1: mlx5_1\n";

inline constexpr const char* kHwloc = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x0000ffff" nodeset="0x00000003">
    <info name="Architecture" value="x86_64"/>
    <object type="Package" os_index="0" cpuset="0x000000ff" nodeset="0x00000001">
      <info name="CPUVendor" value="GenuineIntel"/>
      <info name="CPUFamilyNumber" value="6"/>
      <info name="CPUModelNumber" value="143"/>
      <object type="NUMANode" os_index="0" cpuset="0x000000ff" nodeset="0x00000001" local_memory="1024"/>
    </object>
    <object type="Package" os_index="1" cpuset="0x0000ff00" nodeset="0x00000002">
      <object type="NUMANode" os_index="1" cpuset="0x0000ff00" nodeset="0x00000002" local_memory="2048"/>
      <object type="Bridge" bridge_type="0-1" depth="0" bridge_pci="0000:[80-8f]">
        <object type="Bridge" bridge_type="1-1" depth="1" bridge_pci="0000:[81-83]" pci_busid="0000:80:01.0" pci_type="0604 [1000:c030] [1000:0001] 00" pci_link_speed="63.0">
          <object type="PCIDev" pci_busid="0000:82:00.0" pci_type="0302 [10de:2330] [10de:16c1] a1" pci_link_speed="31.5">
            <object type="OSDev" name="nvml0" osdev_type="1"><info name="GPUModel" value="NVIDIA H100"/></object>
          </object>
          <object type="PCIDev" pci_busid="0000:83:00.0" pci_type="0207 [15b3:1021] [15b3:0001] 00" pci_link_speed="63.0">
            <object type="OSDev" name="ib0" osdev_type="2"><info name="Address" value="00"/></object>
            <object type="OSDev" name="mlx5_0" osdev_type="3"><info name="NodeGUID" value="1:2:3:4"/><info name="Port1State" value="4"/></object>
          </object>
        </object>
      </object>
    </object>
  </object>
</topology>
)";

inline constexpr const char* kGraphs = R"(<graphs version="1">
  <graph id="0" pattern="4" crossnic="0" nchannels="2" speedintra="40" speedinter="40" latencyinter="0" typeintra="NVL" typeinter="PIX" samechannels="0">
    <channel><net dev="0"/><gpu dev="0"/><gpu dev="1"/><net dev="0"/></channel>
    <channel><net dev="1"/><gpu dev="1"/><gpu dev="0"/><net dev="1"/></channel>
  </graph>
</graphs>
)";

}  // namespace autoccl::topo::fixtures
