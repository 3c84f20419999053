// Faults at the calls by which pawl, or what it starts, changes files. pawl-faults (injector.cc)
// brings them about; here are its command lines and what it reports.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "os/files.h"

namespace pawl::fault {

// One call of one step, by who makes it (`pawl`, `git`, `bwrap`, `stage`), its name
// (`write-device` for what lies on no disk), and which of those it is: the calls of one name come
// in the same order in every run.
struct Point {
  std::string who, call;
  int at = 0;  // from 1

  std::string Text() const;
};

class Injector {
 public:
  explicit Injector(os::Path report) : report_(std::move(report)) {}

  // Why this machine offers no injection; empty when it does.
  static std::string Missing();

  // Command lines to put before the program's.
  std::vector<std::string> Watching() const { return Argv({"watch"}); }
  std::vector<std::string> Killing(const Point& point) const;        // pawl, when the call is made
  std::vector<std::string> KillingCaller(const Point& point) const;  // the process that makes it
  // With `on`, from that point on and not only there.
  std::vector<std::string> Failing(const Point& point, int error, bool on = false) const;

  // Of the last call: all points that it passed, how many faults fired, and whether something that
  // it had started was still alive long after its end.
  struct Report {
    std::vector<Point> points;
    int fired = 0;
    bool outlived = false;
  };
  Report Last() const;

 private:
  std::vector<std::string> Argv(std::vector<std::string> plan) const;

  os::Path report_;
};

}  // namespace pawl::fault
