// make_inputs SEED INPUTS: draws fresh cases and tensors from a seed (any text).
// Token counts differ with the seed and are never the round numbers of the model cards. Each shape
// comes as a pair, k tokens shorter and k longer, so that the work stays the same within 0.3 %.
// One query row in eight is hard: its scores lie far outside what exp() can hold in fp32.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cases.h"

namespace {

// The attention shapes of published models at 256 x 256 pixels; heads are a share of the model's.
struct ModelShape {
  const char* name;
  std::size_t batch;
  std::size_t heads;
  std::size_t queries;
  std::size_t keys;  // 0: self-attention
  std::size_t head_dim;
};

constexpr ModelShape kModelShapes[] = {
    {"dit_xl2", 1, 2, 256, 0, 72},         // DiT-XL/2: 16 x 16 patches
    {"dit_s4", 1, 3, 64, 0, 64},           // DiT-S/4: 8 x 8 patches
    {"pixart_cross", 1, 1, 256, 120, 72},  // PixArt: image tokens look at 120 text tokens
    {"sd3_joint", 1, 3, 410, 0, 64},       // SD3: 256 image and 154 text tokens together
};

class Random {
 public:
  explicit Random(const std::string& seed) {
    for (const char c : seed) {
      state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    }
  }

  std::uint64_t Next() {  // splitmix64
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  std::size_t Between(std::size_t low, std::size_t high) { return low + Next() % (high - low + 1); }

  // Close to a standard normal: the sum of four uniform numbers, scaled to variance one.
  float Normal() {
    const std::uint64_t bits = Next();
    const std::uint64_t sum =
        (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
    return (static_cast<float>(sum) / 65536.0F - 2.0F) * 1.7320508F;
  }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

std::vector<Case> DrawCases(Random& random) {
  std::vector<Case> cases;
  for (const ModelShape& m : kModelShapes) {
    const std::size_t k = random.Between(1, 7);
    const std::size_t text = random.Between(1, 5);
    const std::string name = m.name;
    const bool self = m.keys == 0;
    cases.push_back({name + "_short", m.batch, m.heads, m.queries - k,
                     self ? m.queries - k : m.keys + text, m.head_dim});
    cases.push_back({name + "_long", m.batch, m.heads, m.queries + k,
                     self ? m.queries + k : m.keys - text, m.head_dim});
  }
  return cases;
}

// Keys share a large mean along one direction, as they do in trained models. A hard query is
// either long (scores spread over about +-100), or lies along or against that direction, which
// moves all its scores to about +120 or -120. Softmax does not care about such a shift; exp() does.
void FillHead(Random& random, const Case& c, float* q, float* k, float* v) {
  const std::size_t dim = c.head_dim;
  const float root_dim = std::sqrt(static_cast<float>(dim));
  constexpr float kMean = 40.0F;
  std::vector<float> direction(dim);
  for (float& x : direction) x = (random.Next() & 1U ? 1.0F : -1.0F) / root_dim;

  for (std::size_t j = 0; j < c.keys * dim; ++j) {
    k[j] = random.Normal() + kMean * direction[j % dim];
    v[j] = random.Normal();
  }
  const std::size_t loud = random.Between(0, dim - 1);  // one channel of massive activations
  for (std::size_t j = 0; j < c.keys; ++j) v[j * dim + loud] *= 20.0F;

  const std::size_t first_hard = random.Between(0, 7);
  for (std::size_t i = 0; i < c.queries; ++i) {
    const bool hard = i % 8 == first_hard;
    const std::size_t kind = i / 8 % 3;
    const float size = hard && kind == 0 ? 20.0F : 1.0F;
    const float along = hard && kind != 0 ? 120.0F / kMean * root_dim : 0.0F;
    const float sign = kind == 1 ? 1.0F : -1.0F;
    for (std::size_t d = 0; d < dim; ++d) {
      q[i * dim + d] = size * random.Normal() + sign * along * direction[d];
    }
  }
}

bool WriteCase(Random& random, const Case& c, const std::string& path) {
  std::vector<float> data(c.q_size() + 2 * c.k_size());
  const std::size_t heads = c.batch * c.heads;
  for (std::size_t h = 0; h < heads; ++h) {
    float* q = data.data() + h * c.queries * c.head_dim;
    float* k = data.data() + c.q_size() + h * c.keys * c.head_dim;
    FillHead(random, c, q, k, k + c.k_size());
  }
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(data.data()),
            static_cast<std::streamsize>(data.size() * sizeof(float)));
  out.close();
  return !out.fail();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: make_inputs SEED INPUTS\n");
    return 2;
  }
  const std::string inputs = argv[2];
  std::error_code error;
  std::filesystem::create_directories(inputs, error);

  Random random(argv[1]);
  std::ofstream list(inputs + "/cases.txt");
  for (const Case& c : DrawCases(random)) {
    list << c.name << ' ' << c.batch << ' ' << c.heads << ' ' << c.queries << ' ' << c.keys << ' '
         << c.head_dim << '\n';
    if (!WriteCase(random, c, inputs + "/" + c.name + ".bin")) {
      std::fprintf(stderr, "make_inputs: cannot write %s/%s.bin\n", inputs.c_str(), c.name.c_str());
      return 1;
    }
  }
  list.close();
  if (list.fail()) {
    std::fprintf(stderr, "make_inputs: cannot write %s/cases.txt\n", inputs.c_str());
    return 1;
  }
  return 0;
}
