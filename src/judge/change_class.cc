#include "judge/change_class.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "judge/diff_lines.h"

namespace pawl::judge {

namespace {

constexpr std::size_t kMaxSigns = 20;
constexpr std::size_t kMaxDiffBytes = std::size_t{8} << 20;
constexpr std::size_t kMaxTypeNote = 32;

using Words = std::vector<std::string>;

bool IsNameByte(char byte) {
  return std::isalnum(static_cast<unsigned char>(byte)) != 0 || byte == '_';
}

// Maximal runs of letters, digits and underscores that do not start with a digit.
std::vector<std::string_view> Names(std::string_view code) {
  std::vector<std::string_view> out;
  for (std::size_t i = 0; i < code.size();) {
    if (!IsNameByte(code[i])) {
      ++i;
      continue;
    }
    const std::size_t start = i;
    while (i < code.size() && IsNameByte(code[i])) ++i;
    if (std::isdigit(static_cast<unsigned char>(code[start])) == 0) {
      out.push_back(code.substr(start, i - start));
    }
  }
  return out;
}

// "load_in_8bit" -> load, in, 8bit; "kInt8Scale" -> k, int8, scale. Digits stay with the letters
// before them, so that `point8` is never `int8`.
Words SplitName(std::string_view name) {
  Words out;
  std::string word;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto byte = static_cast<unsigned char>(name[i]);
    const bool starts_word = std::isupper(byte) != 0 && i > 0 &&
                             std::islower(static_cast<unsigned char>(name[i - 1])) != 0;
    if (byte == '_' || starts_word) {
      if (!word.empty()) out.push_back(std::move(word));
      word.clear();
    }
    if (byte != '_') word += static_cast<char>(std::tolower(byte));
  }
  if (!word.empty()) out.push_back(std::move(word));
  return out;
}

bool HasWord(const Words& words, std::string_view wanted) {
  return std::ranges::find(words, wanted) != words.end();
}

template <std::size_t N>
bool HasAnyWord(const Words& words, const std::array<std::string_view, N>& wanted) {
  return std::ranges::any_of(wanted, [&](std::string_view word) { return HasWord(words, word); });
}

bool IsScript(std::string_view file) {
  constexpr std::array<std::string_view, 6> kEndings = {".py",  ".pyi",  ".yaml",
                                                        ".yml", ".toml", ".json"};
  return std::ranges::any_of(kEndings, [&](std::string_view end) { return file.ends_with(end); });
}

// Everyday C, C++ and CUDA: small integers and vector loads (int4 is four ints). They count only in
// a file whose added lines speak of quantisation.
bool IsEverydayType(std::string_view name, std::string_view file) {
  constexpr std::array<std::string_view, 12> kEveryday = {
      "int8_t", "int_fast8_t", "int_least8_t", "int8",      "int2",       "int4",
      "uint4",  "float4",      "float8",       "make_int4", "make_uint4", "make_float4"};
  return !IsScript(file) && std::ranges::find(kEveryday, name) != kEveryday.end();
}

bool IsLowBit(std::string_view name, const Words& words, std::string_view file) {
  constexpr std::array<std::string_view, 38> kLowBit = {
      "int8",   "qint8",        "quint8", "int4",     "uint4",       "qint4",   "int2",
      "fp8",    "fp6",          "fp4",    "nf4",      "float8",      "float4",  "e4m3",
      "e4m3fn", "e4m3fnuz",     "e5m2",   "e5m2fnuz", "e2m1",        "mxfp8",   "mxfp4",
      "nvfp4",  "w8a8",         "w4a16",  "w8a16",    "w4a8",        "w4a4",    "8bit",
      "4bit",   "bitsandbytes", "gptq",   "awq",      "smoothquant", "torchao", "dp4a",
      "dpbusd", "svdquant",     "hqq"};
  if (IsEverydayType(name, file)) return false;
  if (name == "CUDA_R_8I" || name == "CUDA_R_4I" || name.starts_with("CUDA_R_8F")) return true;
  if (name.starts_with("Linear8bit") || name.starts_with("Linear4bit")) return true;
  return HasAnyWord(words, kLowBit);
}

bool IsQuantisation(const Words& words) {
  constexpr std::array<std::string_view, 8> kStems = {"quantize",  "quantise",     "quantized",
                                                      "quantised", "quantization", "quantisation",
                                                      "quantizer", "quantiser"};
  // Vector quantisation is a part of models (VQ-VAE), not a way to make them cheaper.
  if (HasWord(words, "vector") || HasWord(words, "vq") || HasWord(words, "codebook")) return false;
  return std::ranges::any_of(words, [&](std::string_view word) {
    if (word.starts_with("de")) word.remove_prefix(2);
    return std::ranges::find(kStems, word) != kStems.end();
  });
}

bool IsDeviceCode(std::string_view file) {
  return file.ends_with(".cu") || file.ends_with(".cuh") || file.ends_with(".cl") ||
         file.ends_with(".metal");
}

bool IsNumerical(std::string_view name, const Words& words, const DiffLine& line) {
  constexpr std::array<std::string_view, 9> kTypes = {
      "bfloat16", "float16", "bf16", "fp16", "autocast", "tf32", "float16x2", "bfloat162", "half2"};
  constexpr std::array<std::string_view, 5> kSwitches = {
      "set_float32_matmul_precision", "allow_tf32", "use_fast_math", "fastmath", "_Float16"};
  if (std::ranges::find(kSwitches, name) != kSwitches.end()) return true;
  if (HasAnyWord(words, kTypes)) return true;
  if (name == "__half" || name == "__half2") return true;
  if (name != "half") return false;
  // `half = n // 2` is arithmetic; x.half() and the device type are dtypes. `name` lies in the
  // line.
  const std::string_view code = line.code;
  const auto at = static_cast<std::size_t>(name.data() - code.data());
  const bool method = code.substr(0, at).ends_with('.') && code.substr(at).starts_with("half()");
  return method || code.substr(0, at).ends_with("torch.") || IsDeviceCode(line.file);
}

bool IsApproximate(std::string_view name) {
  constexpr std::array<std::string_view, 15> kMarks = {
      "deepcache",     "teacache",     "fbcache",    "first_block_cache", "tomesd",
      "token_merging", "taylorseer",   "skip_step",  "skip_timestep",     "skip_layers",
      "skip_guidance", "cfg_interval", "cfg_cutoff", "guidance_interval", "guidance_cutoff"};
  const std::string lower = ToLowerAscii(name);
  return std::ranges::any_of(
      kMarks, [&](std::string_view mark) { return lower.find(mark) != std::string::npos; });
}

// Names that count the steps of sampling; warmup_steps, max_steps and the like are something else.
bool CountsSteps(std::string_view joined) {
  constexpr std::array<std::string_view, 8> kSteps = {
      "num_inference_steps", "num_sampling_steps", "num_denoising_steps", "inference_steps",
      "sampling_steps",      "denoising_steps",    "num_steps",           "num_timesteps"};
  return joined == "steps" || std::ranges::find(kSteps, joined) != kSteps.end();
}

struct Setting {
  std::string name;   // words joined with '_'
  std::string value;  // "30", "false"
};

// `name = 30`, `name: 30`, `"name": 30`, `name=False`: what follows the name up to a separator.
std::vector<Setting> Settings(std::string_view code) {
  std::vector<Setting> out;
  for (const std::string_view name : Names(code)) {
    std::string_view rest =
        code.substr(static_cast<std::size_t>(name.data() - code.data()) + name.size());
    while (!rest.empty() && (rest[0] == '"' || rest[0] == '\'' || rest[0] == ' '))
      rest.remove_prefix(1);
    if (rest.empty() || (rest[0] != '=' && rest[0] != ':')) continue;
    // A type note between name and value: `steps: int = 30`. A note that long would be none.
    if (rest[0] == ':') {
      const std::size_t equals = rest.substr(0, kMaxTypeNote).find('=');
      const std::string_view note =
          Trim(rest.substr(1, equals == std::string_view::npos ? 0 : equals - 1));
      if (note == "int" || note == "float" || note == "bool") rest.remove_prefix(equals);
    }
    rest.remove_prefix(1);
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    std::size_t end = 0;
    while (end < rest.size() && (IsNameByte(rest[end]) || rest[end] == '.')) ++end;
    if (end == 0) continue;
    out.push_back({Join(SplitName(name), "_"), ToLowerAscii(rest.substr(0, end))});
  }
  return out;
}

struct Sign {
  ChangeClass change_class;
  std::string text;  // "int8"
  const DiffLine* line;
};

class Finder {
 public:
  explicit Finder(std::vector<DiffLine> lines) : lines_(std::move(lines)) {}

  std::vector<Sign> Find() {
    for (const DiffLine& line : lines_) {
      if (MentionsQuantisation(line)) quantising_files_.insert(line.file);
    }
    for (const DiffLine& line : lines_) ScanNames(line);
    for (const auto& [key, found] : names_) {
      // Moved and edited lines both remove and add a word; only more of it than before is a sign.
      if (found.added > found.removed) signs_.push_back({key.first, key.second, found.first});
    }
    FindSettings();
    std::ranges::stable_sort(
        signs_, [](const Sign& a, const Sign& b) { return a.change_class > b.change_class; });
    return std::move(signs_);
  }

 private:
  struct Count {
    int added = 0, removed = 0;
    const DiffLine* first = nullptr;
  };

  static bool MentionsQuantisation(const DiffLine& line) {
    constexpr std::array<std::string_view, 4> kScales = {"dequant", "quant", "maddubs", "vpdpbusd"};
    return line.added && std::ranges::any_of(Names(line.code), [&](std::string_view name) {
             const Words words = SplitName(name);
             return IsQuantisation(words) || HasAnyWord(words, kScales);
           });
  }

  void ScanNames(const DiffLine& line) {
    for (const std::string_view name : Names(line.code)) {
      const Words words = SplitName(name);
      std::optional<ChangeClass> found;
      if (IsLowBit(name, words, line.file) || IsQuantisation(words) ||
          (IsEverydayType(name, line.file) && quantising_files_.contains(line.file))) {
        found = ChangeClass::kQuantization;
      } else if (IsApproximate(name)) {
        found = ChangeClass::kApproximate;
      } else if (IsNumerical(name, words, line)) {
        found = ChangeClass::kNumerical;
      }
      if (!found) continue;
      Count& count = names_[{*found, std::string(name)}];
      ++(line.added ? count.added : count.removed);
      if (line.added && count.first == nullptr) count.first = &line;
    }
    for (const std::string_view flag : {"-ffast-math", "-Ofast", "--use_fast_math"}) {
      if (line.code.find(flag) == std::string::npos) continue;
      Count& count = names_[{ChangeClass::kNumerical, std::string(flag)}];
      ++(line.added ? count.added : count.removed);
      if (line.added && count.first == nullptr) count.first = &line;
    }
  }

  struct Range {
    double least, most;
  };
  using Values = std::map<std::pair<std::string_view, std::string>, Range>;

  void FindSettings() {
    Values before;
    for (const DiffLine& line : lines_) {
      if (line.added) continue;
      for (const Setting& setting : Settings(line.code)) {
        if (const auto value = ParseDouble(setting.value)) {
          Range& range =
              before.try_emplace({line.file, setting.name}, Range{*value, *value}).first->second;
          range.least = std::min(range.least, *value);
          range.most = std::max(range.most, *value);
        }
      }
    }
    for (const DiffLine& line : lines_) {
      if (!line.added) continue;
      for (const Setting& setting : Settings(line.code)) Compare(line, setting, before);
    }
  }

  void Compare(const DiffLine& line, const Setting& setting, const Values& before) {
    if (setting.name == "do_classifier_free_guidance" && setting.value == "false") {
      signs_.push_back({ChangeClass::kApproximate, setting.name + " = false", &line});
      return;
    }
    const bool counts_steps = CountsSteps(setting.name);
    const bool scales = setting.name == "guidance_scale" || setting.name == "cfg_scale";
    const auto now = ParseDouble(setting.value);
    const auto found = before.find({line.file, setting.name});
    if ((!counts_steps && !scales) || !now || found == before.end()) return;
    const auto [least, most] = found->second;
    // Guidance at 1 or below is guidance skipped; other scales only change the picture.
    const bool cheaper = counts_steps ? *now < least : *now <= 1 && most > 1;
    if (!cheaper) return;
    signs_.push_back({ChangeClass::kApproximate,
                      Format("{} {} instead of {}", setting.name, FormatG(*now), FormatG(most)),
                      &line});
  }

  std::vector<DiffLine> lines_;
  std::set<std::string_view> quantising_files_;
  std::map<std::pair<ChangeClass, std::string>, Count> names_;
  std::vector<Sign> signs_;
};

}  // namespace

std::string_view ClassName(ChangeClass change_class) {
  switch (change_class) {
    case ChangeClass::kExact:
      return "exact";
    case ChangeClass::kNumerical:
      return "numerical";
    case ChangeClass::kApproximate:
      return "approximate";
    case ChangeClass::kQuantization:
      return "quantization";
  }
  return "exact";
}

std::optional<ChangeClass> ParseClass(std::string_view name) {
  for (const ChangeClass each : {ChangeClass::kExact, ChangeClass::kNumerical,
                                 ChangeClass::kApproximate, ChangeClass::kQuantization}) {
    if (name == ClassName(each)) return each;
  }
  return std::nullopt;
}

ClassFinding CheckClass(ChangeClass declared, std::string_view unified_diff) {
  ClassFinding out{.declared = declared, .judged_as = declared, .signs = {}};
  Finder finder(ChangedCode(unified_diff.substr(0, kMaxDiffBytes)));
  for (const Sign& sign : finder.Find()) {
    out.judged_as = std::max(out.judged_as, sign.change_class);
    if (out.signs.size() == kMaxSigns) continue;
    out.signs.push_back(Format("line adds {} ({}): {}:{}", PrintableLine(sign.text, 80),
                               ClassName(sign.change_class), PrintableLine(sign.line->file, 200),
                               sign.line->line));
  }
  return out;
}

}  // namespace pawl::judge
