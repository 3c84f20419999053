#include "base/time.h"

#include <ctime>

#include "base/result.h"
#include "base/text.h"

namespace pawl {

namespace {

using Micros = std::chrono::sys_time<std::chrono::microseconds>;

Micros FromUnix(std::int64_t unix_micros) {
  return Micros(std::chrono::microseconds(unix_micros));
}

}  // namespace

std::int64_t UnixMicros() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

std::string IsoUtc(std::int64_t unix_micros) {
  const Micros time = FromUnix(unix_micros);
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return Format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}+00:00", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                clock.subseconds().count());
}

std::string CompactLocal(std::int64_t unix_micros) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(FromUnix(unix_micros));
  const auto seconds = static_cast<std::time_t>(whole.time_since_epoch().count());
  std::tm local{};
  PAWL_CHECK(localtime_r(&seconds, &local) != nullptr);
  return Format("{:04}{:02}{:02}_{:02}{:02}{:02}", local.tm_year + 1900, local.tm_mon + 1,
                local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec);
}

}  // namespace pawl
