// Graphs within graphs, sequences and optionals.
#include <algorithm>
#include <limits>

#include "veldt/onnx/operators.h"
#include "veldt/onnx/support.h"

namespace veldt::onnx {

namespace {

bool truth(const Value& value) { return value.tensor().item<std::int64_t>() != 0; }

Tensor one_number(std::int64_t n) { return Tensor::from<std::int64_t>({}, std::span(&n, 1)); }

Values if_op(const Call& c) { return c.run(truth(c.value(0)) ? "then_branch" : "else_branch", {}); }

// What scans gathered, one tensor of each; where there were no steps, of the type and the sizes that the body
// declares. Sizes that it does not know are 0, and a type that it does not know is float.
Value joined(const Call& c, const std::vector<Value>& parts, std::int64_t along, const ValueInfo& declared) {
  const int rank = parts.empty()
                       ? static_cast<int>(std::min<std::size_t>(declared.type.dimensions.size(), kMaxRank))
                       : parts[0].shape().rank();
  if (rank >= kMaxRank) c.fail(str("its results would have more than ", kMaxRank, " dimensions"));
  const int axis = c.axis(along, rank + 1);
  if (parts.empty()) {
    Shape shape;
    for (const Dimension& d : declared.type.dimensions) shape.push_back(std::max<std::int64_t>(d.size, 0));
    shape = shape.with_inserted(axis, 0);
    const ElementType type = declared.type.element;
    if (type == ElementType::string) return Value(Texts{shape, {}});
    if (type == ElementType::undefined) return Value(zeros(shape));
    return {zeros(shape, held_as(type)), type};
  }
  std::vector<Tensor> tensors;
  for (const Value& part : parts) tensors.push_back(part.tensor());
  return {stack(tensors, axis), parts.front().type()};
}

Values loop(const Call& c) {
  const std::int64_t limit = c.has(0) ? c.integer(0) : std::numeric_limits<std::int64_t>::max();
  Value condition = c.has(1) ? c.value(1) : Value(to(ones({}), DType::boolean));
  Values state;
  for (std::size_t i = 2; i < c.size(); ++i) state.push_back(c.value(i));
  if (c.outputs() < state.size()) c.fail("it has fewer results than values that it carries");
  std::vector<std::vector<Value>> scans(c.outputs() - state.size());
  for (std::int64_t step = 0; step < limit && truth(condition); ++step) {
    Values inputs{Value(one_number(step)), condition};
    inputs.insert(inputs.end(), state.begin(), state.end());
    Values results = c.run("body", std::move(inputs));
    if (results.size() != 1 + state.size() + scans.size())
      c.fail("its body has another number of results than it");
    condition = results[0];
    std::move(results.begin() + 1, results.begin() + 1 + static_cast<std::ptrdiff_t>(state.size()),
              state.begin());
    for (std::size_t i = 0; i < scans.size(); ++i)
      scans[i].push_back(std::move(results[1 + state.size() + i]));
  }
  const std::vector<ValueInfo>& declared = c.outputs_of("body");
  if (declared.size() != 1 + c.outputs()) c.fail("its body has another number of results than it");
  for (const auto& parts : scans) {
    const std::size_t at = state.size();
    state.push_back(joined(c, parts, 0, declared[1 + at]));
  }
  return state;
}

// The steps of one example: `state`, then the sequences to walk through.
Values scan_through(const Call& c, Values inputs, std::size_t sequences, std::size_t outputs) {
  if (inputs.size() < sequences || sequences == 0) c.fail("it has fewer inputs than sequences to scan");
  const std::size_t carried = inputs.size() - sequences;
  const std::vector<std::int64_t> zeros_in(sequences, 0);
  const auto directions = c.integers("scan_input_directions", c.integers("directions", zeros_in));
  const auto axes = c.integers("scan_input_axes", zeros_in);
  const std::vector<std::int64_t> zeros_out(outputs - carried, 0);
  const auto out_axes = c.integers("scan_output_axes", zeros_out),
             out_directions = c.integers("scan_output_directions", zeros_out);
  if (directions.size() != sequences || axes.size() != sequences || out_axes.size() != zeros_out.size() ||
      out_directions.size() != zeros_out.size())
    c.fail("its axes or directions are not as many as its sequences");
  Values state(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(carried));
  std::vector<int> along;
  for (std::size_t i = 0; i < sequences; ++i)
    along.push_back(c.axis(axes[i], inputs[carried + i].shape().rank()));
  const std::int64_t steps = inputs[carried].shape()[along[0]];
  std::vector<std::vector<Value>> scans(outputs - carried);
  for (std::int64_t step = 0; step < steps; ++step) {
    Values given = state;
    for (std::size_t i = 0; i < sequences; ++i) {
      const Value& sequence = inputs[carried + i];
      given.emplace_back(select(sequence.tensor(), along[i], directions[i] != 0 ? steps - 1 - step : step),
                         sequence.type());
    }
    Values results = c.run("body", std::move(given));
    if (results.size() != outputs) c.fail("its body has another number of results than it");
    std::move(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(carried), state.begin());
    for (std::size_t i = 0; i < scans.size(); ++i) scans[i].push_back(std::move(results[carried + i]));
  }
  const std::vector<ValueInfo>& declared = c.outputs_of("body");
  if (declared.size() != outputs) c.fail("its body has another number of results than it");
  for (std::size_t i = 0; i < scans.size(); ++i) {
    if (out_directions[i] != 0) std::reverse(scans[i].begin(), scans[i].end());
    state.push_back(joined(c, scans[i], out_axes[i], declared[carried + i]));
  }
  return state;
}

Values scan(const Call& c) {
  const auto sequences = static_cast<std::size_t>(std::max<std::int64_t>(0, c.integer("num_scan_inputs")));
  Values inputs;
  for (std::size_t i = c.opset() < 9 ? 1 : 0; i < c.size(); ++i) inputs.push_back(c.value(i));
  if (c.outputs() + sequences < inputs.size()) c.fail("it has fewer results than values that it carries");
  if (c.opset() >= 9) return scan_through(c, std::move(inputs), sequences, c.outputs());
  // Version 8: all have a batch in front.
  if (c.has(0)) c.fail("lengths of sequences are not supported in version 8");
  std::vector<std::vector<Value>> examples(c.outputs());
  const std::int64_t batch = inputs.empty() ? 0 : inputs[0].shape()[0];
  for (std::int64_t n = 0; n < batch; ++n) {
    Values one;
    for (const Value& input : inputs) one.emplace_back(select(input.tensor(), 0, n), input.type());
    Values results = scan_through(c, std::move(one), sequences, c.outputs());
    for (std::size_t i = 0; i < examples.size(); ++i) examples[i].push_back(std::move(results[i]));
  }
  const std::vector<ValueInfo>& declared = c.outputs_of("body");
  if (declared.size() != examples.size()) c.fail("its body has another number of results than it");
  Values out;
  for (const auto& parts : examples) {
    const std::size_t at = out.size();
    out.push_back(joined(c, parts, 0, declared[at]));
  }
  return out;
}

// --- sequences ------------------------------------------------------------------------------------

// A position that may count from the end; `end` allows the one after the last.
std::size_t place_in(const Call& c, const std::vector<Value>& items, std::int64_t at, bool end) {
  const auto count = static_cast<std::int64_t>(items.size());
  if (at < -count || at >= count + (end ? 1 : 0))
    c.fail(str("position ", at, " is not in a sequence of ", count));
  return static_cast<std::size_t>(at < 0 ? at + count : at);
}

Values sequence_construct(const Call& c) {
  Values items;
  for (std::size_t i = 0; i < c.size(); ++i) items.push_back(c.value(i));
  return {Value::sequence(std::move(items))};
}
Values sequence_empty(const Call&) { return {Value::sequence({})}; }
Values sequence_length(const Call& c) {
  return {one_number(static_cast<std::int64_t>(c.value(0).items().size()))};
}
Values sequence_at(const Call& c) {
  const auto& items = c.value(0).items();
  return {items[place_in(c, items, c.integer(1), false)]};
}
Values sequence_insert(const Call& c) {
  std::vector<Value> items = c.value(0).items();
  const std::size_t at = c.has(2) ? place_in(c, items, c.integer(2), true) : items.size();
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(at), c.value(1));
  return {Value::sequence(std::move(items))};
}
Values sequence_erase(const Call& c) {
  std::vector<Value> items = c.value(0).items();
  if (items.empty()) c.fail("the sequence is empty");
  const std::size_t at = c.has(1) ? place_in(c, items, c.integer(1), false) : items.size() - 1;
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
  return {Value::sequence(std::move(items))};
}

Values split_to_sequence(const Call& c) {
  const Tensor& x = c.tensor(0);
  const int axis = c.axis(c.integer("axis", 0), x.rank());
  const std::int64_t size = x.size(axis);
  std::vector<std::int64_t> sizes;
  if (!c.has(1)) {
    sizes.assign(static_cast<std::size_t>(size), 1);
  } else if (c.tensor(1).rank() == 0) {
    const std::int64_t each = c.integer(1);
    if (each < 1) c.fail(str("its parts are to have ", each, " positions"));
    for (std::int64_t at = 0; at < size; at += each) sizes.push_back(std::min(each, size - at));
  } else {
    sizes = c.integers(1);
  }
  Values items;
  std::int64_t begin = 0;
  for (const std::int64_t n : sizes) {
    const Tensor part = narrow(x, axis, begin, n);
    items.emplace_back(!c.has(1) && c.integer("keepdims", 1) == 0 ? squeeze(part, axis) : part, c.type(0));
    begin += n;
  }
  return {Value::sequence(std::move(items))};
}

Values concat_from_sequence(const Call& c) {
  const auto& items = c.value(0).items();
  if (items.empty()) c.fail("the sequence is empty");
  std::vector<Tensor> parts;
  for (const Value& item : items) parts.push_back(c.here(item.tensor()));
  const bool fresh = c.integer("new_axis", 0) != 0;
  const int axis = c.axis(c.integer("axis"), parts[0].rank() + (fresh ? 1 : 0));
  return {{fresh ? stack(parts, axis) : cat(parts, axis), items.front().type()}};
}

// The body for each position of the first sequence; other inputs are sequences of the same length, or the
// same for all.
Values sequence_map(const Call& c) {
  std::vector<std::vector<Value>> results(c.outputs());
  const std::size_t count = c.value(0).items().size();
  for (std::size_t n = 0; n < count; ++n) {
    Values inputs;
    for (std::size_t i = 0; i < c.size(); ++i) {
      const Value& value = c.value(i);
      if (value.kind() == Value::Kind::sequence && value.items().size() != count)
        c.fail("its sequences are not equally long");
      inputs.push_back(value.kind() == Value::Kind::sequence ? value.items()[n] : value);
    }
    Values out = c.run("body", std::move(inputs));
    if (out.size() != results.size()) c.fail("its body has another number of results than it");
    for (std::size_t i = 0; i < out.size(); ++i) results[i].push_back(std::move(out[i]));
  }
  Values out;
  for (auto& items : results) out.push_back(Value::sequence(std::move(items)));
  return out;
}

Values optional_op(const Call& c) { return {Value::optional(c.has(0) ? Values{c.value(0)} : Values{})}; }
Values optional_has_element(const Call& c) {
  const bool there = c.has(0) && (c.value(0).kind() != Value::Kind::optional || !c.value(0).held().empty());
  return {to(full({}, there ? 1 : 0), DType::boolean)};
}
Values optional_get_element(const Call& c) {
  const Value& value = c.value(0);
  if (value.kind() != Value::Kind::optional) return {value};
  if (value.held().empty()) c.fail("the optional is empty");
  return {value.held().front()};
}

}  // namespace

void add_control(OperatorTable& t) {
  t.add("If", if_op);
  t.add("Loop", loop);
  t.add("Scan", scan);
  t.add("SequenceConstruct", sequence_construct);
  t.add("SequenceEmpty", sequence_empty);
  t.add("SequenceLength", sequence_length);
  t.add("SequenceAt", sequence_at);
  t.add("SequenceInsert", sequence_insert);
  t.add("SequenceErase", sequence_erase);
  t.add("SplitToSequence", split_to_sequence);
  t.add("ConcatFromSequence", concat_from_sequence);
  t.add("SequenceMap", sequence_map);
  t.add("Optional", optional_op);
  t.add("OptionalHasElement", optional_has_element);
  t.add("OptionalGetElement", optional_get_element);
}

}  // namespace veldt::onnx
