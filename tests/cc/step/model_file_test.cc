#include "cc/step/model_file.h"

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/cc/step/written_file.h"

namespace rnn_ops::step {
namespace {

using testing::Weights;
using testing::WithHeader;
using testing::WriteFile;

Status ReadText(const std::string& text) {
  // Memory of exactly this size, so that a sanitizer sees every read behind it.
  std::unique_ptr<char[]> bytes(new char[text.size()]);
  text.copy(bytes.get(), text.size());
  ModelFile file;
  return ReadModelFile(bytes.get(), text.size(), &file);
}

TEST(ModelFile, HasTheGraphAndTheTensors) {
  const std::string text =
      WriteFile("{\"nodes\": [1]}", {{"a", {2, 3}, {1, 2, 3, 4, 5, 6}}, {"b", {}, {7}}});
  ModelFile file;
  const Status status = ReadModelFile(text.data(), text.size(), &file);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(file.graph.Find("nodes")->items().size(), 1u);
  ASSERT_EQ(file.tensors.size(), 2u);
  const StoredTensor& a = file.tensors["a"];
  EXPECT_EQ(a.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(a.elements, 6);
  float last = 0;
  std::memcpy(&last, a.data + 20, 4);
  EXPECT_EQ(last, 6);
}

TEST(ModelFile, RejectsAFileThatIsCutAnywhere) {
  const std::string text = WriteFile("{\"nodes\": []}", {{"a", {2}, {1, 2}}});
  ASSERT_TRUE(ReadText(text).ok());
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(ReadText(text.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(ReadText(text + "x").ok());
}

TEST(ModelFile, RejectsTensorsOutsideOfTheFile) {
  const std::string begin =
      "{\"__metadata__\": {\"format\": \"tf_rnn_ops.step\", \"version\": \"1\", \"graph\": "
      "\"{}\"}, \"a\": ";
  const std::string data(8, '\0');
  const auto with = [&](const std::string& tensor) {
    return WithHeader(begin + tensor + "}", data);
  };
  ASSERT_TRUE(
      ReadText(with("{\"dtype\": \"F32\", \"shape\": [2], \"data_offsets\": [0, 8]}")).ok());
  ASSERT_TRUE(ReadText(with("{\"dtype\": \"I8\", \"shape\": [8], \"data_offsets\": [0, 8]}")).ok());
  for (const char* tensor : {
           "{\"dtype\": \"F32\", \"shape\": [2], \"data_offsets\": [4, 12]}",
           "{\"dtype\": \"F32\", \"shape\": [2], \"data_offsets\": [-4, 4]}",
           "{\"dtype\": \"F32\", \"shape\": [2], \"data_offsets\": [8, 0]}",
           "{\"dtype\": \"F32\", \"shape\": [-2], \"data_offsets\": [0, 8]}",
           "{\"dtype\": \"F32\", \"shape\": [4294967296, 4294967296], \"data_offsets\": [0, 0]}",
           "{\"dtype\": \"F32\", \"shape\": [2], \"data_offsets\": [0]}",
           "{\"dtype\": \"F64\", \"shape\": [1], \"data_offsets\": [0, 8]}",
           "{\"shape\": [2], \"data_offsets\": [0, 8]}",
           "3",
       }) {
    EXPECT_FALSE(ReadText(with(tensor)).ok()) << tensor;
  }
}

TEST(ModelFile, EachByteOfTheDataIsOfOneTensor) {
  const auto read = [](const char* a, const char* b, size_t bytes) {
    return ReadText(WithHeader(
        std::string("{\"__metadata__\": {\"format\": \"tf_rnn_ops.step\", \"version\": \"1\", "
                    "\"graph\": \"{}\"}, \"a\": {\"dtype\": \"F32\", ") +
            a + "}, \"b\": {\"dtype\": \"F32\", " + b + "}}",
        std::string(bytes, '\0')));
  };
  const char* const first = "\"shape\": [2], \"data_offsets\": [0, 8]";
  EXPECT_TRUE(read(first, "\"shape\": [1], \"data_offsets\": [8, 12]", 12).ok());
  EXPECT_TRUE(read("\"shape\": [1], \"data_offsets\": [8, 12]", first, 12).ok());
  EXPECT_TRUE(read(first, "\"shape\": [0], \"data_offsets\": [0, 0]", 8).ok());
  // Twelve bytes of tensors each: they overlap, or leave a hole and overlap.
  EXPECT_FALSE(read(first, "\"shape\": [1], \"data_offsets\": [4, 8]", 12).ok());
  EXPECT_FALSE(read(first, "\"shape\": [1], \"data_offsets\": [0, 4]", 12).ok());
  EXPECT_FALSE(read(first, "\"shape\": [1], \"data_offsets\": [12, 16]", 16).ok());
}

TEST(ModelFile, RejectsALongHeader) {
  const std::string spaces(17 << 20, ' ');
  EXPECT_FALSE(
      ReadText(WithHeader("{\"__metadata__\": {\"format\": \"tf_rnn_ops.step\", \"version\": "
                          "\"1\", \"graph\": \"{}\"}" +
                              spaces + "}",
                          ""))
          .ok());
}

TEST(ModelFile, RejectsOtherFormatsAndVersions) {
  EXPECT_TRUE(ReadText(WriteFile("{}", {}, "2")).ok());
  for (const char* version : {"3", "0", "02", ""}) {
    EXPECT_FALSE(ReadText(WriteFile("{}", {}, version)).ok()) << version;
  }
  EXPECT_FALSE(ReadText(WriteFile("not json", {})).ok());
  EXPECT_FALSE(ReadText(WithHeader("{}", "")).ok());
  EXPECT_FALSE(ReadText(WithHeader("{\"__metadata__\": {\"format\": \"pt\"}}", "")).ok());
  EXPECT_FALSE(ReadText(std::string(8, '\xff')).ok());
  ModelFile file;
  EXPECT_FALSE(ReadModelFile(nullptr, 0, &file).ok());
}

}  // namespace
}  // namespace rnn_ops::step
