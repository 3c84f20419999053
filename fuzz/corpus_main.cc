// Runs a fuzz target once over the files of the given folders, for builds without libFuzzer. A
// folder that is absent or empty is an error: a corpus that nobody reads tests nothing.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "input.h"
#include "os/files.h"

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> FilesOf(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    files.push_back(at->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool RunFile(const fs::path& file) {
  const pawl::Result<std::string> bytes = pawl::os::ReadFile(file);
  if (!bytes.ok()) {
    std::fprintf(stderr, "%s\n", bytes.error().Text().c_str());
    return false;
  }
  // Said first, so that the last line names the file that broke a property.
  std::printf("%s\n", file.c_str());
  std::fflush(stdout);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes->data()), bytes->size());
  // A short input is more often a special case than a long one.
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes->data()), bytes->size() / 2);
  return true;
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    std::fprintf(stderr, "usage: %s FOLDER ...\n", words[0]);
    return 2;
  }
  LLVMFuzzerTestOneInput(nullptr, 0);
  for (int i = 1; i < count; ++i) {
    const std::vector<fs::path> files = FilesOf(words[i]);
    if (files.empty()) {
      std::fprintf(stderr, "%s: no files\n", words[i]);
      return 1;
    }
    for (const fs::path& file : files) {
      if (!RunFile(file)) return 1;
    }
  }
  return 0;
}
