// The list of cases that make_inputs draws and check reads back: INPUTS/cases.txt, one a line,
// "name batch heads queries keys head_dim", beside INPUTS/<name>.bin with q, k, v in fp32.
#pragma once

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

struct Case {
  std::string name;
  std::size_t batch = 0;
  std::size_t heads = 0;
  std::size_t queries = 0;
  std::size_t keys = 0;
  std::size_t head_dim = 0;

  std::size_t q_size() const { return batch * heads * queries * head_dim; }
  std::size_t k_size() const { return batch * heads * keys * head_dim; }
};

inline std::vector<Case> ReadCases(const std::string& path) {
  std::ifstream in(path);
  std::vector<Case> cases;
  Case c;
  while (in >> c.name >> c.batch >> c.heads >> c.queries >> c.keys >> c.head_dim) {
    cases.push_back(c);
  }
  return cases;
}
