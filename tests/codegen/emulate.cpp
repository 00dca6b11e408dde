#include "tests/codegen/emulate.h"

#include <fmt/format.h>

#include <cstring>
#include <deque>
#include <map>
#include <unordered_map>

#include "tests/codegen/emulate_matrix.h"
#include "tests/codegen/emulate_memory.h"
#include "tests/codegen/emulate_value.h"
#include "tilewright/codegen/prelude.h"
#include "tilewright/codegen/print_cuda.h"
#include "tilewright/codegen/print_cuda_expr.h"
#include "tilewright/ir/error.h"

namespace tilewright::testing {
namespace {

using codegen::Expr;
using codegen::ExprRef;
using codegen::Kernel;
using codegen::Stmt;
using Values = std::vector<CValue>;
using Threads = std::vector<int>;

/// A variable: a scalar has one element.
struct Variable {
  CType type = CType::i32;
  std::vector<int64_t> extents;
  std::vector<Values> of_thread;
};

/// An element that a pointer or an assignment names.
struct Place {
  Memory* memory = nullptr;
  Variable* variable = nullptr;
  int64_t index = 0;
};

/// Asynchronous copies of one thread.
struct AsyncCopy {
  Place to, from;
  std::vector<CValue> values;
  int64_t group = 0;
};

class Emulator {
 public:
  Emulator(const Kernel& kernel, const std::vector<HostArgument>& args,
           const EmulateOptions& options)
      : kernel_(kernel), options_(options) {
    for (size_t i = 0; i < kernel.params.size(); ++i) bind(kernel.params[i], args.at(i));
    for (const codegen::SharedBuffer& buffer : kernel.buffers) {
      Memory memory{buffer.name, true, buffer.dtype, buffer.extents, buffer.offset, 16};
      shared_[buffer.name] = std::move(memory);
    }
  }

  Emulation run() {
    const int64_t grid = codegen::evaluate(
        *kernel_.grid, [&](const std::string& name) { return scalars_.at(name).i; });
    const int64_t end = options_.blocks < 0 ? grid : options_.first_block + options_.blocks;
    for (int64_t block = options_.first_block; block < end && result_.errors.empty(); ++block)
      run_block(block);
    return std::move(result_);
  }

 private:
  void bind(const codegen::KernelParam& param, const HostArgument& arg) {
    if (const auto* tensor = std::get_if<HostTensor>(&arg)) {
      Memory memory{param.name, false, param.dtype, {}, 0, tensor->spec.alignment, tensor->data};
      memory.touched.resize(tensor->spec.span());
      tensors_[param.name] = std::move(memory);
    } else if (const auto* integer = std::get_if<int64_t>(&arg)) {
      scalars_[param.name] = CValue::integer(*integer, ctype_of(param.dtype));
    } else {
      scalars_[param.name] = CValue::floating(std::get<double>(arg), ctype_of(param.dtype));
    }
  }

  void run_block(int64_t block) {
    block_ = block;
    lambdas_.clear();
    in_flight_.assign(kernel_.threads, {});
    groups_.assign(kernel_.threads, 0);
    for (auto& [name, memory] : shared_) {
      int64_t size = 1;
      for (int64_t extent : memory.extents) size *= extent;
      memory.values.assign(size, CValue{ctype_of(memory.dtype), /*undefined=*/true});
      memory.touched.assign(size, {});
    }
    races_.barrier();
    Threads all(kernel_.threads);
    for (int t = 0; t < kernel_.threads; ++t) all[t] = t;
    try {
      run(kernel_.body, all);
    } catch (const EmulationError& error) {
      fail(error.what());
    }
  }

  void fail(const std::string& what) {
    if (result_.errors.size() >= 5) return;
    std::string where = statement_ == nullptr ? "" : text_of(*statement_);
    result_.errors.push_back(fmt::format("block {}: {}\n  in {}", block_, what, where));
  }

  static std::string text_of(const Stmt& stmt) {
    const std::vector<std::string> lines = codegen::print_statements({stmt}, 0);
    return lines.empty() ? "" : lines.front();
  }

  // --- Statements.

  void run(const std::vector<Stmt>& body, const Threads& threads) {
    for (const Stmt& stmt : body) {
      if (threads.empty() || !result_.errors.empty()) return;
      run(stmt, threads);
    }
  }

  void run(const Stmt& stmt, const Threads& threads) {
    statement_ = &stmt;
    switch (stmt.kind) {
      case Stmt::Kind::declare:
        return declare(stmt, threads);
      case Stmt::Kind::array:
        return array(stmt, threads);
      case Stmt::Kind::assign:
        return assign(stmt, threads);
      case Stmt::Kind::call:
        return call(*stmt.value, threads);
      case Stmt::Kind::loop:
        return loop(stmt, threads);
      case Stmt::Kind::branch:
        return branch(stmt, threads);
      case Stmt::Kind::lambda:
        lambdas_[stmt.name] = &stmt;
        return;
      case Stmt::Kind::barrier:
        if (static_cast<int>(threads.size()) != kernel_.threads)
          fail("a barrier that not every thread reaches");
        races_.barrier();
        ++result_.barriers;
        return;
      case Stmt::Kind::order:
        return fail("an ordering edge is left");
      default:
        return;
    }
  }

  void statement_end() const {
    if (options_.on_statement_end) options_.on_statement_end();
  }

  Variable& new_variable(const std::string& name, CType type, std::vector<int64_t> extents) {
    Variable& variable = variables_[name];
    variable.type = type;
    variable.extents = std::move(extents);
    variable.of_thread.resize(kernel_.threads);
    return variable;
  }

  void declare(const Stmt& stmt, const Threads& threads) {
    if (stmt.type == "tw::TileId") return declare_tile_id(stmt, threads);
    std::string type = stmt.type;
    if (type.starts_with("constexpr ")) type = type.substr(10);
    Values values;
    for (int t : threads)
      values.push_back(stmt.value ? converted(eval(*stmt.value, t), ctype_of(type))
                                  : CValue{ctype_of(type), /*undefined=*/true});
    Variable& variable = new_variable(stmt.name, ctype_of(type), {});
    for (size_t i = 0; i < threads.size(); ++i) variable.of_thread[threads[i]] = {values[i]};
    statement_end();
  }

  /// The walk of grouped_tile: as its CUDA text has it.
  void declare_tile_id(const Stmt& stmt, const Threads& threads) {
    const Expr& call = *stmt.value;
    const auto argument = [&](int i) { return eval(*call.args.at(i), threads[0]).i; };
    const int64_t id = argument(0), rows = argument(1), cols = argument(2), group = argument(3);
    const int64_t first = id / (group * cols) * group, within = id % (group * cols);
    const int64_t height = std::min(rows - first, group);
    for (const auto& [field, value] :
         {std::pair("row", first + within % height), std::pair("col", within / height)}) {
      Variable& variable = new_variable(stmt.name + "." + field, CType::i32, {});
      for (int t : threads) variable.of_thread[t] = {CValue::integer(value)};
    }
  }

  void array(const Stmt& stmt, const Threads& threads) {
    int64_t size = 1;
    for (int64_t extent : stmt.extents) size *= extent;
    Variable& variable = new_variable(stmt.name, ctype_of(stmt.type), stmt.extents);
    for (int t : threads)
      variable.of_thread[t].assign(size, CValue{variable.type, /*undefined=*/!stmt.zero});
  }

  void assign(const Stmt& stmt, const Threads& threads) {
    Values values;  // all are read before any is written, as far as one statement goes
    for (int t : threads) {
      CValue value = eval(*stmt.value, t);
      if (stmt.op != "=")
        value = binary_value(stmt.op.substr(0, stmt.op.size() - 1), eval(*stmt.target, t), value);
      values.push_back(value);
    }
    for (size_t i = 0; i < threads.size(); ++i)
      write(place(*stmt.target, threads[i]), threads[i], values[i], 1, stmt.target.get());
    statement_end();
  }

  void loop(const Stmt& stmt, Threads threads) {
    Values at;
    for (int t : threads) at.push_back(converted(eval(*stmt.begin, t), loop_type(stmt)));
    for (;;) {
      Variable& variable = new_variable(stmt.name, loop_type(stmt), {});
      Threads inside;
      Values next;
      for (size_t i = 0; i < threads.size(); ++i) {
        variable.of_thread[threads[i]] = {at[i]};
        if (!binary_value("<", at[i], eval(*stmt.limit, threads[i])).truth()) continue;
        inside.push_back(threads[i]);
        next.push_back(at[i]);
      }
      if (stmt.uniform && !inside.empty() && inside.size() != threads.size())
        fail("threads leave a uniform loop at different times");
      if (inside.empty() || !result_.errors.empty()) return;
      run(stmt.body, inside);
      statement_ = &stmt;
      Variable& after = variables_.at(stmt.name);
      for (size_t i = 0; i < inside.size(); ++i) {
        after.of_thread[inside[i]] = {next[i]};
        next[i] =
            converted(binary_value("+", next[i], eval(*stmt.step, inside[i])), loop_type(stmt));
      }
      threads = std::move(inside);
      at = std::move(next);
    }
  }

  static CType loop_type(const Stmt& stmt) {
    return stmt.type.empty() ? CType::i32 : ctype_of(stmt.type);
  }

  void branch(const Stmt& stmt, const Threads& threads) {
    Threads sides[2];
    for (int t : threads) sides[eval(*stmt.value, t).truth() ? 0 : 1].push_back(t);
    statement_end();
    if (stmt.uniform && !sides[0].empty() && !sides[1].empty())
      fail("threads take a uniform branch differently");
    run(stmt.body, sides[0]);
    run(stmt.otherwise, sides[1]);
  }

  // --- Calls for their effect.

  void call(const Expr& expr, const Threads& threads) {
    if (auto found = lambdas_.find(expr.text); found != lambdas_.end())
      return call_lambda(*found->second, expr, threads);
    if (is_matrix_helper(expr.text)) return call_by_warps(expr, threads);
    const size_t open = expr.text.find('<');
    const std::string base = expr.text.substr(0, open);
    const int n = open == std::string::npos ? 1 : std::stoi(expr.text.substr(open + 1));
    for (int t : threads) {
      if (base == "tw::load" || base == "tw::store")
        move(expr, t, n);
      else if (base == "tw::copy_async")
        copy_async(expr, t, n);
      else if (base == "tw::copy_async_commit")
        ++groups_[t];
      else if (base == "tw::copy_async_wait")
        wait(t, n);
      else if (base != "tw::hold")
        throw EmulationError("unknown call " + expr.text);
    }
    statement_end();
  }

  void call_lambda(const Stmt& lambda, const Expr& expr, const Threads& threads) {
    for (size_t i = 0; i < lambda.params.size(); ++i) {
      const size_t space = lambda.params[i].rfind(' ');
      Values values;
      for (int t : threads) values.push_back(eval(*expr.args.at(i), t));
      Variable& variable = new_variable(lambda.params[i].substr(space + 1), CType::i32, {});
      for (size_t k = 0; k < threads.size(); ++k)
        variable.of_thread[threads[k]] = {converted(values[k], CType::i32)};
    }
    run(lambda.body, threads);
  }

  void call_by_warps(const Expr& expr, const Threads& threads) {
    for (size_t first = 0; first < threads.size(); first += 32) {
      if (threads[first] % 32 != 0 || first + 32 > threads.size() ||
          threads[first + 31] != threads[first] + 31)
        throw EmulationError("an operation of a warp that not all of its lanes reach");
      const auto read = [&](int argument, int lane, int bytes) {
        const Place from = pointer(*expr.args[argument], threads[first + lane]);
        const int element =
            from.memory ? size_of(from.memory->dtype) : size_of(from.variable->type);
        return this->read(from, threads[first + lane], bytes / element, expr.args[argument].get());
      };
      run_matrix_helper(expr.text, {read, [&](int argument, int lane, const Values& values) {
                                      const int t = threads[first + lane];
                                      write_all(pointer(*expr.args[argument], t), t, values,
                                                expr.args[argument].get());
                                    }});
    }
    statement_end();
  }

  Place pointer(const Expr& expr, int t) {
    if (expr.kind != Expr::Kind::address) throw EmulationError("a pointer that is no address");
    return place(*expr.args[0], t);
  }

  void move(const Expr& expr, int t, int n) {
    const Place to = pointer(*expr.args[0], t), from = pointer(*expr.args[1], t);
    std::vector<CValue> values = read(from, t, n, expr.args[1].get());
    write_all(to, t, values, expr.args[0].get());
  }

  void copy_async(const Expr& expr, int t, int n) {
    AsyncCopy copy{pointer(*expr.args[0], t), pointer(*expr.args[1], t), {}, -1};
    const int64_t valid = expr.args.size() > 2 ? eval(*expr.args[2], t).i : n;
    if (valid < 0 || valid > n) fail("a copy of more elements than it has");
    const int bytes = n * size_of(copy.to.memory->dtype);
    if (bytes != 4 && bytes != 8 && bytes != 16) fail("no asynchronous copy of this width");
    check_aligned(copy.from, n);
    check_aligned(copy.to, n);
    for (int i = 0; i < n; ++i) {
      const CType type = ctype_of(copy.to.memory->dtype);
      if (i >= valid) {
        copy.values.push_back(is_floating(type) ? CValue::floating(0, type)
                                                : CValue::integer(0, type));
        continue;
      }
      Place from = copy.from;
      from.index += i;
      copy.values.push_back(read_one(from, t));
      from.memory->at(from.index).copied_by = t;
    }
    if (valid > 0) report(copy.from, t, n, expr.args[1].get(), false, true);
    report(copy.to, t, n, expr.args[0].get(), true, true);
    for (int i = 0; i < n; ++i) {
      Place to = copy.to;
      to.index += i;
      races_.write(*to.memory, to.index, t);
      to.memory->at(to.index).filled_by = t;
    }
    copy.group = groups_[t];
    in_flight_[t].push_back(std::move(copy));
  }

  void wait(int t, int pending) {
    std::deque<AsyncCopy>& queue = in_flight_[t];
    while (!queue.empty() && queue.front().group < groups_[t] - pending) {
      const AsyncCopy& copy = queue.front();
      for (size_t i = 0; i < copy.values.size(); ++i) {
        Place to = copy.to, from = copy.from;
        to.index += static_cast<int64_t>(i);
        from.index += static_cast<int64_t>(i);
        to.memory->at(to.index).filled_by = -1;
        races_.write(*to.memory, to.index, t);
        to.memory->store(to.index, copy.values[i]);
        if (from.index < static_cast<int64_t>(from.memory->touched.size()))
          from.memory->at(from.index).copied_by = -1;
      }
      queue.pop_front();
    }
  }

  // --- Memory.

  CValue read_one(const Place& at, int t) {
    if (at.variable != nullptr) {
      const Values& values = at.variable->of_thread[t];
      if (at.index < 0 || at.index >= static_cast<int64_t>(values.size()))
        throw EmulationError(fmt::format("register {} of {}", at.index, values.size()));
      return values[at.index];
    }
    races_.read(*at.memory, at.index, t);
    return at.memory->load(at.index);
  }

  void check_aligned(const Place& at, int n) {
    if (at.memory == nullptr || n == 1) return;
    const int64_t bytes = int64_t{n} * size_of(at.memory->dtype);
    const int64_t address = at.memory->offset + at.index * size_of(at.memory->dtype);
    if (address % bytes != 0 || (!at.memory->shared && at.memory->alignment % bytes != 0))
      fail(fmt::format("{} bytes of {} at byte {}: not aligned", bytes, at.memory->name, address));
  }

  void report(const Place& at, int t, int n, const Expr* site, bool is_write, bool async = false) {
    if (at.memory == nullptr || !options_.on_access) return;
    const int bytes = size_of(at.memory->dtype);
    options_.on_access({site, at.memory->name, at.memory->shared, is_write, async, t,
                        at.memory->offset + at.index * bytes, n * bytes});
  }

  std::vector<CValue> read(Place at, int t, int n, const Expr* site) {
    check_aligned(at, n);
    report(at, t, n, site, false);
    std::vector<CValue> values;
    for (int i = 0; i < n; ++i, ++at.index) values.push_back(read_one(at, t));
    return values;
  }

  CValue read_element(const Place& at, int t, const Expr* site) {
    report(at, t, 1, site, false);
    return read_one(at, t);
  }

  void write_all(const Place& at, int t, const std::vector<CValue>& values, const Expr* site) {
    check_aligned(at, static_cast<int>(values.size()));
    report(at, t, static_cast<int>(values.size()), site, true);
    for (size_t i = 0; i < values.size(); ++i) {
      Place one = at;
      one.index += static_cast<int64_t>(i);
      write(one, t, values[i], 0, nullptr);
    }
  }

  void write(const Place& at, int t, const CValue& value, int reported, const Expr* site) {
    if (reported > 0) report(at, t, 1, site, true);
    if (at.variable != nullptr) {
      Values& values = at.variable->of_thread[t];
      if (at.index < 0 || at.index >= static_cast<int64_t>(values.size()))
        throw EmulationError(fmt::format("register {} of {}", at.index, values.size()));
      values[at.index] = converted(value, at.variable->type);
      return;
    }
    races_.write(*at.memory, at.index, t);
    if (value.undefined && !at.memory->shared)
      return fail(fmt::format("thread {} stores what was never assigned, to element {} of {}", t,
                              at.index, at.memory->name));
    at.memory->store(at.index, converted(value, ctype_of(at.memory->dtype)));
  }

  // --- Expressions.

  int64_t flat(const std::vector<ExprRef>& indices, const std::vector<int64_t>& extents, int t) {
    if (indices.size() != extents.size()) throw EmulationError("wrong number of indices");
    int64_t index = 0;
    for (size_t d = 0; d < indices.size(); ++d) {
      const CValue at = eval(*indices[d], t);
      if (at.undefined) throw EmulationError("an index that was never assigned");
      if (at.i < 0 || at.i >= extents[d])
        throw EmulationError(fmt::format("index {} of a dimension of {}", at.i, extents[d]));
      index = index * extents[d] + at.i;
    }
    return index;
  }

  /// The variable that an expression names, looked up once; null when it names none.
  Variable* find_variable(const Expr& expr, const std::string& name) {
    const auto known = resolved_.find(&expr);
    if (known != resolved_.end()) return known->second;
    const auto found = variables_.find(name);
    if (found == variables_.end()) return nullptr;
    return resolved_[&expr] = &found->second;
  }

  Variable& variable(const Expr& expr) {
    Variable* found = find_variable(expr, expr.text);
    if (found == nullptr) throw EmulationError("unknown variable " + expr.text);
    return *found;
  }

  Place place(const Expr& expr, int t) {
    switch (expr.kind) {
      case Expr::Kind::name:
        return {nullptr, &variable(expr), 0};
      case Expr::Kind::element: {
        Variable& array = variable(expr);
        return {nullptr, &array, flat(expr.args, array.extents, t)};
      }
      case Expr::Kind::shared: {
        Memory& memory = shared_.at(expr.text);
        return {&memory, nullptr, flat(expr.args, memory.extents, t)};
      }
      case Expr::Kind::global: {
        const CValue offset = eval(*expr.args[0], t);
        if (offset.undefined) throw EmulationError("an offset that was never assigned");
        return {&tensors_.at(expr.text), nullptr, offset.i};
      }
      default:
        throw EmulationError("not a place: " + codegen::expr_text(expr));
    }
  }

  CValue name_value(const Expr& expr, const std::string& name, int t) {
    if (const Variable* found = find_variable(expr, name)) {
      const Values& values = found->of_thread[t];
      if (values.size() != 1) throw EmulationError("an array read as a value: " + name);
      return values[0];
    }
    if (auto found = scalars_.find(name); found != scalars_.end()) return found->second;
    if (name == "threadIdx.x") return CValue::integer(t, CType::u32);
    if (name == "blockIdx.x") return CValue::integer(block_, CType::u32);
    if (name == "true" || name == "false") return CValue::integer(name == "true", CType::boolean);
    if (name == "0u") return CValue::integer(0, CType::u32);
    if (name == "0ull") return CValue::integer(0, CType::u64);
    if (name.ends_with("{}")) return CValue::floating(0, ctype_of(name.substr(0, name.size() - 2)));
    throw EmulationError("unknown name " + name);
  }

  CValue eval(const Expr& expr, int t) {
    switch (expr.kind) {
      case Expr::Kind::integer:
        return CValue::integer(expr.value, expr.dtype == DType::i64 ? CType::i64 : CType::i32);
      case Expr::Kind::real:
        return expr.dtype == DType::f64 ? CValue::floating(expr.number, CType::f64)
                                        : CValue::floating(static_cast<float>(expr.number));
      case Expr::Kind::name:
        return name_value(expr, expr.text, t);
      case Expr::Kind::unary:
        return unary_value(expr.text, eval(*expr.args[0], t));
      case Expr::Kind::binary:
        return eval_binary(expr, t);
      case Expr::Kind::conditional:
        return eval(*expr.args[eval(*expr.args[0], t).truth() ? 1 : 2], t);
      case Expr::Kind::call:
        return eval_call(expr, t);
      case Expr::Kind::cast:
        return converted(eval(*expr.args[0], t), ctype_of(expr.text));
      case Expr::Kind::member:
        return name_value(expr, codegen::expr_text(expr), t);
      case Expr::Kind::element:
        return read_one(place(expr, t), t);
      case Expr::Kind::shared:
      case Expr::Kind::global:
        return read_element(place(expr, t), t, &expr);
      case Expr::Kind::address:
        break;
    }
    throw EmulationError("an address used as a value");
  }

  CValue eval_binary(const Expr& expr, int t) {
    const CValue x = eval(*expr.args[0], t);
    if (expr.text == "&&" || expr.text == "||") {
      const bool decided = x.truth() == (expr.text == "||");
      return decided ? CValue::integer(x.truth(), CType::boolean)
                     : CValue::integer(eval(*expr.args[1], t).truth(), CType::boolean);
    }
    return binary_value(expr.text, x, eval(*expr.args[1], t));
  }

  CValue eval_call(const Expr& expr, int t) {
    if (expr.text == "tw::shuffle_xor" || expr.text == "tw::shuffle") {
      const int64_t operand = eval(*expr.args[1], t).i;
      if (operand < 0 || operand >= 32) throw EmulationError("a shuffle between warps");
      const int lane = static_cast<int>(operand);
      return eval(*expr.args[0], expr.text == "tw::shuffle" ? t / 32 * 32 + lane : t ^ lane);
    }
    if (expr.text == "tw::float_at") return CValue::floating(eval(*element_at(expr), t).f);
    auto found = functions_.find(&expr);
    if (found == functions_.end())
      found = functions_.emplace(&expr, find_value_function(expr.text)).first;
    if (!found->second) throw EmulationError("unknown function " + expr.text);
    Values args;
    bool undefined = false;
    for (const ExprRef& arg : expr.args) {
      args.push_back(eval(*arg, t));
      undefined |= args.back().undefined;
    }
    CValue result = found->second(args);
    result.undefined |= undefined;
    return result;
  }

  const Kernel& kernel_;
  const EmulateOptions& options_;
  Emulation result_;
  int64_t block_ = 0;
  RaceChecker races_{[this](const std::string& what) { fail(what); }};
  const Stmt* statement_ = nullptr;
  std::map<std::string, Memory> tensors_, shared_;
  std::unordered_map<std::string, CValue> scalars_;
  std::unordered_map<std::string, Variable> variables_;  ///< nodes stay where they are
  std::unordered_map<const Expr*, Variable*> resolved_;
  std::unordered_map<std::string, const Stmt*> lambdas_;
  std::unordered_map<const Expr*, ValueFunction> functions_;
  std::vector<std::deque<AsyncCopy>> in_flight_;
  std::vector<int64_t> groups_;
};

}  // namespace

Emulation emulate(const codegen::Kernel& kernel, const std::vector<HostArgument>& args,
                  const EmulateOptions& options) {
  return Emulator(kernel, args, options).run();
}

}  // namespace tilewright::testing
