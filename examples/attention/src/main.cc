// The measured program: attention INPUTS OUTPUTS
// Reads INPUTS/cases.txt and INPUTS/<case>.bin (q, k, v), writes OUTPUTS/<case>.bin.
// All of it may be changed by a candidate: the clock and the check are other processes.
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "attention.h"

namespace {

[[noreturn]] void Fail(const std::string& message) {
  std::fprintf(stderr, "attention: %s\n", message.c_str());
  std::exit(1);
}

std::vector<float> ReadFloats(const std::string& path, std::size_t count) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) Fail("cannot open " + path);
  std::vector<float> values(count);
  const std::size_t got = std::fread(values.data(), sizeof(float), count, file);
  std::fclose(file);
  if (got != count) Fail(path + " is too short");
  return values;
}

void WriteFloats(const std::string& path, const std::vector<float>& values) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) Fail("cannot create " + path);
  const std::size_t put = std::fwrite(values.data(), sizeof(float), values.size(), file);
  if (std::fclose(file) != 0 || put != values.size()) Fail("cannot write " + path);
}

void RunCase(const std::string& name, const Shape& shape, const std::string& inputs,
             const std::string& outputs) {
  const std::size_t heads = shape.batch * shape.heads;
  const std::size_t q_size = heads * shape.queries * shape.head_dim;
  const std::size_t k_size = heads * shape.keys * shape.head_dim;
  const auto qkv = ReadFloats(inputs + "/" + name + ".bin", q_size + 2 * k_size);
  std::vector<float> out(q_size);
  Attention(shape, qkv.data(), qkv.data() + q_size, qkv.data() + q_size + k_size, out.data());
  WriteFloats(outputs + "/" + name + ".bin", out);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) Fail("usage: attention INPUTS OUTPUTS");
  // Freed buffers stay in the heap for the next case: page faults would drown the arithmetic.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  const std::string inputs = argv[1];
  const std::string outputs = argv[2];
  std::error_code error;
  std::filesystem::create_directories(outputs, error);
  if (error) Fail("cannot make " + outputs + ": " + error.message());

  std::ifstream cases(inputs + "/cases.txt");
  if (!cases) Fail("cannot open " + inputs + "/cases.txt");
  std::string name;
  Shape shape;
  while (cases >> name >> shape.batch >> shape.heads >> shape.queries >> shape.keys >>
         shape.head_dim) {
    RunCase(name, shape, inputs, outputs);
  }
  return 0;
}
