#include "store/json.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace autoccl {
namespace {

std::string refusal(const std::string& text) {
  try {
    (void)parseJson(text, "f.json");
  } catch (const Error& e) {
    return e.code() == ErrorCode::kInput ? e.what() : "";
  }
  return "";
}

TEST(Json, WhatIsWrittenIsReadBack) {
  Json object = Json::object();
  object.add("text", "a\"b\n\xc3\xa4").add("big", UINT64_MAX).add("minus", -3).add("half", 0.5);
  object.add("list", Json::list().add(true).add(Json()));
  for (const std::string& text : {object.pretty(), object.compact()}) {
    const Json back = parseJson(text, "f.json");
    EXPECT_EQ(back.compact(), object.compact());
    EXPECT_EQ(back.find("big")->unsignedValue(), UINT64_MAX);
    EXPECT_EQ(back.find("minus")->number(), -3);
  }
}

TEST(Json, ANumberThatIsNotFiniteIsWrittenAsZero) {
  EXPECT_EQ(Json(std::nan("")).compact(), "0");
  EXPECT_EQ(Json(INFINITY).compact(), "0");
}

TEST(Json, AValueKnowsItsLine) {
  const Json root = parseJson("{\n \"a\": 1,\n \"b\": [2,\n 3\n ],\n \"c\": \"x\"\n}", "f.json");
  EXPECT_EQ(root.find("a")->line(), 2);
  EXPECT_EQ(root.find("b")->line(), 3);
  EXPECT_EQ(root.find("b")->items()[1].line(), 4);
  EXPECT_EQ(root.find("c")->line(), 6);
}

TEST(Json, EveryBrokenDocumentIsRefusedWithItsLine) {
  const std::string deep = std::string(40, '[') + std::string(40, ']');
  for (const auto& [text, line] :
       std::vector<std::pair<std::string, int>>{{"", 1},
                                                {"{", 1},
                                                {"{\"a\": 1,\n\"a\": 2}", 2},
                                                {"[1]\n[2]", 2},
                                                {"[1,\n\n01]", 3},
                                                {"[1e999]", 1},
                                                {"[NaN]", 1},
                                                {"[\"\xff\"]", 1},
                                                {"{'a': 1}", 1},
                                                {deep, 1},
                                                {"[1, // one\n2]", 1}})
    EXPECT_EQ(refusal(text).rfind("f.json:" + std::to_string(line) + ": ", 0), 0u)
        << text << " -> " << refusal(text);
}

TEST(JsonFields, AMissingWrongOrUnknownMemberIsNamed) {
  const Json root = parseJson("{\n\"a\": 1,\n\"b\": \"x\",\n\"c\": 2}", "f.json");
  const auto said = [&](auto&& use) -> std::string {
    JsonFields f(root, "thing", "f.json");
    try {
      use(f);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(said([](auto& f) { (void)f.number("z"); }), "f.json:1: thing: \"z\" is missing");
  EXPECT_EQ(said([](auto& f) { (void)f.number("b"); }), "f.json:3: thing: \"b\" is no number");
  EXPECT_EQ(said([](auto& f) { (void)f.number("a", 2, 3); }),
            "f.json:2: thing: \"a\" is 1; allowed: 2 to 3");
  EXPECT_EQ(said([](auto& f) { (void)f.count("a"), (void)f.text("b"), f.done(); }),
            "f.json:4: thing: \"c\" is not known in this version");
}

}  // namespace
}  // namespace autoccl
