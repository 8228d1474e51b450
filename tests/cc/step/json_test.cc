#include "cc/step/json.h"

#include <string>

#include "gtest/gtest.h"

namespace rnn_ops::step {
namespace {

TEST(Json, ReadsEveryKindOfValue) {
  Json json;
  const Status status = ParseJson(
      " {\"a\" : [1, -2.5e3, true, false, null], \"b\": {\"c\": \"\\u00e9\\ud83d\\ude00\\n\\\\\"}, "
      "\"d\": [], \"e\": {}}\n",
      &json);
  ASSERT_TRUE(status.ok()) << status.message();
  const Json& a = *json.Find("a");
  ASSERT_EQ(a.items().size(), 5u);
  EXPECT_EQ(a.items()[0].number(), 1);
  EXPECT_EQ(a.items()[1].number(), -2500);
  EXPECT_TRUE(a.items()[2].boolean());
  EXPECT_EQ(a.items()[3].kind(), Json::Kind::kBool);
  EXPECT_FALSE(a.items()[3].boolean());
  EXPECT_EQ(a.items()[4].kind(), Json::Kind::kNull);
  EXPECT_EQ(json.Find("b")->Find("c")->string(), "\xc3\xa9\xf0\x9f\x98\x80\n\\");
  EXPECT_EQ(json.Find("d")->kind(), Json::Kind::kArray);
  EXPECT_EQ(json.Find("f"), nullptr);
}

TEST(Json, RejectsEverythingElse) {
  for (const std::string text : {"",
                                 "{",
                                 "}",
                                 "[1,]",
                                 "[1 2]",
                                 "{\"a\"}",
                                 "{\"a\": 1,}",
                                 "{a: 1}",
                                 "\"a",
                                 "\"\\x\"",
                                 "\"\\ud800\"",
                                 "\"\\ud800\\u0041\"",
                                 "\"\\udc00\"",
                                 "\"\\u12g4\"",
                                 "tru",
                                 "1e999",
                                 "-",
                                 "1 2",
                                 "nul",
                                 "01",
                                 "+1",
                                 "1.",
                                 ".5",
                                 "1e",
                                 "1e+",
                                 "--1",
                                 "\"\\u0000\"",
                                 "\"\x80\"",
                                 "\"\xc3\"",
                                 "\"\xc3z\"",
                                 "\"\xc0\xaf\"",
                                 "\"\xe0\x80\xaf\"",
                                 "\"\xed\xa0\x80\"",
                                 "\"\xf0\x80\x80\xaf\"",
                                 "\"\xf4\x90\x80\x80\"",
                                 "\"\xf5\x80\x80\x80\"",
                                 "\"\x01\"",
                                 "{\"a\": 1, \"a\": 2}",
                                 "[",
                                 "\"\\",
                                 "\"\\u12"}) {
    Json json;
    EXPECT_FALSE(ParseJson(text, &json).ok()) << text;
  }
  Json json;
  EXPECT_FALSE(ParseJson(std::string(100000, '['), &json).ok());
  EXPECT_TRUE(ParseJson(std::string(30, '[') + std::string(30, ']'), &json).ok());
  // Not the end of the memory behind the text.
  EXPECT_FALSE(ParseJson(std::string_view("true").substr(0, 3), &json).ok());
}

TEST(Json, ReadsEveryNumberAndEveryLengthOfCharacter) {
  Json json;
  const std::string names =
      "a\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf";
  ASSERT_TRUE(ParseJson("[\"" + names + "\", 0, -0.5, 10, 1E2, 2e-1, 0e+1]", &json).ok());
  EXPECT_EQ(json.items()[0].string(), names);
  const double numbers[] = {0, -0.5, 10, 100, 0.2, 0};
  for (size_t k = 0; k < 6; ++k) EXPECT_EQ(json.items()[1 + k].number(), numbers[k]);
}

TEST(Json, ValuesAreSmall) { EXPECT_EQ(sizeof(Json), 16u); }

TEST(Json, ReadsFieldsOfTheRightKind) {
  Json json;
  ASSERT_TRUE(
      ParseJson("{\"n\": 3, \"x\": 0.5, \"s\": \"t\", \"l\": [1, 2], \"big\": 1e300}", &json).ok());
  int64_t n = 0;
  float x = 0;
  std::string s;
  std::vector<int64_t> list;
  std::vector<std::string> strings;
  bool flag = false;
  EXPECT_TRUE(ReadField(json, "n", &n).ok());
  EXPECT_EQ(n, 3);
  EXPECT_TRUE(ReadField(json, "x", &x).ok());
  EXPECT_EQ(x, 0.5f);
  EXPECT_TRUE(ReadField(json, "l", &list).ok());
  EXPECT_EQ(list, (std::vector<int64_t>{1, 2}));
  EXPECT_FALSE(ReadField(json, "x", &n).ok());
  EXPECT_FALSE(ReadField(json, "big", &n).ok());
  EXPECT_FALSE(ReadField(json, "s", &x).ok());
  EXPECT_FALSE(ReadField(json, "n", &s).ok());
  EXPECT_FALSE(ReadField(json, "n", &list).ok());
  EXPECT_FALSE(ReadField(json, "l", &strings).ok());
  EXPECT_FALSE(ReadField(json, "n", &flag).ok());
  EXPECT_FALSE(ReadField(json, "missing", &n).ok());
}

}  // namespace
}  // namespace rnn_ops::step
