// Where synchronize puts barriers, on kernels made by hand.
#include "tilewright/codegen/synchronize.h"

#include <gtest/gtest.h>

#include "tilewright/codegen/kernel_ir.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

const ExprRef thread = name("threadIdx.x");

Stmt labelled(std::string label, Stmt stmt) {
  stmt.comment = std::move(label);
  return stmt;
}

Stmt write(const char* buffer) {
  return labelled(std::string("W") + buffer, assign(shared(buffer, {thread}), name("x")));
}
Stmt read(const char* buffer) {
  return labelled(std::string("R") + buffer,
                  assign(name("x"), shared(buffer, {integer(31) - thread})));
}
Stmt store(const char* tensor) {
  return labelled(std::string("S") + tensor, assign(global(tensor, thread), name("x")));
}
Stmt load(const char* tensor) {
  return labelled(std::string("L") + tensor,
                  assign(name("x"), global(tensor, thread + integer(1))));
}
Stmt nothing() { return labelled("x", assign(name("x"), name("x") + integer(1))); }

Stmt uniform_loop(std::vector<Stmt> body) {
  Stmt stmt = loop("i", integer(0), name("n"), integer(1), false, std::move(body));
  stmt.uniform = true;
  return stmt;
}
Stmt register_loop(std::vector<Stmt> body) {
  return loop("i", integer(0), integer(4), integer(1), true, std::move(body));
}
Stmt uniform_branch(std::vector<Stmt> body, std::vector<Stmt> otherwise = {}) {
  Stmt stmt = branch(name("flag"), std::move(body), std::move(otherwise));
  stmt.uniform = true;
  return stmt;
}
Stmt divergent_branch(std::vector<Stmt> body) {
  return branch(thread < integer(16), std::move(body));
}

/// Statements by their labels, barriers as |, bodies in braces.
std::string flow(const std::vector<Stmt>& body) {
  std::string text;
  for (const Stmt& stmt : body) {
    if (!text.empty()) text += " ";
    switch (stmt.kind) {
      case Stmt::Kind::barrier:
        text += "|";
        break;
      case Stmt::Kind::loop:
        text += "for { " + flow(stmt.body) + " }";
        break;
      case Stmt::Kind::branch:
        text += "if { " + flow(stmt.body) + " }";
        if (!stmt.otherwise.empty()) text += " else { " + flow(stmt.otherwise) + " }";
        break;
      case Stmt::Kind::lambda:
        text += "lambda";
        break;
      case Stmt::Kind::order:
        text += "order!";
        break;
      default:
        text += stmt.comment;
    }
  }
  return text;
}

Kernel kernel_of(std::vector<Stmt> body) {
  Kernel kernel;
  kernel.name = "k";
  for (const char* buffer : {"s", "t", "ring"})
    kernel.buffers.push_back({buffer, DType::f32, {32}});
  for (const char* tensor : {"a", "b"}) {
    KernelParam param{tensor, DType::f32};
    param.written = true;
    kernel.params.push_back(param);
  }
  kernel.threads = 32;
  kernel.body = std::move(body);
  return kernel;
}

std::string synchronized(std::vector<Stmt> body) {
  Kernel kernel = kernel_of(std::move(body));
  synchronize(kernel);
  return flow(kernel.body);
}

TEST(Synchronize, ReadAfterWrite) { EXPECT_EQ(synchronized({write("s"), read("s")}), "Ws | Rs"); }

TEST(Synchronize, WriteAfterRead) { EXPECT_EQ(synchronized({read("s"), write("s")}), "Rs | Ws"); }

TEST(Synchronize, WriteAfterWrite) { EXPECT_EQ(synchronized({write("s"), write("s")}), "Ws | Ws"); }

TEST(Synchronize, ReadsAndOtherBuffersNeedNothing) {
  EXPECT_EQ(synchronized({read("s"), read("s"), write("t"), nothing(), store("a"), load("b")}),
            "Rs Rs Wt x Sa Lb");
}

TEST(Synchronize, OneBarrierServesAllBefore) {
  EXPECT_EQ(synchronized({write("s"), write("t"), read("s"), read("t")}), "Ws Wt | Rs Rt");
}

TEST(Synchronize, BarriersThatAreThereCount) {
  EXPECT_EQ(synchronized({write("s"), barrier("given"), read("s")}), "Ws | Rs");
}

TEST(Synchronize, ExpressionsInsideStatementsCount) {
  const ExprRef value = call("fmaf", {name("x"), shared("s", {thread}), name("x")});
  const Stmt inside =
      labelled("use", declare("float", "y", conditional(name("c"), value, name("x"))));
  EXPECT_EQ(synchronized({write("s"), inside}), "Ws | use");
  const Stmt sum = labelled("+=", assign(shared("s", {thread}), name("x"), "+="));
  EXPECT_EQ(synchronized({write("s"), sum}), "Ws | +=");
}

TEST(Synchronize, PointersOfHelpersCount) {
  const Stmt wide =
      labelled("load", call_stmt(call("tw::load<4>", {address(element("r", {integer(0)})),
                                                      address(shared("s", {thread}))})));
  const Stmt narrow =
      labelled("store", call_stmt(call("tw::store<4>", {address(shared("s", {thread})),
                                                        address(element("r", {integer(0)}))})));
  EXPECT_EQ(synchronized({wide, wide}), "load load");
  EXPECT_EQ(synchronized({narrow, wide, narrow}), "store | load | store");
}

TEST(Synchronize, AcrossIterations) {
  // What is read at the end of one iteration is overwritten at the start of the next.
  EXPECT_EQ(synchronized({uniform_loop({write("s"), read("s")})}), "for { | Ws | Rs }");
  EXPECT_EQ(synchronized({uniform_loop({read("s"), write("t")})}), "for { Rs | Wt }");
  EXPECT_EQ(synchronized({uniform_loop({read("s")}), write("s")}), "for { Rs } | Ws");
  EXPECT_EQ(synchronized({write("s"), uniform_loop({read("s")})}), "Ws for { | Rs }");
}

TEST(Synchronize, NestedLoops) {
  EXPECT_EQ(synchronized({uniform_loop({write("s"), uniform_loop({read("s")})})}),
            "for { | Ws for { | Rs } }");
  EXPECT_EQ(synchronized({uniform_loop({uniform_loop({nothing()}), read("s")}), store("a")}),
            "for { for { x } Rs } Sa");
}

TEST(Synchronize, RegisterLoopsAreOneStatement) {
  EXPECT_EQ(synchronized({register_loop({write("s")}), register_loop({read("s")})}),
            "for { Ws } | for { Rs }");
  EXPECT_EQ(synchronized({register_loop({read("s"), store("a")})}), "for { Rs Sa }");
}

TEST(Synchronize, UniformBranches) {
  EXPECT_EQ(synchronized({write("s"), uniform_branch({read("s")}, {nothing()}), write("t")}),
            "Ws if { | Rs } else { x } Wt");
  // After the side without a barrier the hazard is still there.
  EXPECT_EQ(synchronized({write("s"), uniform_branch({read("s")}, {nothing()}), read("s")}),
            "Ws if { | Rs } else { x } | Rs");
  EXPECT_EQ(synchronized({uniform_branch({write("s")}), read("s")}), "if { Ws } | Rs");
}

TEST(Synchronize, NoBarrierInsideDivergentBranches) {
  EXPECT_EQ(synchronized({write("s"), divergent_branch({nothing(), read("s")})}),
            "Ws | if { x Rs }");
  EXPECT_EQ(synchronized({divergent_branch({write("s")}), read("s")}), "if { Ws } | Rs");
}

TEST(Synchronize, TensorsReadAndWritten) {
  EXPECT_EQ(synchronized({store("a"), load("a")}), "Sa | La");
  EXPECT_EQ(synchronized({load("a"), store("a")}), "La | Sa");
  EXPECT_EQ(synchronized({load("a"), store("b"), load("a")}), "La Sb La");
}

// Threads may share out the elements of two atomics differently.
TEST(Synchronize, AtomicsOfDifferentKindsKeepTheirOrder) {
  const auto atomic = [](const char* helper) {
    const ExprRef update = call(helper, {address(global("a", thread)), name("x")});
    return std::pair{labelled("A", call_stmt(update)), labelled("U", assign(name("x"), update))};
  };
  const auto [red, used_red] = atomic("tw::red_add_i32");
  const auto [add, used_add] = atomic("tw::atomic_add_i32");
  const auto [max, used_max] = atomic("tw::atomic_max_f32");
  const auto [swap, used_swap] = atomic("tw::atomic_exchange_i32");
  EXPECT_EQ(synchronized({red, red, add}), "A A A");
  EXPECT_EQ(synchronized({uniform_loop({max})}), "for { A }");
  EXPECT_EQ(synchronized({red, max}), "A | A");
  EXPECT_EQ(synchronized({add, used_add}), "A | U");
  EXPECT_EQ(synchronized({swap, swap}), "A | A");
  EXPECT_EQ(synchronized({uniform_loop({used_max})}), "for { | U }");
}

TEST(Synchronize, AliasingTensorsAreOne) {
  Kernel kernel = kernel_of({load("a"), store("b"), load("a")});
  for (KernelParam& param : kernel.params) param.may_alias = true;
  synchronize(kernel);
  EXPECT_EQ(flow(kernel.body), "La | Sb | La");
}

TEST(Synchronize, WaitIsAlwaysABarrierAndAcquireAfterAReleaseOnly) {
  const std::vector<Stmt> once = {order("acquire", {"ring"}), write("ring"),
                                  order("wait", {"ring"}), read("ring"),
                                  order("release", {"ring"})};
  EXPECT_EQ(synchronized(once), "Wring | Rring");
  EXPECT_EQ(synchronized({uniform_loop(once)}), "for { | Wring | Rring }");
  std::vector<Stmt> twice = once;
  twice.insert(twice.end(), once.begin(), once.end());
  EXPECT_EQ(synchronized(twice), "Wring | Rring | Wring | Rring");
}

TEST(Synchronize, RingWithTwoSlotsHasOneBarrierAStep) {
  // The refill after the wait goes to the slot released in the iteration before.
  const std::vector<Stmt> step = {order("wait", {"ring"}), order("acquire", {"ring"}),
                                  write("ring"), read("ring"), order("release", {"ring"})};
  EXPECT_EQ(synchronized({write("ring"), uniform_loop(step)}), "Wring for { | Wring Rring }");
}

TEST(Synchronize, RingsFilledBeforeALoopInsideALoop) {
  const std::vector<Stmt> step = {order("wait", {"ring"}), order("acquire", {"ring"}),
                                  write("ring"), read("ring"), order("release", {"ring"})};
  EXPECT_EQ(
      synchronized({uniform_loop({order("acquire", {"ring"}), write("ring"), uniform_loop(step)})}),
      "for { | Wring for { | Wring Rring } }");
}

TEST(Synchronize, BarriersOfOtherBuffersServeRings) {
  EXPECT_EQ(synchronized({read("ring"), order("release", {"ring"}), write("s"), read("s"),
                          order("acquire", {"ring"}), write("ring")}),
            "Rring Ws | Rs Wring");
}

/// if (warps that copy) producer else consumers
Stmt roles(std::vector<Stmt> producer, std::vector<Stmt> consumers) {
  Stmt stmt = branch(name("is_producer"), std::move(producer), std::move(consumers));
  stmt.roles = true;
  return stmt;
}

// Barriers within a role are of its threads only: those of the block would wait for the others.
TEST(Synchronize, ConsumersMeetAtABarrierOfTheirOwn) {
  Kernel kernel = kernel_of({roles({nothing()}, {write("s"), uniform_loop({read("s")}),
                                                 order("acquire", {"ring"}), write("t")})});
  kernel.threads = 384;
  kernel.consumers = 256;
  synchronize(kernel);
  EXPECT_EQ(flow(kernel.body), "if { x } else { Ws for { | Rs } Wt }");
  const Stmt& barrier = kernel.body[0].otherwise[1].body[0];
  ASSERT_EQ(barrier.kind, Stmt::Kind::barrier);
  ASSERT_TRUE(barrier.value);
  EXPECT_EQ(barrier.value->text, "tw::sync_warps");
  EXPECT_EQ(barrier.value->args.at(0)->value, 1);
  EXPECT_EQ(barrier.value->args.at(1)->value, 256);
}

TEST(Synchronize, BarriersBeforeRolesAreOfTheBlock) {
  Kernel kernel = kernel_of({write("s"), read("s"), roles({nothing()}, {write("t"), read("t")})});
  kernel.consumers = 16;
  synchronize(kernel);
  EXPECT_EQ(flow(kernel.body), "Ws | Rs if { x } else { Wt | Rt }");
  EXPECT_FALSE(kernel.body[1].value);
  EXPECT_TRUE(kernel.body[3].otherwise[1].value);
}

// One thread copies; what would need a barrier there is a mistake of the compiler.
TEST(Synchronize, ProducersMayNotNeedBarriers) {
  Kernel kernel = kernel_of({roles({write("s"), read("s")}, {nothing()})});
  EXPECT_THROW(synchronize(kernel), InternalError);
}

// Programs of one block follow one another in a loop; they share buffers, not what they store.
TEST(Synchronize, ProgramsOfABlockShareBuffersOnly) {
  Stmt programs = uniform_loop({read("s"), store("a"), write("s")});
  programs.programs = true;
  EXPECT_EQ(synchronized({programs}), "for { | Rs Sa | Ws }");
  Stmt tensors = uniform_loop({load("a"), nothing(), store("a")});
  EXPECT_EQ(synchronized({tensors}), "for { | La x | Sa }");
  tensors.programs = true;
  EXPECT_EQ(synchronized({tensors}), "for { La x | Sa }");
}

TEST(Synchronize, SecondRunAddsNothing) {
  Kernel kernel = kernel_of({uniform_loop(
      {write("s"), read("s"), uniform_branch({write("t")}), read("t"), load("a"), store("a")})});
  synchronize(kernel);
  const std::string once = flow(kernel.body);
  synchronize(kernel);
  EXPECT_EQ(flow(kernel.body), once);
}

}  // namespace
}  // namespace tilewright::codegen
