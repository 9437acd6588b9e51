#include "edge/session/rendezvous.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

#include "base/error.h"

namespace autoccl {
namespace {

std::span<const std::byte> bytesOf(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST(Rendezvous, IsAFunctionOfTheIdAlone) {
  EXPECT_EQ(deriveRendezvous(bytesOf("a unique id")), deriveRendezvous(bytesOf("a unique id")));
  const Rendezvous a = deriveRendezvous(bytesOf("a unique id"));
  const Rendezvous b = deriveRendezvous(bytesOf("a unique ie"));
  EXPECT_NE(a.key, b.key);
  EXPECT_NE(a.session, b.session);
  EXPECT_NE(a.ports, b.ports);
}

TEST(Rendezvous, HasDifferentPortsBelowThoseOfTheKernel) {
  for (int i = 0; i < 500; ++i) {
    const Rendezvous r = deriveRendezvous(bytesOf("id " + std::to_string(i)));
    EXPECT_EQ(std::set(r.ports.begin(), r.ports.end()).size(), Rendezvous::kPorts);
    for (const uint16_t port : r.ports) {
      EXPECT_GE(port, 20000);
      EXPECT_LE(port, 32767);
    }
    EXPECT_NE(r.session, 0u);
  }
}

TEST(Rendezvous, OfASplitDiffersByParentSplitAndColour) {
  const Rendezvous parent = deriveRendezvous(bytesOf("parent"));
  std::set<uint64_t> sessions{parent.session};
  for (const uint64_t nth : {0, 1})
    for (const int64_t colour : {-1, 0, 1}) {
      const Rendezvous child = splitRendezvous(parent, nth, colour);
      EXPECT_EQ(child, splitRendezvous(parent, nth, colour));
      EXPECT_NE(child.key, parent.key);
      sessions.insert(child.session);
    }
  sessions.insert(splitRendezvous(deriveRendezvous(bytesOf("other")), 0, 0).session);
  EXPECT_EQ(sessions.size(), 8u);
}

TEST(Rendezvous, TriesEveryPortOfTheFirstAddressFirst) {
  const Rendezvous r = deriveRendezvous(bytesOf("id"));
  const std::string hosts[] = {"10.0.0.1", "10.0.0.2"};
  const auto places = candidatesAt(hosts, r);
  ASSERT_EQ(places.size(), 2 * Rendezvous::kPorts);
  EXPECT_EQ(places[0], (TcpEndpoint{"10.0.0.1", r.ports[0]}));
  EXPECT_EQ(places[Rendezvous::kPorts - 1], (TcpEndpoint{"10.0.0.1", r.ports.back()}));
  EXPECT_EQ(places[Rendezvous::kPorts], (TcpEndpoint{"10.0.0.2", r.ports[0]}));
}

class CoordinatorSettings : public ::testing::Test {
 protected:
  void SetUp() override { writeKey(0600); }
  void TearDown() override {
    unlink(path_.c_str());
    unsetenv("AUTOCCL_COORDINATOR");
    unsetenv("AUTOCCL_KEY_FILE");
  }
  void writeKey(mode_t mode) const {
    std::ofstream(path_, std::ios::binary) << "0123456789abcdef";
    chmod(path_.c_str(), mode);
  }
  /// What readCoordinator says of the two settings; empty where it takes them.
  [[nodiscard]] std::string fault(const char* place, const std::string& keyFile) const {
    setenv("AUTOCCL_COORDINATOR", place, 1);
    setenv("AUTOCCL_KEY_FILE", keyFile.c_str(), 1);
    try {
      (void)readCoordinator();
      return "";
    } catch (const Error& e) {
      return e.what();
    }
  }

  const std::string path_ = testing::TempDir() + "autoccl_coordinator_" + std::to_string(getpid());
};

TEST_F(CoordinatorSettings, GiveEveryCommunicatorPortsAndAKeyOfItsOwn) {
  EXPECT_FALSE(readCoordinator()) << "neither is set";
  ASSERT_EQ(fault("127.0.0.1:40000", path_), "");
  const auto coordinator = readCoordinator();
  ASSERT_TRUE(coordinator);
  EXPECT_EQ(coordinator->address, "127.0.0.1");
  const Rendezvous a = deriveRendezvous(*coordinator, bytesOf("world"));
  const Rendezvous b = deriveRendezvous(*coordinator, bytesOf("tensor parallel 3"));
  EXPECT_NE(a.key, b.key);
  EXPECT_NE(a.session, b.session);
  EXPECT_EQ(std::set(a.ports.begin(), a.ports.end()).size(), Rendezvous::kPorts);
  for (const uint16_t port : a.ports) {
    EXPECT_GE(port, 40000);
    EXPECT_LT(port, 40064);
  }
  EXPECT_NE(a.key, deriveRendezvous(bytesOf("world")).key) << "the name alone is no secret";
}

TEST_F(CoordinatorSettings, AreRefusedWithWhatIsWrong) {
  EXPECT_NE(fault("127.0.0.1:40000", "").find("AUTOCCL_KEY_FILE is not"), std::string::npos);
  EXPECT_NE(fault("", path_).find("AUTOCCL_COORDINATOR is not"), std::string::npos);
  for (const char* place : {"127.0.0.1", ":4000", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65500",
                            "127.0.0.1:80x", "no such host.invalid:4000"})
    EXPECT_NE(fault(place, path_).find(place), std::string::npos) << fault(place, path_);
  writeKey(0644);
  EXPECT_NE(fault("127.0.0.1:40000", path_).find("others may read"), std::string::npos);
}

}  // namespace
}  // namespace autoccl
