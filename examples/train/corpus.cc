#include "corpus.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace train {
namespace {

std::string contentOf(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

Corpus Corpus::read(const std::string& path) {
  namespace fs = std::filesystem;
  if (!fs::is_directory(path)) return Corpus(contentOf(path));
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.is_regular_file() && !entry.is_symlink()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::string text;
  for (const auto& file : files) text += contentOf(file);
  return Corpus(text);
}

Corpus::Corpus(const std::string& text) {
  if (text.size() < 10'000)
    throw std::runtime_error(
        "the text has " + std::to_string(text.size()) +
        " bytes; at least 10000 are needed: give a file or folder with --text");
  std::array<int, 256> code{};
  for (const char c : text) code[static_cast<uint8_t>(c)] = 1;
  for (int& c : code) c = c != 0 ? alphabet_++ : 0;
  text_.reserve(text.size());
  for (const char c : text) text_.push_back(static_cast<uint8_t>(code[static_cast<uint8_t>(c)]));
  trainingSize_ = text_.size() * 9 / 10;
}

void Corpus::append(Batch& batch, size_t place) const {
  const auto at = text_.begin() + static_cast<std::ptrdiff_t>(place);
  batch.before.insert(batch.before.end(), at - batch.context, at);
  batch.next.push_back(*at);
  ++batch.size;
}

Batch Corpus::draw(int size, int context, std::mt19937_64& random) const {
  Batch batch{0, context, {}, {}};
  const auto first = static_cast<size_t>(context);
  for (int i = 0; i < size; ++i) append(batch, first + random() % (trainingSize_ - first));
  return batch;
}

Batch Corpus::heldOut(int size, int context) const {
  Batch batch{0, context, {}, {}};
  const size_t first = trainingSize_ + static_cast<size_t>(context);
  for (int i = 0; i < size; ++i)
    append(batch,
           first + (text_.size() - first) * static_cast<size_t>(i) / static_cast<size_t>(size));
  return batch;
}

}  // namespace train
