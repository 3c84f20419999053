#include "include_rules.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace pawl::architecture {

namespace {

constexpr std::string_view kHeading = "| module | may include |";

std::vector<std::string> Cells(std::string_view row) {
  std::vector<std::string> cells;
  for (const std::string_view cell : Split(row, '|')) cells.emplace_back(Trim(cell));
  return cells;
}

// "os" for src/os/files.cc, "labs/gpt" for labs/gpt/x/y.cu, "labs" for labs/x.cc.
std::string ModuleOf(std::string_view path) {
  const std::vector<std::string_view> parts = Split(path, '/');
  if (parts.size() < 2) return {};
  if (parts[0] == "src") return std::string(parts[1]);
  return parts.size() == 2 ? std::string(parts[0]) : Format("{}/{}", parts[0], parts[1]);
}

// The module that an include line names; nothing when it names none.
std::optional<std::string> IncludedModule(std::string_view line, const Graph& rules) {
  line = Trim(line);
  if (!line.starts_with('#')) return std::nullopt;
  line = Trim(line.substr(1));
  if (!line.starts_with("include")) return std::nullopt;
  line = Trim(line.substr(std::string_view("include").size()));
  if (!line.starts_with('"')) return std::nullopt;
  const std::string_view path = line.substr(1, line.find('"', 1) - 1);
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  std::string first(path.substr(0, slash));
  if (rules.contains(first) && first != "labs") return first;
  std::string lab = "labs/" + std::string(Split(path, '/')[first == "labs" ? 1 : 0]);
  if (rules.contains(lab)) return lab;
  return std::nullopt;
}

// Depth-first; on a cycle `path` is left as the cycle, first node repeated at the end.
bool Visit(const Graph& graph, const std::string& node, std::vector<std::string>& path,
           std::set<std::string>& done) {
  const auto seen = std::find(path.begin(), path.end(), node);
  if (seen != path.end()) {
    path.erase(path.begin(), seen);
    path.push_back(node);
    return true;
  }
  path.push_back(node);
  if (const auto found = graph.find(node); found != graph.end() && !done.contains(node)) {
    for (const std::string& next : found->second) {
      if (Visit(graph, next, path, done)) return true;
    }
  }
  done.insert(node);
  path.pop_back();
  return false;
}

}  // namespace

Result<Graph> ParseTable(std::string_view markdown) {
  const std::size_t start = markdown.find(kHeading);
  if (start == std::string_view::npos) {
    return MakeError(Code::kNotFound, Format("the table \"{}\" is missing", kHeading));
  }
  std::vector<std::vector<std::string>> rows;
  for (const std::string_view line : Split(markdown.substr(start), '\n')) {
    if (!line.starts_with('|')) break;
    std::vector<std::string> cells = Cells(line);
    if (cells.size() != 4) return MakeError(Code::kCorrupt, Format("odd row: {}", line));
    rows.push_back(std::move(cells));
  }
  rows.erase(rows.begin(), rows.begin() + std::min<std::ptrdiff_t>(2, std::ssize(rows)));

  Graph rules;
  for (const auto& cells : rows) rules[cells[1]];
  std::set<std::string> above;
  for (const auto& cells : rows) {
    std::set<std::string>& allowed = rules[cells[1]];
    if (cells[2] == "everything above") {
      allowed = above;
    } else if (cells[2] == "all") {
      for (const auto& [module, _] : rules) {
        if (module != cells[1] && !module.starts_with("labs")) allowed.insert(module);
      }
    } else if (cells[2] != "nothing") {
      for (const std::string_view name : Split(cells[2], ',')) {
        const std::string module(Trim(name));
        if (!rules.contains(module)) {
          return MakeError(Code::kCorrupt, Format("row {}: \"{}\" is no module", cells[1], module));
        }
        allowed.insert(module);
      }
    }
    above.insert(cells[1]);
  }
  return rules;
}

Graph IncludesOf(const std::vector<SourceFile>& files, const Graph& rules) {
  Graph graph;
  for (const SourceFile& file : files) {
    const std::string from = ModuleOf(file.path);
    for (const std::string_view line : Split(file.text, '\n')) {
      const std::optional<std::string> to = IncludedModule(line, rules);
      if (to && *to != from) graph[from].insert(*to);
    }
  }
  return graph;
}

std::vector<std::string> Violations(const std::vector<SourceFile>& files, const Graph& rules) {
  std::vector<std::string> out;
  for (const SourceFile& file : files) {
    const std::string from = ModuleOf(file.path);
    const auto allowed = rules.find(from);
    if (allowed == rules.end()) {
      out.push_back(Format("{}: the module {} has no row in the table", file.path, from));
      continue;
    }
    for (const auto& [_, included] : IncludesOf({file}, rules)) {
      for (const std::string& to : included) {
        if (allowed->second.contains(to)) continue;
        out.push_back(Format("{}: {} must not include {}", file.path, from, to));
      }
    }
  }
  return out;
}

std::string FindCycle(const Graph& graph) {
  std::set<std::string> done;
  for (const auto& [node, _] : graph) {
    std::vector<std::string> path;
    if (Visit(graph, node, path, done)) return Join(path, " -> ");
  }
  return {};
}

}  // namespace pawl::architecture
