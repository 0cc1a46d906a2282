// Every public op by itself, as bench/peers/ops.py asks for it: that program makes the tables and has the
// same calls in PyTorch. Lines in, one line of JSON for each out; fields are separated by tabs:
//   rows                                             all rows, with their dtypes
//   inputs ROW DTYPE N LAYOUT                        what goes into a call over about N elements
//   time ROW DTYPE N LAYOUT forward|gradient THREADS SECONDS
//                                                    the fastest of the calls that fit into SECONDS
//   bench_ops --check       calls every row once, small, and fails if a public op has none
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "ops/rows.h"
#include "tests/support/public_ops.h"
#ifdef VELDT_HAVE_OP_TABLE
#include "tests/support/op_table.h"
#endif

using namespace veldt;
using namespace veldt::bench;
using Json = nlohmann::ordered_json;

namespace {

const std::vector<DType> kDTypes = {DType::f32, DType::f64, DType::bf16, DType::f16,    DType::i64,
                                    DType::i32, DType::u8,  DType::i8,   DType::boolean};
const char* const kLayouts[] = {"contiguous", "transposed", "sliced"};

// Elementwise ops that bench/ops has no row of are called as the op table of the tests does.
std::vector<Row> rows_of_the_op_table([[maybe_unused]] const std::vector<Row>& known) {
  std::vector<Row> rows;
#ifdef VELDT_HAVE_OP_TABLE
  std::set<std::string> names;
  for (const Row& row : known) names.insert(row.name.substr(0, row.name.find(' ')));
  for (const test::OpRow& op : test::op_table()) {
    if (op.formulas.empty() || names.contains(op.name)) continue;
    Row row{op.name, bench::kFloats, {}, calls(op.formulas[0].run), op.order > 0};
    for (const test::OpInput& in : op.inputs)
      row.inputs.push_back(
          {square, in.low, in.high, in.dtype == DType::boolean ? Fill::booleans : Fill::numbers});
    rows.push_back(std::move(row));
  }
#endif
  return rows;
}

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (const auto& family : {elementwise_rows, line_rows, shape_rows, product_rows, layer_rows})
    for (Row& row : family()) rows.push_back(std::move(row));
  for (Row& row : rows_of_the_op_table(rows)) rows.push_back(std::move(row));
  return rows;
}

// One call: which row, in what form.
struct Form {
  const Row* row;
  DType dtype;
  std::int64_t n;
  std::string layout;
};

DType dtype_of(const Form& form, const Input& input) {
  if (input.fill == Fill::positions) return DType::i64;
  return input.fill == Fill::booleans ? DType::boolean : form.dtype;
}

Json describe(const Form& form) {
  Json inputs = Json::array();
  for (const Input& input : form.row->inputs) {
    const Shape shape = input.shape(form.n);
    const bool whole = !is_float(dtype_of(form, input));
    const double end = input.fill == Fill::positions  ? static_cast<double>(side(form.n))
                       : input.fill == Fill::booleans ? 2
                                                      : 100;
    inputs.push_back({{"shape", std::vector<std::int64_t>(shape.begin(), shape.end())},
                      {"dtype", name_of(dtype_of(form, input))},
                      {"low", whole ? 0 : input.low},
                      {"high", whole ? end : input.high},
                      {"layout", input.dense || shape.rank() < 2 ? "contiguous" : form.layout}});
  }
  return inputs;
}

// Numbers from low to high, laid out so that the result has `shape`.
Tensor make(const Json& input, DType dtype) {
  Shape shape;
  for (const std::int64_t size : input["shape"]) shape.push_back(size);
  const std::string layout = input["layout"];
  const int last = shape.rank() - 1;
  if (layout == "transposed") std::swap(shape[last], shape[last - 1]);
  if (layout == "sliced") shape[last] *= 2;
  const double low = input["low"], high = input["high"];
  Rng& rng = nn::default_rng();
  const Tensor x = is_float(dtype) ? to(rand(shape, rng, low, high), dtype)
                                   : to(randint(shape, rng, std::llround(low), std::llround(high)), dtype);
  if (layout == "transposed") return transpose(x);
  return layout == "sliced" ? slice(x, last, 0, shape[last], 2) : x;
}

Call make_call(const Form& form, bool gradient) {
  const Json described = describe(form);
  Tensors inputs;
  for (std::size_t i = 0; i < described.size(); ++i)
    inputs.push_back(make(described[i], dtype_of(form, form.row->inputs[i])));
  Call call = form.row->make(inputs);
  if (!gradient) {
    call.run = [run = call.run] {
      const NoGrad off;
      return run();
    };
    return call;
  }
  for (Tensor& x : call.wanted) x.set_requires_grad();
  const Tensor seed = ones_like(call.run().detach());
  call.run = [run = call.run, wanted = call.wanted, seed] {
    return grad(run(), wanted, false, seed).front();
  };
  return call;
}

// Seconds a call, the fastest of what fits into `seconds`; short calls are timed some at a time.
double fastest(const Call& call, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto timed = [&](int count) {
    const auto start = Clock::now();
    for (int i = 0; i < count; ++i) call.run();
    return std::chrono::duration<double>(Clock::now() - start).count() / count;
  };
  const double first = timed(1);
  const int count = std::max(1, static_cast<int>(20e-6 / first));
  double best = first;
  for (const auto end = Clock::now() + std::chrono::duration<double>(seconds - first); Clock::now() < end;)
    best = std::min(best, timed(count));
  return best;
}

Json list(const std::vector<Row>& rows) {
  Json out = Json::array();
  for (const Row& row : rows) {
    Json dtypes = Json::array();
    for (const DType dtype : row.dtypes) dtypes.push_back(name_of(dtype));
    out.push_back({{"name", row.name},
                   {"dtypes", dtypes},
                   {"gradient", row.gradient},
                   {"layouts", row.layouts},
                   {"view", row.view}});
  }
  return out;
}

Form form_of(const std::vector<Row>& rows, const std::vector<std::string>& fields) {
  for (const Row& row : rows)
    for (const DType dtype : kDTypes)
      if (row.name == fields.at(1) && name_of(dtype) == fields.at(2))
        return {&row, dtype, std::stoll(fields.at(3)), fields.at(4)};
  throw ConfigError("there is no row " + fields.at(1) + " of " + fields.at(2), "bench/ops has none",
                    "ask for the rows");
}

Json answer(const std::vector<Row>& rows, const std::string& line) {
  static std::string made;
  static Call call;
  std::vector<std::string> fields;
  std::stringstream in(line);
  for (std::string field; std::getline(in, field, '\t');) fields.push_back(field);
  if (fields.at(0) == "rows") return list(rows);
  const Form form = form_of(rows, fields);
  if (fields[0] == "inputs") return describe(form);
  const std::string key = line.substr(0, line.find(fields.at(5)) + fields[5].size());
  set_num_threads(std::stoi(fields.at(6)));
  if (key != made) {
    made.clear();
    call = {};
    call = make_call(form, fields[5] == "gradient");
    made = key;
  }
  const Shape shape = call.run().shape();
  return {{"seconds", fastest(call, std::stod(fields.at(7)))},
          {"shape", std::vector<std::int64_t>(shape.begin(), shape.end())}};
}

int check(const std::vector<Row>& rows) {
  std::set<std::string> names, ops;
  int faults = 0;
  for (const Row& row : rows) {
    ops.insert(row.name.substr(0, row.name.find(' ')));
    if (!names.insert(row.name).second) ++faults, std::printf("%s is there twice\n", row.name.c_str());
    for (const DType dtype : row.dtypes)
      for (const char* layout : kLayouts)
        for (const bool gradient : {false, true})
          if ((row.layouts || layout == kLayouts[0]) && (!gradient || (row.gradient && is_float(dtype))))
            make_call({&row, dtype, 1024, layout}, gradient).run();
  }
  for (const std::string& op : test::public_ops())
    if (!ops.contains(op)) ++faults, std::printf("%s has no row in bench/ops\n", op.c_str());
  std::printf("%zu rows for %zu ops\n", rows.size(), ops.size());
  return faults == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<Row> rows = all_rows();
  if (argc > 1 && std::strcmp(argv[1], "--check") == 0) return check(rows);
  for (std::string line; std::getline(std::cin, line);) {
    Json said;
    try {
      said = answer(rows, line);
    } catch (const std::exception& error) {
      said = {{"error", error.what()}};
    }
    std::printf("%s\n", said.dump().c_str());
    std::fflush(stdout);
  }
} catch (const Error& error) {
  std::fprintf(stderr, "bench_ops: %s\n", error.what());
  return 2;
}
