// The rules by which a candidate is let in. Both trees are listed once, by `git ls-tree`, and are
// compared here; the same listing is what gets materialised, so that a tree object that shows one
// thing to a diff and another to a checkout gains nothing.
#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "campaign/commit_text.h"
#include "campaign/git_call.h"
#include "campaign/scope_path.h"
#include "campaign/vault.h"

namespace pawl::campaign {
namespace {

constexpr std::size_t kMaxChangedFiles = 20'000;
constexpr std::uint64_t kMaxChangedBytes = std::uint64_t{512} << 20;
constexpr std::size_t kMaxReasons = 50;

using Kind = IntakeRefusal::Kind;

constexpr bool IsRegular(std::string_view mode) {
  return mode == "100644" || mode == "100755";
}

// Collects reasons; the gravest kind wins: harness, then scope, then invalid.
class Refusals {
 public:
  void Add(Kind kind, std::string_view reason, std::string_view path) {
    refusal_.kind = Graver(refusal_.kind, kind);
    ++count_;
    if (refusal_.reasons.size() >= kMaxReasons) return;
    refusal_.reasons.push_back(path.empty() ? std::string(reason)
                                            : Format("{}: {}", reason, PrintableLine(path, 300)));
    if (!path.empty()) refusal_.paths.emplace_back(path);
  }

  IntakeRefusal Take() {
    if (count_ > refusal_.reasons.size())
      refusal_.reasons.push_back(Format("and {} more", count_ - refusal_.reasons.size()));
    return std::move(refusal_);
  }

 private:
  static Kind Graver(Kind a, Kind b) {
    for (const Kind kind : {Kind::kHarness, Kind::kScope, Kind::kInvalid}) {
      if (a == kind || b == kind) return kind;
    }
    return Kind::kNone;
  }

  IntakeRefusal refusal_;
  std::size_t count_ = 0;
};

// Mutable and harness paths as the repository names them.
struct Scopes {
  std::vector<std::string> mutable_paths;
  std::vector<std::string> harness;
};

Scopes RepositoryScopes(const Config& config, std::string_view prefix) {
  Scopes scopes;
  const std::string head = prefix.empty() ? std::string() : Format("{}/", prefix);
  for (const std::string& path : config.mutable_paths) scopes.mutable_paths.push_back(head + path);
  Path top = config.root;
  if (!prefix.empty()) {
    for (std::size_t i = 0; i < Split(prefix, '/').size(); ++i) top = top.parent_path();
  }
  for (const std::string& path : HarnessPaths(config)) {
    if (!path.starts_with('/')) {
      scopes.harness.push_back(head + path);
      continue;
    }
    // Outside the project, but perhaps inside the repository.
    std::string relative = Path(path).lexically_relative(top).generic_string();
    if (!relative.empty() && !relative.starts_with("..")) scopes.harness.push_back(relative);
  }
  return scopes;
}

std::vector<ChangedPath> Compare(const std::vector<TreeFile>& before,
                                 const std::vector<TreeFile>& after) {
  std::vector<ChangedPath> changes;
  auto b = before.begin();
  auto a = after.begin();
  while (b != before.end() || a != after.end()) {
    const int order = b == before.end() ? 1 : a == after.end() ? -1 : b->path.compare(a->path);
    if (order < 0) {
      changes.push_back({b->path, b->mode, "", b->blob, ""});
      ++b;
    } else if (order > 0) {
      changes.push_back({a->path, "", a->mode, "", a->blob});
      ++a;
    } else {
      if (b->mode != a->mode || b->blob != a->blob)
        changes.push_back({a->path, b->mode, a->mode, b->blob, a->blob});
      ++b;
      ++a;
    }
  }
  return changes;
}

void CheckPlace(const ChangedPath& change, const Scopes& scopes, Refusals& refusals) {
  for (const std::string& fixed : scopes.harness) {
    // A file in the place of a folder above the harness would remove it just the same.
    if (!Overlap(change.path, fixed)) continue;
    refusals.Add(Kind::kHarness, "fixed harness path changed", change.path);
    return;
  }
  if (!IsWithinAny(change.path, scopes.mutable_paths))
    refusals.Add(Kind::kScope, "outside mutable_paths", change.path);
}

void CheckKind(const ChangedPath& change, Refusals& refusals) {
  if (change.new_mode.empty()) return;
  if (change.new_mode == "120000") {
    refusals.Add(Kind::kScope, "symbolic link", change.path);
  } else if (change.new_mode == "160000") {
    refusals.Add(Kind::kScope, "submodule", change.path);
  } else if (!IsRegular(change.new_mode)) {
    refusals.Add(Kind::kScope, Format("file mode {}", change.new_mode), change.path);
  }
  if (const std::string odd = OddName(change.path); !odd.empty())
    refusals.Add(Kind::kScope, odd, change.path);
}

void CheckDoubles(const std::vector<TreeFile>& files, Refusals& refusals) {
  for (std::size_t i = 1; i < files.size(); ++i) {
    if (files[i].path == files[i - 1].path)
      refusals.Add(Kind::kInvalid, "the tree holds a name twice", files[i].path);
  }
}

// Names that some disk would take for one another, and files that are also folders. Only what the
// candidate adds can offend; whatever collides in the incumbent was there before.
class Collisions {
 public:
  Collisions(const std::vector<TreeFile>& files, const std::vector<ChangedPath>& changes) {
    for (const ChangedPath& change : changes) {
      if (change.old_mode.empty()) added_.insert(change.path);
    }
    if (added_.empty()) return;
    for (const TreeFile& file : files) {
      if (!added_.contains(file.path)) Learn(file.path);
    }
  }

  void Check(Refusals& refusals) {
    std::vector<std::string_view> added(added_.begin(), added_.end());
    std::sort(added.begin(), added.end());
    for (const std::string_view path : added) {
      if (const std::string other = Learn(path); !other.empty())
        refusals.Add(
            Kind::kScope,
            Format("name that differs from `{}` only in case or form", PrintableLine(other)), path);
    }
    for (const std::string_view path : added) {
      if (folders_.contains(path)) {
        refusals.Add(Kind::kInvalid, "the tree holds a file and a folder of one name", path);
      }
      for (auto cut = path.rfind('/'); cut != std::string_view::npos && cut > 0;
           cut = path.rfind('/', cut - 1)) {
        if (files_.contains(path.substr(0, cut)))
          refusals.Add(Kind::kInvalid, "the tree holds a file and a folder of one name", path);
      }
    }
  }

 private:
  // Notes a path and the folders above it. Returns the first known name that is another one but
  // folds to the same.
  std::string Learn(std::string_view path) {
    std::string other = LearnName(path);
    files_.insert(path);
    for (auto cut = path.rfind('/'); cut != std::string_view::npos && cut > 0;
         cut = path.rfind('/', cut - 1)) {
      const std::string_view folder = path.substr(0, cut);
      if (!folders_.insert(folder).second) break;  // and everything above it
      if (const std::string found = LearnName(folder); !found.empty()) other = found;
    }
    return other;
  }

  std::string LearnName(std::string_view name) {
    const auto [at, fresh] = names_.try_emplace(FoldName(name), name);
    return fresh || at->second == name ? std::string() : std::string(at->second);
  }

  std::unordered_set<std::string_view> added_, files_, folders_;
  std::unordered_map<std::string, std::string_view> names_;
};

Result<bool> WithinLimits(ObjectReader& objects, const std::vector<ChangedPath>& changes,
                          Refusals& refusals) {
  if (changes.size() > kMaxChangedFiles) {
    refusals.Add(
        Kind::kInvalid,
        Format("changes {} files; at most {} are let in", changes.size(), kMaxChangedFiles), "");
    return false;
  }
  std::vector<std::string_view> blobs;
  for (const ChangedPath& change : changes) {
    if (IsRegular(change.new_mode)) blobs.emplace_back(change.new_blob);
  }
  PAWL_ASSIGN(const std::vector<ObjectInfo> infos, objects.Look(blobs));
  std::uint64_t bytes = 0;
  for (const ObjectInfo& info : infos) bytes += info.size_bytes;
  if (bytes <= kMaxChangedBytes) return true;
  refusals.Add(Kind::kInvalid,
               Format("changed files hold {}; at most {} are let in", FormatBytes(bytes),
                      FormatBytes(kMaxChangedBytes)),
               "");
  return false;
}

}  // namespace

Result<CandidateFacts> Vault::Inspect(const CommitId& incumbent, const CommitId& candidate,
                                      std::string_view prefix, const Config& config) const {
  CandidateFacts facts;
  facts.commit = candidate;
  PAWL_ASSIGN(const CommitText text, ReadCommitText(objects_, candidate));
  if (!text.parents.empty()) facts.parent = text.parents.front();
  facts.subject = text.subject;

  Refusals refusals;
  bool descends =
      std::find(text.parents.begin(), text.parents.end(), incumbent) != text.parents.end();
  if (!descends) {
    PAWL_ASSIGN(descends, IsAncestor(incumbent, candidate));
  }
  if (!descends)
    refusals.Add(Kind::kScope, Format("does not descend from the incumbent {}", incumbent.brief()),
                 "");
  PAWL_ASSIGN(const auto before, ListFiles(incumbent));
  const auto after = ListFiles(candidate);
  if (!after.ok() && after.error().code != Code::kResourceExhausted) return after.error();
  if (!after.ok()) {
    refusals.Add(Kind::kInvalid, "the tree is too large to be listed", "");
    facts.refusal = refusals.Take();
    return facts;
  }

  const std::vector<TreeFile>& files = (*after)->files;
  CheckDoubles(files, refusals);
  facts.changes = Compare(before->files, files);
  PAWL_ASSIGN(const bool within_limits, WithinLimits(objects_, facts.changes, refusals));
  if (within_limits) {
    const Scopes scopes = RepositoryScopes(config, prefix);
    for (const ChangedPath& change : facts.changes) {
      CheckPlace(change, scopes, refusals);
      CheckKind(change, refusals);
    }
    Collisions(files, facts.changes).Check(refusals);
  }
  facts.refusal = refusals.Take();
  return facts;
}

}  // namespace pawl::campaign
