#include "judge/change_class.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "judge/diff_lines.h"

namespace pawl::judge {
namespace {

// One hunk that removes and adds the given lines.
std::string Diff(std::string_view file, const std::vector<std::string>& removed,
                 const std::vector<std::string>& added) {
  std::string out = "diff --git a/" + std::string(file) + " b/" + std::string(file) + "\n--- a/" +
                    std::string(file) + "\n+++ b/" + std::string(file) + "\n@@ -10," +
                    std::to_string(removed.size()) + " +10," + std::to_string(added.size()) +
                    " @@ def run():\n";
  for (const std::string& line : removed) out += "-" + line + "\n";
  for (const std::string& line : added) out += "+" + line + "\n";
  return out;
}

struct ClassRow {
  const char* file;
  const char* removed;  // one line; empty: none
  const char* added;
  ChangeClass judged_as;
};

class ClassTable : public testing::TestWithParam<ClassRow> {};

TEST_P(ClassTable, ReadsTheSign) {
  const ClassRow& row = GetParam();
  const auto lines = [](const char* line) {
    return *line == '\0' ? std::vector<std::string>{} : std::vector<std::string>{line};
  };
  const ClassFinding found =
      CheckClass(ChangeClass::kExact, Diff(row.file, lines(row.removed), lines(row.added)));
  EXPECT_EQ(ClassName(found.judged_as), ClassName(row.judged_as))
      << row.added << (found.signs.empty() ? "" : ": " + found.signs[0]);
  EXPECT_EQ(found.signs.empty(), row.judged_as == ChangeClass::kExact) << row.added;
}

constexpr auto kQ = ChangeClass::kQuantization;
constexpr auto kN = ChangeClass::kNumerical;
constexpr auto kA = ChangeClass::kApproximate;
constexpr auto kE = ChangeClass::kExact;

INSTANTIATE_TEST_SUITE_P(
    TrueFriends, ClassTable,
    testing::Values(
        ClassRow{"src/a.py", "", "w = w.to(torch.int8)", kQ},
        ClassRow{"src/a.py", "", "w = w.to(dtype='float8_e4m3fn')", kQ},
        ClassRow{"src/a.py", "", "import bitsandbytes as bnb", kQ},
        ClassRow{"src/a.py", "", "model = load(path, load_in_8bit=True)", kQ},
        ClassRow{"src/a.py", "", "quantize_(model, config)", kQ},
        ClassRow{"src/a.py", "", "quant_type = 'nf4'", kQ},
        ClassRow{"src/a.py", "", "x = dequantize_weights(q, s)", kQ},
        ClassRow{"src/a.py", "", "from torchao.quantization import int4_weight_only", kQ},
        ClassRow{"src/a.cu", "", "__nv_fp8_e4m3 value = load(p);", kQ},
        ClassRow{"src/a.cu", "", "cudaDataType_t type = CUDA_R_8F_E4M3;", kQ},
        ClassRow{"src/a.cc", "", "sum = __dp4a(a, b, sum);", kQ},
        ClassRow{"src/a.cc", "", "std::vector<int8_t> weights = QuantizeRows(w);", kQ},
        ClassRow{"src/a.py", "", "model = model.half()", kN},
        ClassRow{"src/a.py", "x = x.float()", "x = x.to(torch.bfloat16)", kN},
        ClassRow{"src/a.py", "", "with torch.autocast('cuda'):", kN},
        ClassRow{"src/a.py", "", "torch.backends.cuda.matmul.allow_tf32 = True", kN},
        ClassRow{"src/a.cu", "float x;", "half x;", kN},
        ClassRow{"CMakeLists.txt", "", "add_compile_options(-ffast-math)", kN},
        ClassRow{"src/a.py", "num_inference_steps = 50", "num_inference_steps = 30", kA},
        ClassRow{"src/a.py",
                 "def run(self, steps: int = 28):", "def run(self, steps: int = 20):", kA},
        ClassRow{"src/a.json", R"("num_inference_steps": 50,)", R"("num_inference_steps": 8,)", kA},
        ClassRow{"src/a.py", "guidance_scale=7.5,", "guidance_scale=1.0,", kA},
        ClassRow{"src/a.py", "", "do_classifier_free_guidance = False", kA},
        ClassRow{"src/a.py", "", "apply_teacache(pipe)", kA},
        ClassRow{"src/a.py", "", "TeaCache(pipe, 0.2)", kA}));

INSTANTIATE_TEST_SUITE_P(
    FalseFriends, ClassTable,
    testing::Values(
        ClassRow{"src/a.py", "", "point8 = points[8]", kE},
        ClassRow{"src/a.py", "", "x = y  # int8 would be faster", kE},
        ClassRow{"src/a.py", "", "# quantize_(model) was tried", kE},
        ClassRow{"src/a.py", "", "\"\"\"Never use fp8 here.\"\"\"", kE},
        ClassRow{"src/a.cc", "", "// int8 path removed", kE},
        ClassRow{"src/a.cc", "", "int n = 3; /* fp8 */ n++;", kE},
        ClassRow{"docs/a.md", "", "We use fp8 and int8.", kE},
        ClassRow{"src/a.cc", "", "enum class Kind : int8_t { kA };", kE},
        ClassRow{"src/a.cu", "", "float4 v = *reinterpret_cast<const float4*>(p);", kE},
        ClassRow{"src/a.cu", "", "int4 v = __ldg(reinterpret_cast<const int4*>(p));", kE},
        ClassRow{"src/a.py", "", "image = image.to(torch.uint8)", kE},
        ClassRow{"src/a.py", "", "p = torch.quantile(x, 0.5)", kE},
        ClassRow{"src/a.py", "", "from vector_quantize_pytorch import VectorQuantize", kE},
        ClassRow{"src/a.py", "", "half = n // 2", kE},
        ClassRow{"src/a.py", "", "name = 'utf8'", kE},
        // Moved or edited lines have no more of the word than before.
        ClassRow{"src/a.py", "x = x.to(torch.bfloat16)", "x = x.to(torch.bfloat16).contiguous()",
                 kE},
        ClassRow{"src/a.py", "w = w.to(torch.int8)", "w = w.float()", kE},
        ClassRow{"src/a.py", "num_inference_steps = 30", "num_inference_steps = 50", kE},
        ClassRow{"src/a.py", "warmup_steps = 50", "warmup_steps = 5", kE},
        ClassRow{"src/a.py", "guidance_scale=7.5,", "guidance_scale=5.0,", kE}));

TEST(CheckClass, NamesTheSignWithFileAndLine) {
  const ClassFinding found = CheckClass(ChangeClass::kNumerical,
                                        Diff("src/a b.py", {}, {"x = 1", "w = w.to(torch.int8)"}));
  EXPECT_EQ(found.declared, ChangeClass::kNumerical);
  EXPECT_EQ(found.judged_as, ChangeClass::kQuantization);
  EXPECT_EQ(found.signs, std::vector<std::string>{"line adds int8 (quantization): src/a b.py:11"});
}

TEST(CheckClass, NeverJudgesMilderThanDeclared) {
  const ClassFinding found =
      CheckClass(ChangeClass::kQuantization, Diff("a.py", {}, {"x = x.half()"}));
  EXPECT_EQ(found.judged_as, ChangeClass::kQuantization);
}

TEST(CheckClass, PutsTheDecisiveSignFirstAndListsTwentyAtMost) {
  std::vector<std::string> added = {"x = x.half()"};
  for (int i = 0; i < 40; ++i) added.push_back("int8_name_" + std::to_string(i) + " = 1");
  const ClassFinding found = CheckClass(ChangeClass::kExact, Diff("a.py", {}, added));
  EXPECT_EQ(found.signs.size(), 20U);
  EXPECT_NE(found.signs[0].find("quantization"), std::string::npos);
}

TEST(CheckClass, NamesRoundTrip) {
  for (const auto each : {kE, kN, kA, kQ}) EXPECT_EQ(ParseClass(ClassName(each)), each);
  EXPECT_EQ(ParseClass("lossy"), std::nullopt);
}

TEST(ChangedCode, CountsHunksInsteadOfTrustingLineStarts) {
  // The added line "++ b/evil.md" must neither end the hunk nor rename the file.
  const std::string diff =
      "--- a/x.cc\n+++ b/x.cc\n@@ -1,1 +1,2 @@\n+++ b/evil.md\n keep();\n@@ -9 +10 @@\n-old();\n"
      "+fp8();\n\\ No newline at end of file\n";
  const std::vector<DiffLine> lines = ChangedCode(diff);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].code, "++ b/evil.md");
  EXPECT_EQ(lines[2].file, "x.cc");
  EXPECT_EQ(lines[2].line, 10);
  EXPECT_TRUE(lines[2].added);
}

// Each would take many minutes if the cost of a line grew with the square of its length.
TEST(CheckClass, CostsNoMoreThanTheLengthOfAHostileLine) {
  const auto repeated = [](std::string_view text) {
    std::string line;
    while (line.size() < std::size_t{1} << 20) line += text;
    return line;
  };
  const std::string blanks(std::size_t{1} << 19, ' ');
  for (const std::string& line :
       {repeated("\\'"), repeated("\\\""), repeated("a:"), repeated("half "),
        "steps=" + repeated("a= ") + blanks, blanks + repeated("\"\"\"\"\"\"")}) {
    EXPECT_EQ(CheckClass(kE, Diff("a.py", {}, {line})).judged_as, kE) << line.substr(0, 20);
    EXPECT_EQ(CheckClass(kE, Diff("a.cc", {}, {line})).judged_as, kE) << line.substr(0, 20);
  }
}

TEST(CheckClass, CostsNoMoreThanTheNumberOfHostileLines) {
  const std::vector<std::string> before(200'000, "num_steps=7");
  const std::vector<std::string> after(200'000, "num_steps=6");
  const std::string name = std::string(2000, 'n') + ".py";
  EXPECT_EQ(CheckClass(kE, Diff(name, before, after)).judged_as, kA);
}

TEST(ChangedCode, KeepsCodeBehindAnApostrophe) {
  const std::string diff =
      "--- a/x.cc\n+++ b/x.cc\n@@ -1 +1,2 @@\n+// it's\n+don't \"it's\" f('/*'); '//\n";
  const std::vector<DiffLine> lines = ChangedCode(diff);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].code, "don't \"it's\" f('/*'); '");
}

TEST(ChangedCode, FollowsCommentsOverLines) {
  const std::string diff =
      "--- a/x.cc\n+++ b/x.cc\n@@ -1,2 +1,3 @@\n /* start\n+int8 inside\n end */\n";
  EXPECT_TRUE(ChangedCode(diff).empty());
}

RC_GTEST_PROP(CheckClass, NeverCrashesOnForeignBytes, (const std::string& bytes)) {
  CheckClass(ChangeClass::kExact, bytes);
  const ClassFinding found =
      CheckClass(ChangeClass::kExact, "--- a/a.py\n+++ b/a.py\n@@ -1,9 +1,9 @@\n+" + bytes);
  RC_ASSERT(found.signs.size() <= 20U);
}

}  // namespace
}  // namespace pawl::judge
