#include "base/result.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>

namespace pawl {
namespace {

Result<int> Half(int value) {
  if (value % 2 != 0) return MakeError(Code::kInvalidArgument, "odd number", "use an even one");
  return value / 2;
}

Result<int> Quarter(int value) {
  PAWL_ASSIGN(const int half, Half(value));
  return Half(half);
}

Status CheckEven(int value) {
  PAWL_TRY(Half(value));
  return OkStatus();
}

TEST(Result, HoldsAValueOrAnError) {
  EXPECT_EQ(*Half(8), 4);
  const Result<int> odd = Half(3);
  ASSERT_FALSE(odd.ok());
  EXPECT_EQ(odd.error().code, Code::kInvalidArgument);
  EXPECT_EQ(odd.ValueOr(7), 7);
}

TEST(Result, AssignBindsTheValueOrReturnsTheFirstError) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).error().Text(), "odd number (hint: use an even one)");
}

TEST(Result, TryReturnsTheErrorOfAStatusOrAResult) {
  EXPECT_TRUE(CheckEven(2).ok());
  EXPECT_EQ(CheckEven(1).error().message, "odd number");
}

TEST(Result, CarriesValuesThatCanOnlyMove) {
  Result<std::unique_ptr<int>> made = std::make_unique<int>(5);
  const std::unique_ptr<int> taken = std::move(made).value();
  EXPECT_EQ(*taken, 5);
}

TEST(Result, ContextComesBeforeTheMessageAndKeepsTheHint) {
  const Error error = Half(3).error().Within("reading a.json");
  EXPECT_EQ(error.Text(), "reading a.json: odd number (hint: use an even one)");
  EXPECT_EQ(error.code, Code::kInvalidArgument);
}

TEST(ResultDeathTest, ValueOfAnErrorEndsTheProcessAndSaysWhy) {
  const Result<int> odd = Half(3);
  EXPECT_DEATH(static_cast<void>(odd.value()), "odd number");
}

TEST(ResultDeathTest, CheckNamesTheBrokenCondition) {
  const int two = 2;
  EXPECT_DEATH(PAWL_CHECK(two == 3), "two == 3");
}

TEST(SystemError, MapsErrnoToTheCodeThatProgramsActOn) {
  EXPECT_EQ(SystemError("open x", ENOENT).code, Code::kNotFound);
  EXPECT_EQ(SystemError("open x", EACCES).code, Code::kPermissionDenied);
  EXPECT_EQ(SystemError("write x", EIO).code, Code::kIo);
  const Error full = SystemError("write x", ENOSPC);
  EXPECT_EQ(full.code, Code::kResourceExhausted);
  EXPECT_EQ(full.message, "write x: No space left on device");
  EXPECT_FALSE(full.hint.empty());
}

TEST(CodeName, IsDistinctForEveryCode) {
  EXPECT_EQ(CodeName(Code::kInvalidArgument), "invalid-argument");
  EXPECT_EQ(CodeName(Code::kCorrupt), "corrupt");
  EXPECT_NE(CodeName(Code::kIo), CodeName(Code::kInternal));
}

}  // namespace
}  // namespace pawl
