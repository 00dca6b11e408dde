// Checks that a statement raises one particular user error.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "tilewright/ir/error.h"

namespace tilewright::testing {

/// Runs `statement`, which must throw Error `id` whose what() contains `text`. `line` is the user's
/// line the error must carry, or 0 when it has none to check. An InternalError is a failure.
template <class Statement>
void expect_error(ErrorId id, int line, std::string_view text, const Statement& statement) {
  try {
    statement();
    ADD_FAILURE() << "no error; expected " << to_string(id);
  } catch (const Error& error) {
    EXPECT_EQ(to_string(error.id()), to_string(id)) << error.what();
    if (line > 0) {
      EXPECT_EQ(error.loc().line, line) << error.what();
    }
    EXPECT_NE(std::string_view(error.what()).find(text), std::string_view::npos)
        << "message: " << error.what() << "\nexpected it to contain: " << text;
  } catch (const std::exception& error) {
    ADD_FAILURE() << "not a user error: " << error.what();
  }
}

}  // namespace tilewright::testing
