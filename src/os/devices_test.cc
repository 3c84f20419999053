#include "os/devices.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "base/text.h"
#include "os/files.h"

namespace pawl::os {
namespace {

// Puts a program of that name and content first on PATH while it lives.
class FakeTool {
 public:
  FakeTool(std::string_view name, std::string_view script)
      : folder_(ScratchFolder::Make(std::filesystem::temp_directory_path(), "pawl-fake-").value()),
        before_(std::getenv("PATH")) {
    EXPECT_TRUE(WriteFileAtomic(folder_.path() / name, script, {.mode = 0755}).ok());
    ::setenv("PATH", (folder_.path().string() + ":" + before_).c_str(), 1);
  }
  ~FakeTool() { ::setenv("PATH", before_.c_str(), 1); }
  FakeTool(const FakeTool&) = delete;
  FakeTool& operator=(const FakeTool&) = delete;

 private:
  ScratchFolder folder_;
  std::string before_;
};

TEST(Machine, KnowsWhereItRuns) {
  const Machine machine = ProbeMachine();
  EXPECT_FALSE(machine.kernel.empty());
  EXPECT_FALSE(machine.cpu_model.empty());
  EXPECT_GE(machine.cpus, 1);
  EXPECT_GT(machine.memory_mb, 100U);
  EXPECT_EQ(machine.gpus.empty(), !machine.gpu_note.empty());
  EXPECT_EQ(machine.ToJson().IntAt("cpus"), machine.cpus);
  EXPECT_TRUE(FingerprintDifferences(Fingerprint(machine), Fingerprint(ProbeMachine())).empty());
}

TEST(Machine, ReadsCardsFromNvidiaSmi) {
  const FakeTool tool("nvidia-smi",
                      "#!/bin/sh\n"
                      "echo 'NVIDIA RTX A5500, GPU-1234, 550.54.14, 8.6, 24564'\n"
                      "echo 'Odd, Name, GPU-5678, 550.54.14, 9.0, 81559'\n");
  const Machine machine = ProbeMachine();
  ASSERT_EQ(machine.gpus.size(), 2U);
  EXPECT_EQ(machine.gpus[0].name, "NVIDIA RTX A5500");
  EXPECT_EQ(machine.gpus[0].compute_capability, "8.6");
  EXPECT_EQ(machine.gpus[0].memory_mb, 24564U);
  EXPECT_EQ(machine.gpus[1].name, "Odd, Name");
  EXPECT_EQ(machine.gpus[1].uuid, "GPU-5678");
  EXPECT_TRUE(machine.gpu_note.empty());
  EXPECT_NE(machine.ToJson().Pretty().find("RTX A5500"), std::string::npos);
}

TEST(Machine, SaysWhyThereAreNoCards) {
  const FakeTool tool("nvidia-smi", "#!/bin/sh\necho 'No devices were found'\nexit 6\n");
  const Machine machine = ProbeMachine();
  EXPECT_TRUE(machine.gpus.empty());
  EXPECT_NE(machine.gpu_note.find("exit code 6: No devices were found"), std::string::npos);
}

TEST(Fingerprint, NamesEachDifference) {
  Machine before;
  before.cpu_model = "A";
  before.cpus = 4;
  before.memory_mb = 24'000;
  before.gpus = {{.name = "X", .uuid = "1", .driver = "550", .compute_capability = "9.0"}};
  Machine now = before;
  now.hostname = "renamed";
  now.memory_mb = 24'100;
  EXPECT_TRUE(FingerprintDifferences(Fingerprint(before), Fingerprint(now)).empty());
  now.cpu_model = "B";
  now.cpus = 8;
  now.memory_mb = 30'000;
  now.gpus[0].driver = "560";
  const std::vector<std::string> expected = {"cpu_model: A -> B", "cpus: 4 -> 8",
                                             "memory_mb: 24000 -> 30000",
                                             "gpus[0].driver: 550 -> 560"};
  EXPECT_EQ(FingerprintDifferences(Fingerprint(before), Fingerprint(now)), expected);
  now = before;
  now.gpus.clear();
  EXPECT_EQ(FingerprintDifferences(Fingerprint(before), Fingerprint(now)).size(), 1U);
}

}  // namespace
}  // namespace pawl::os
