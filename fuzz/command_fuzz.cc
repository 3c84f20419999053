// Place-holders of commands: a command is the sum of its parts, and filling it in never reads the
// values as place-holders again.
#include "campaign/command_text.h"
#include "campaign/config.h"
#include "input.h"

namespace {

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char byte : text) {
    out += byte;
    if (byte == '{' || byte == '}') out += byte;
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace campaign = pawl::campaign;
  const std::string_view command = pawl::fuzz::TextOf(data, size);
  const pawl::Result<campaign::CommandText> parsed = campaign::ParseCommandText(command);
  const campaign::PlaceHolders values = {"{seed}", "{{run}}", "}{", "{"};
  const pawl::Result<std::string> filled = campaign::FillCommand(command, values);
  PAWL_CHECK(filled.ok() == parsed.ok());
  if (!parsed.ok()) {
    pawl::fuzz::CheckMessage(parsed.error(), "");
    return 0;
  }
  PAWL_CHECK(parsed->texts.size() == parsed->names.size() + 1);
  std::string whole = Escaped(parsed->texts[0]);
  std::string expected = parsed->texts[0];
  for (std::size_t i = 0; i < parsed->names.size(); ++i) {
    const std::string& name = parsed->names[i];
    whole += "{" + name + "}" + Escaped(parsed->texts[i + 1]);
    expected += name == "root"        ? values.root
                : name == "run_dir"   ? values.run_dir
                : name == "setup_dir" ? values.setup_dir
                                      : values.seed;
    expected += parsed->texts[i + 1];
  }
  PAWL_CHECK(whole == command);
  PAWL_CHECK(*filled == expected);
  return 0;
}
