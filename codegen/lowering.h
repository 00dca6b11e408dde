// Internal to codegen: the state of lowering one laid-out function to kernel IR, and the rules by
// operation. Each lower_*.cpp holds the rules of one family.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tilewright/codegen/assign_layouts.h"
#include "tilewright/codegen/coalescing.h"
#include "tilewright/codegen/kernel_ir.h"
#include "tilewright/codegen/names.h"
#include "tilewright/codegen/plan.h"
#include "tilewright/ir/builder.h"
#include "tilewright/ir/facts.h"

namespace tilewright::codegen {

/// Register position of an element: one expression per tile axis.
using RegIndex = std::vector<ExprRef>;

/// An element of an accessed tile: its coordinates and, where the access has tiles among its
/// operands that are held in registers (index tiles, a mask), its register position.
struct AccessPoint {
  std::vector<ExprRef> at = {};
  RegIndex index = {};

  AccessPoint() = default;
  AccessPoint(std::vector<ExprRef> coordinates, RegIndex registers = {})
      : at(std::move(coordinates)), index(std::move(registers)) {}
};

/// A ring in shared memory.
struct RingBuffer {
  std::string name;
  int stages = 1;
  ExprRef read_stage, fill_stage;     ///< null when there is one stage
  bool async = false;                 ///< filled by cp.async
  const ir::Op* bulk_loop = nullptr;  ///< the loop for which bulk copies fill it; null: none does
};

/// What one warp, or the one thread that copies, does in a kernel whose tiles are loaded by bulk
/// copies. Kernels without such copies have one role.
enum class Role { all, producer, consumer };

/// The rings of one loop that bulk copies fill: a barrier per slot says that it is full, another
/// that it is empty.
struct BulkRings {
  std::string state;        ///< tw::Ring variable: slot and phase of the role
  std::string full, empty;  ///< arrays of barriers
  int stages = 1;
  int64_t bytes = 0;               ///< of all rings' slots of one stage
  bool shared_by_cluster = false;  ///< some copies go to every block of the cluster
  bool fetched = false;            ///< threads read some slots themselves
  bool defer = false;  ///< a slot is released when the products of the next step are issued
};

/// A copy that travels through registers: loaded in one place, stored in another.
struct RegisterCopy {
  const ir::Op* copy;
  std::string registers;
};

/// A loop whose steps the blocks of a cluster share.
struct LoopSplit {
  const ir::Op* loop = nullptr;
  int blocks = 1;
  int axis = -1;     ///< of the sums: each block completes its part of it; -1: the first block, all
  int64_t span = 0;  ///< coordinates along it that a warp covers
  std::string parts, ready;  ///< buffer of what other blocks send, barrier that says it is there
  std::string drained;       ///< barrier that says that all blocks are done with their rings; empty
                             ///< when the parts have memory of their own
};

/// A tile that is stored while the products of the next one are in flight: packed in registers
/// until then.
struct LateStore {
  const ir::Op* op = nullptr;
  const ir::Op* loop = nullptr;   ///< in whose first step it is done
  std::string function, waiting;  ///< what does it; whether there is something to do
  std::string words;              ///< the tile: [panel][16 columns][matrix]
  std::vector<std::string> at;    ///< where it begins, by dimension of the map
};

struct Lowering {
  Lowering(const LaidOut& laid_out, const Config& config, const Target& target);

  const LaidOut& in;
  const ir::Function& fn;
  const Config& config;
  const Target& target;
  ir::Facts facts;
  Kernel kernel;
  std::vector<OperandAccess> accesses;
  Names names;

  std::vector<Stmt> prologue;        ///< thread coordinates, declared first
  std::vector<Stmt>* out = nullptr;  ///< where statements go
  Loc last_source;                   ///< the user's line printed last
  bool has_grid = false;             ///< a grid was lowered
  std::string arrivals;              ///< parameter that counts blocks at barriers of the grid

  std::unordered_map<const ir::Value*, ExprRef> scalars;         ///< scalars; slices: their begin
  std::unordered_map<const ir::Value*, ExprRef> limits;          ///< slices: their limit
  std::unordered_map<const ir::Value*, ExprRef> ids;             ///< slices: tile numbers
  std::unordered_map<const ir::Value*, std::string> arrays;      ///< tiles held in register arrays
  std::unordered_map<const ir::Value*, const ir::Value*> homes;  ///< tiles that share an array
  std::unordered_map<const ir::Value*, RingBuffer> rings;
  std::unordered_map<const ir::Value*, int> uses;
  std::unordered_map<const ir::Op*, int> position;              ///< in program order
  std::unordered_map<std::string, std::string> thread_offsets;  ///< expression -> variable
  std::unordered_set<std::string> wide_names;                   ///< variables of 64 bits
  std::vector<std::string> register_loops, vector_loop;         ///< reserved loop variables
  std::function<void(Lowering&)> on_wait, on_release;           ///< of the pipelined loop

  Role role = Role::all;
  std::unordered_map<const ir::Op*, BulkRings> bulk;  ///< by loop
  std::unordered_set<const ir::Value*> producer_needs;
  std::unordered_set<const ir::Value*> read_by_wgmma;  ///< rings
  bool has_bulk_stores = false;
  std::optional<LateStore> late_store;
  ExprRef turn;            ///< of this group of consumers; null: there is one
  std::string turn_begin;  ///< barriers: a group may begin with its tile
  std::string turn_phase;  ///< variable: parity of what it waits for next
  int64_t turn_steps = 0;  ///< of a tile: slots of the ring that another group reads in its turn
  std::optional<LoopSplit> split;
  ExprRef first_step;                        ///< of the innermost bulk loop, as this block runs it
  ExprRef cluster_rank;                      ///< a variable of the role
  const ir::Value* cluster_slice = nullptr;  ///< of the grid: differs among the blocks of a cluster
  std::vector<const ir::Value*> in_flight;   ///< results of products issued and not waited for
  std::unordered_set<const ir::Op*> overwriting;     ///< products whose first step overwrites
  std::unordered_set<const ir::Value*> overwritten;  ///< carried tiles that need no first value
  ExprRef step;  ///< number, from 0, of the innermost bulk loop's iteration

  void emit(Stmt stmt) {
    if (stmt.kind == Stmt::Kind::declare && stmt.type == "long long") wide_names.insert(stmt.name);
    out->push_back(std::move(stmt));
  }
  /// Collects what `body` emits.
  std::vector<Stmt> collect(const std::function<void()>& body);
  /// Emits `body` under a condition; a null one is true.
  void emit_if(const ExprRef& condition, const std::function<void()>& body);
  /// Prints the user's line before the statements of `op`.
  void at_source(const ir::Op& op);

  int threads() const { return 32 * config.warps; }
  const Layout& layout(const ir::Value* tile) const;
  std::vector<int64_t> extents(const ir::Value* tile) const { return fn.extents(tile->type.shape); }
};

// --- lower_index.cpp: where threads and registers are

/// What to call a position along dimension `axis` of a tile of `shape`.
std::string dimension_name(const Lowering& lowering, const ir::Shape& shape, int axis);
/// The thread's part of the coordinate along `axis`, as a variable declared once.
ExprRef thread_coordinate(Lowering& lowering, const Layout& layout, int axis,
                          const std::string& name);
/// The registers' part; `index` is known to be a multiple of `step`.
ExprRef register_coordinate(const Layout& layout, int axis, const ExprRef& index, int step);
/// Coordinates within a tile, by axis.
std::vector<ExprRef> coordinates(Lowering& lowering, const Layout& layout, const ir::Shape& shape,
                                 const RegIndex& index, int vector_axis = -1, int vector = 1);
/// True for the one thread among those holding the same elements that should write them; null when
/// each element has one holder.
ExprRef replica_guard(const Lowering& lowering, const Layout& layout);
/// Conditions for coordinates of a layout that overhangs the tile; null when it does not.
ExprRef overhang_guard(const Layout& layout, const std::vector<int64_t>& extents,
                       const std::vector<ExprRef>& at);
/// "min" or "max" of two index expressions: both are made long long when one is, since CUDA has no
/// overload for an int and a long long.
ExprRef index_extremum(const Lowering& lowering, const char* which, ExprRef x, ExprRef y);
/// Loops over the registers of `layout`, `vector` at a time along `vector_axis`.
void for_registers(Lowering& lowering, const Layout& layout, int vector_axis, int vector,
                   const std::function<void(const RegIndex&)>& body);
/// Loops over the register positions of all axes but one, along which `body` is given position 0.
void for_registers_across(Lowering& lowering, const Layout& layout, int axis,
                          const std::function<void(RegIndex&)>& body);
/// Loops over the register positions of one axis only.
void for_axis(Lowering& lowering, int axis, int registers, int step,
              const std::function<void(const ExprRef&)>& body);
/// Array dimensions of a tile in registers: axes with one position are left out.
std::vector<int64_t> register_extents(const Layout& layout);
/// Element of a register array.
ExprRef register_element(const std::string& array, const Layout& layout, const RegIndex& index);
/// (x / weight) % radix for a thread's number; the last digits need no %.
ExprRef thread_digit(int threads, int64_t weight, int64_t radix);

// --- lower_values.cpp: scalars and elementwise operations

/// Counts uses, numbers operations, and decides which tiles share arrays with loop-carried ones.
void analyze_values(Lowering& lowering);
/// Whether `value` is computed where it is used instead of being held in an array.
bool is_inlined(const Lowering& lowering, const ir::Value* value);
/// Whether computing `value` where it is used reads one of `variables`.
bool is_view_of(const Lowering& lowering, const ir::Value* value,
                const std::vector<const ir::Value*>& variables);
ExprRef scalar_value(Lowering& lowering, const ir::Value* value);
/// Where the positions of a slice end.
ExprRef slice_limit(Lowering& lowering, const ir::Value* slice);
/// The element of a tile (or a scalar) at a register position of its layout.
ExprRef element_value(Lowering& lowering, const ir::Value* value, const RegIndex& index);
/// Declares the array (or variable) of a tile and returns its name.
std::string declare_tile(Lowering& lowering, const ir::Value* value, bool zero = false);
/// Computes an elementwise tile into its array.
void materialize(Lowering& lowering, const ir::Value* value);
void lower_scalar(Lowering& lowering, const ir::Op& op);
void lower_elementwise(Lowering& lowering, const ir::Op& op);
/// "int" when every value of the i64 scalar fits, else the C type of its dtype.
std::string scalar_type(const Lowering& lowering, const ir::Value* value);
std::string name_of(const ir::Value* value, std::string_view otherwise);

// --- lower_widen.cpp: halves held as they came

/// Whether `op` makes floats of the halves that a load brought, so many that they had better be
/// held as they came: in half the registers, made floats at each use by one instruction.
bool widens_load(const Lowering& lowering, const ir::Op& op);
/// Whether `op` adds to such floats, or multiplies them by, what is one value for many: a mean,
/// say.
bool shifts_load(const Lowering& lowering, const ir::Op& op);
/// The float of an element of an array of halves, read from the word that holds two; null where
/// that is no gain, or they are no neighbours.
ExprRef float_of_word(const ir::Value* halves, const ExprRef& element, const Lowering& lowering);
/// After a reduction: what was computed from such halves is not to be kept for what follows, which
/// the compiler would do.
void hold_halves(Lowering& lowering, const ir::Op& op);

// --- lower_memory.cpp: global memory

/// Offset into a tensor of an element, in elements.
ExprRef global_offset(Lowering& lowering, const ir::Op& access, const AccessFacts& facts,
                      const AccessPoint& point);
/// Position along index `dim` of an access: begin plus coordinate, or what an index tile holds.
ExprRef tensor_position(Lowering& lowering, const ir::Op& access, int dim,
                        const AccessPoint& point);
/// The end of valid positions along index `dim`.
ExprRef tensor_limit(Lowering& lowering, const ir::Op& access, int dim);
/// Whether an element is within the limits that `access` guards, `skip` left out, and its mask
/// holds; null when nothing needs a test.
ExprRef access_guard(Lowering& lowering, const ir::Op& access, const AccessPoint& point,
                     int skip = -1);
std::string tensor_name(const Lowering& lowering, const ir::Value* tensor);
/// The size of a dimension of a parameter: a number, or the scalar that holds it.
ExprRef dimension_size(const Lowering& lowering, const ir::Value* tensor, int64_t dim);
ExprRef tensor_element(Lowering& lowering, const ir::Op& access, const AccessFacts& facts,
                       const AccessPoint& point);
/// A pointer to a run of `vector` elements of a tile along `axis`, for a wide store: into the
/// tile's array where they are neighbours there, else to a small array that is filled for it.
ExprRef run_pointer(Lowering& lowering, const ir::Value* value, const RegIndex& index, int axis,
                    int vector);
/// The other way: a run in a small array to registers that are not neighbours in the tile's array.
void scatter_run(Lowering& lowering, const std::string& run, const std::string& tile,
                 const Layout& layout, const RegIndex& index, int axis, int vector);
/// Whether the registers of a run along `axis` are neighbours in the register array.
bool run_is_contiguous(const Layout& layout, int axis);
void lower_load(Lowering& lowering, const ir::Op& op);
void lower_store(Lowering& lowering, const ir::Op& op);
void lower_atomic(Lowering& lowering, const ir::Op& op);  ///< in lower_atomic.cpp
void record_access(Lowering& lowering, const ir::Op& op, std::string kind, int bytes, bool staged);

// --- lower_stage.cpp: shared memory

/// Element of a shared buffer laid out by `layout`, at tile coordinates `at`; `stage` may be null.
/// The coordinate along the contiguous axis is known to be a multiple of `multiple`.
ExprRef shared_element(const std::string& buffer, const SharedLayout& layout, const ExprRef& stage,
                       const std::vector<ExprRef>& at, int multiple = 1);
/// Declares a shared buffer for `stages` tiles.
std::string declare_shared(Lowering& lowering, const std::string& name, DType dtype, int stages,
                           const SharedLayout& layout, const std::string& comment);
void lower_ring(Lowering& lowering, const ir::Op& op);
void lower_copy(Lowering& lowering, const ir::Op& op);
void load_copy_to_registers(Lowering& lowering, const RegisterCopy& copy);
void store_copy_from_registers(Lowering& lowering, const RegisterCopy& copy);
std::string declare_copy_registers(Lowering& lowering, const ir::Op& copy);
void lower_stage(Lowering& lowering, const ir::Op& op);
void lower_commit(Lowering& lowering, const ir::Op& op);
void lower_wait(Lowering& lowering, const ir::Op& op);
void lower_acquire(Lowering& lowering, const ir::Op& op);
void lower_release(Lowering& lowering, const ir::Op& op);
void lower_convert(Lowering& lowering, const ir::Op& op);
/// Gives each thread the elements of a tile that another thread with the same elements holds: the
/// one that replica_guard chooses.
void share_with_replicas(Lowering& lowering, const ir::Value* tile);
void lower_fetch(Lowering& lowering, const ir::Op& op);
void lower_reshape(Lowering& lowering, const ir::Op& op);
std::vector<std::string> ring_names(const Lowering& lowering,
                                    const std::vector<const ir::Value*>& rings);

// --- lower_reduce.cpp, lower_dot.cpp and one file for each matrix unit
void lower_reduce(Lowering& lowering, const ir::Op& op);
void lower_combine(Lowering& lowering, const ir::Op& op);
void lower_scan(Lowering& lowering, const ir::Op& op);
void lower_sort(Lowering& lowering, const ir::Op& op);
void lower_dot(Lowering& lowering, const ir::Op& op);
void lower_dot_fma(Lowering& lowering, const ir::Op& op);
void lower_dot_mma(Lowering& lowering, const ir::Op& op);
void lower_dot_wgmma(Lowering& lowering, const ir::Op& op);
/// Words of an operand in registers (lower_operand.cpp): an array of four, declared here, of what a
/// thread holds for one product of wgmma. `row` and `k` are its first register positions.
std::string operand_words(Lowering& lowering, const ir::Value* operand, const ExprRef& row,
                          const ExprRef& k);
/// The number of this thread's warpgroup, declared once.
ExprRef warpgroup(Lowering& lowering);
/// The accumulator's array, holding the third operand's value.
std::string prepare_accumulator(Lowering& lowering, const ir::Op& dot, const Layout& layout);

// --- lower_async.cpp: products that run while the threads that issued them go on
/// Waits for products in flight if lowering `op` could read or overwrite their registers.
void settle_before(Lowering& lowering, const ir::Op& op);
/// Whether the operation is a product that runs by itself once issued.
bool is_asynchronous(const Lowering& lowering, const ir::Op& op);
/// Waits for all products in flight.
void settle(Lowering& lowering);
/// Whether the loop's products only feed each other and the loop's results, so that those of one
/// step may still run while the next step's are issued.
bool products_can_overlap(const Lowering& lowering, const ir::Op& loop);

// --- lower_roles.cpp, lower_bulk.cpp: kernels whose tiles are loaded by bulk copies
/// The body of such a kernel: barriers, the producer's part, the consumers' part.
std::vector<Stmt> lower_roles(Lowering& lowering);
/// The producer's walk over a region.
void lower_producer_region(Lowering& lowering, const ir::Region& region);
/// The loop as the producer runs it: waits for free slots and starts the copies.
void lower_bulk_fill(Lowering& lowering, const ir::Op& loop);
/// The loop as consumers run it: waits for full slots, computes, frees them.
void lower_bulk_loop(Lowering& lowering, const ir::Op& loop);
/// Declares the tensor map of a copy once and returns its name.
std::string declare_map(Lowering& lowering, const ir::Value* tensor, const TensorMapSpec& map,
                        bool written);
/// Whether the blocks of a cluster all read the tile, each copying a part to all of them.
bool is_shared_by_cluster(const Lowering& lowering, const ir::Op& copy);
// --- lower_turns.cpp: groups of consumers that take tiles in turns; nothing where there is one
/// Raises config_unsupported when the kernel's tiles cannot be taken in turns.
void check_turns(const Lowering& lowering, const std::vector<const ir::Op*>& loops);
/// Declares the barriers at which groups wait for one another.
void declare_turns(Lowering& lowering, const std::vector<const ir::Op*>& loops);
/// Gives each group memory of its own and its threads numbers from 0: what consumers do, emitted
/// for one group. `others` are the buffers that all share.
void share_by_turns(Lowering& lowering, const std::unordered_set<std::string>& others,
                    std::vector<Stmt>& body);
/// Before the first tile.
void begin_turns(Lowering& lowering);
/// Before a tile's products are issued, after the last of them, and at the tile's end.
void await_turn(Lowering& lowering);
void end_turn(Lowering& lowering);
void pass_turn(Lowering& lowering);
/// A store through shared memory by bulk copies (lower_bulk_store.cpp), and what has to follow the
/// last one.
void lower_bulk_store(Lowering& lowering, const ir::Op& op, const BulkStore& bulk);
void finish_bulk_stores(Lowering& lowering);
/// Where the store that ends a tile of `grid`, walked by one block after the other, can wait for
/// the next tile's products: declares what it needs (before the grid's loop).
void begin_late_store(Lowering& lowering, const ir::Op& grid);
/// Does it, if there is one and `condition` holds (null: always).
void run_late_store(Lowering& lowering, ExprRef condition = nullptr);
// --- lower_split.cpp
/// Declares what adding up the parts of a split loop's sums needs.
void plan_split(Lowering& lowering, const ir::Op& loop);
/// Adds up the parts, after the loop.
void lower_split_sum(Lowering& lowering, const std::vector<const ir::Value*>& sums);
/// Whether this block has the complete element of a tile made of a split loop's sums; null when
/// every block has.
ExprRef split_guard(const Lowering& lowering, const ir::Value* tile,
                    const std::vector<ExprRef>& at);
void lower_bulk_wait(Lowering& lowering, const BulkRings& rings);
void lower_bulk_release(Lowering& lowering, const BulkRings& rings);

// --- lower_debug.cpp
void lower_print(Lowering& lowering, const ir::Op& op);
/// A call of the function that is an operation's PTX, which the kernel gets once.
ExprRef ptx_call(Lowering& lowering, const ir::Op& op, std::vector<ExprRef> args);

// --- lower_control.cpp
void lower_loop(Lowering& lowering, const ir::Op& op);
void lower_while(Lowering& lowering, const ir::Op& op);
void lower_if(Lowering& lowering, const ir::Op& op);
void lower_grid(Lowering& lowering, const ir::Op& op);  ///< in lower_grid.cpp
void lower_grid_barrier(Lowering& lowering, const ir::Op& op);
/// This block's number within its cluster.
ExprRef block_of_cluster(Lowering& lowering);
/// What the user calls a tile axis.
std::string axis_name(const Lowering& lowering, int64_t axis);
void lower_op(Lowering& lowering, const ir::Op& op);
void lower_region(Lowering& lowering, const ir::Region& region);
/// Declares the variables of carried values and gives them their first values.
void declare_carried(Lowering& lowering, const std::vector<const ir::Value*>& carried,
                     const std::vector<const ir::Value*>& inits);
/// Ends an iteration: carried values become what the body yields. One that is yielded in another's
/// place (x and y swapped) is saved first.
void yield_carried(Lowering& lowering, const std::vector<const ir::Value*>& carried,
                   const std::vector<const ir::Value*>& next);
/// The loop's results are the carried values as they are after it.
void bind_results(Lowering& lowering, const ir::Op& op,
                  const std::vector<const ir::Value*>& carried);
/// A loop without a pipeline, its body emitted by `body`.
void lower_plain_loop(Lowering& lowering, const ir::Op& op, const std::function<void()>& body);
/// How many tiles a loop over one axis has.
ExprRef tile_count(Lowering& lowering, const ir::Value* begin, const ir::Value* limit,
                   int64_t block);
/// "int" or "long long" for positions up to `limit` rounded up to a block.
std::string position_type(const Lowering& lowering, const ir::Value* limit, int64_t block);

// --- lower_pipelined.cpp
void lower_pipelined_loop(Lowering& lowering, const ir::Op& op);

/// The kernel of a laid-out function, without shared-memory offsets and barriers.
struct LoweredKernel {
  Kernel kernel;
  std::vector<OperandAccess> accesses;
};
LoweredKernel lower_to_kernel(const LaidOut& laid_out, const Config& config, const Target& target,
                              const std::vector<bool>& written, const LowerOptions& options);

}  // namespace tilewright::codegen
