#include "docs/documents.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"

namespace pawl::docs {

namespace fs = std::filesystem;

std::string Block::Place() const {
  return Format("{}:{}", file, line);
}

os::Path Root() {
  return PAWL_SOURCE_DIR;
}

std::vector<std::string> Documents() {
  std::vector<std::string> found;
  const auto take = [&](const fs::path& path) {
    if (path.extension() == ".md") found.push_back(path.lexically_relative(Root()).string());
  };
  for (const auto& entry : fs::directory_iterator(Root())) {
    if (entry.is_regular_file()) take(entry.path());
  }
  for (const char* folder :
       {"docs", "examples", "labs", "src", "templates", "skills", "knowledge"}) {
    if (!fs::exists(Root() / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(Root() / folder)) take(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

std::string Text(std::string_view file) {
  const auto text = os::ReadFile(Root() / file);
  EXPECT_TRUE(text.ok()) << file;
  return text.ok() ? *text : std::string();
}

std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines;
  for (const std::string_view line : Split(text, '\n')) lines.emplace_back(line);
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

std::vector<Block> Blocks(std::string_view file) {
  std::vector<Block> blocks;
  bool inside = false;
  int number = 0;
  for (const std::string& line : Lines(Text(file))) {
    ++number;
    if (line.starts_with("```")) {
      if (!inside) blocks.push_back({std::string(file), number, line.substr(3), {}});
      inside = !inside;
    } else if (inside) {
      blocks.back().text += line + "\n";
    }
  }
  EXPECT_FALSE(inside) << file << ": a block without an end";
  return blocks;
}

Block Find(std::string_view file, std::string_view first_words) {
  for (const Block& block : Blocks(file)) {
    if (block.text.starts_with(first_words)) return block;
  }
  ADD_FAILURE() << file << " has no block that starts with `" << first_words << "`";
  return {};
}

}  // namespace pawl::docs
