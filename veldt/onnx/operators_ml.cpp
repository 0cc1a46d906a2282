// ai.onnx.ml: what surrounds and what replaces networks on tables.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "veldt/onnx/operators.h"
#include "veldt/onnx/support.h"
#include "veldt/ops/softmax.h"

namespace veldt::onnx {

namespace {

// Columns of the last dimension.
Values array_feature_extractor(const Call& c) {
  const std::vector<std::int64_t> columns = c.integers(1);
  const Shape shape = c.value(0).shape();
  if (shape.rank() == 0) c.fail("its input is one number");
  for (const std::int64_t i : columns)
    if (i < 0 || i >= shape[shape.rank() - 1])
      c.fail(str("it asks for column ", i, " of ", shape[shape.rank() - 1]));
  const auto n = static_cast<std::int64_t>(columns.size());
  Shape result = shape.rank() == 1 ? Shape{1, n} : shape;
  result[result.rank() - 1] = n;
  return {{reshape(index_select(c.tensor(0), -1, list_of(columns, c.device())), result), c.type(0)}};
}

Values binarizer(const Call& c) {
  const Tensor& x = c.tensor(0);
  return {{to(greater(x, c.real("threshold", 0)), x.dtype()), c.type(0)}};
}

// One number, or one for each column.
Tensor for_columns(const Call& c, const std::vector<double>& values, const Tensor& x) {
  if (values.size() != 1 && (x.rank() == 0 || static_cast<std::int64_t>(values.size()) != x.size(-1)))
    c.fail(str("it has ", values.size(), " numbers for an input ", x.shape()));
  return to(Tensor::from<double>({static_cast<std::int64_t>(values.size())}, values, x.device()), x.dtype());
}

Values scaler(const Call& c) {
  const Tensor x = c.real(0);
  return {mul(sub(x, for_columns(c, c.reals("offset", {0}), x)), for_columns(c, c.reals("scale", {1}), x))};
}

Values normalizer(const Call& c) {
  const Tensor x = c.real(0);
  const std::string norm_name = c.text("norm", "MAX");
  if (norm_name != "MAX" && norm_name != "L1" && norm_name != "L2")
    c.fail("its norm is \"" + norm_name + "\", which ONNX does not have");
  const double p = norm_name == "MAX" ? std::numeric_limits<double>::infinity() : norm_name == "L1" ? 1 : 2;
  return {div(x, maximum(norm(x, p, {x.rank() - 1}, true), 1e-30))};
}

Values imputer(const Call& c) {
  const Tensor& x = c.tensor(0);
  std::vector<double> values = c.reals("imputed_value_floats");
  const double missing = is_float(x.dtype()) ? c.real("replaced_value_float", 0)
                                             : static_cast<double>(c.integer("replaced_value_int64", 0));
  if (!is_float(x.dtype()))
    for (const std::int64_t v : c.integers("imputed_value_int64s")) values.push_back(static_cast<double>(v));
  const Tensor gone = std::isnan(missing) ? isnan(x) : equal(x, missing);
  return {{where(gone, for_columns(c, values, x), x), c.type(0)}};
}

// --- LabelEncoder
// ---------------------------------------------------------------------------------------------

// The list of keys or values: an attribute of texts, integers, floats, or a tensor.
Value list_given(const Call& c, const char* texts, const char* integers, const char* reals,
                 const char* tensor) {
  if (c.has(texts)) {
    std::vector<std::string> list = c.texts(texts);
    return Value(Texts{{static_cast<std::int64_t>(list.size())}, std::move(list)});
  }
  if (c.has(integers)) return Value(list_of(c.integers(integers)));
  if (c.has(reals)) {
    const std::vector<double> list = c.reals(reals);
    return Value(to(Tensor::from<double>({static_cast<std::int64_t>(list.size())}, list), DType::f32));
  }
  if (c.has(tensor)) return c.value(tensor);
  c.fail(str("it has neither ", texts, " nor ", integers, " nor ", reals, " nor ", tensor));
}

// Of each key the place where it is in the list, `otherwise` for others. NaN is a key like others.
template <class Key>
std::vector<std::int64_t> looked_up(const std::vector<Key>& keys, const std::vector<Key>& x,
                                    std::int64_t otherwise) {
  std::map<Key, std::int64_t> places;
  std::int64_t of_nan = otherwise;
  const auto is_nan = [](const Key& key) {
    if constexpr (std::is_same_v<Key, double>) return std::isnan(key);
    return false;
  };
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (is_nan(keys[i]))
      of_nan = static_cast<std::int64_t>(i);
    else
      places[keys[i]] = static_cast<std::int64_t>(i);
  }
  std::vector<std::int64_t> out;
  for (const Key& key : x) {
    const auto found = is_nan(key) ? places.end() : places.find(key);
    out.push_back(is_nan(key) ? of_nan : found == places.end() ? otherwise : found->second);
  }
  return out;
}

Values label_encoder(const Call& c) {
  const Value& x = c.value(0);
  Value keys, values;
  if (c.has("classes_strings")) {  // version 1: texts to their places, or back
    std::vector<std::string> names = c.texts("classes_strings");
    const auto n = static_cast<std::int64_t>(names.size());
    keys = Value(arange(n));
    values = Value(Texts{{n}, std::move(names)});
    if (x.kind() == Value::Kind::texts) std::swap(keys, values);
  } else {
    keys = list_given(c, "keys_strings", "keys_int64s", "keys_floats", "keys_tensor");
    values = list_given(c, "values_strings", "values_int64s", "values_floats", "values_tensor");
  }
  const std::int64_t count = numel(keys.shape());
  if (numel(values.shape()) != count)
    c.fail(str("it has ", count, " keys and ", numel(values.shape()), " values"));
  std::vector<std::int64_t> places;  // `count` is the default
  if (keys.kind() == Value::Kind::texts)
    places = looked_up(keys.texts().values, x.texts().values, count);
  else if (is_float(keys.tensor().dtype()))
    places = looked_up(host<double>(keys.tensor()), host<double>(x.tensor()), count);
  else
    places = looked_up(host<std::int64_t>(keys.tensor()), host<std::int64_t>(x.tensor()), count);
  if (values.kind() == Value::Kind::texts) {
    std::string otherwise = c.text("default_string", "_Unused");
    if (c.has("default_tensor") && numel(c.value("default_tensor").shape()) == 1)
      otherwise = c.value("default_tensor").texts().values[0];
    Texts out{x.shape(), {}};
    for (const std::int64_t i : places)
      out.values.push_back(i == count ? otherwise : values.texts().values[static_cast<std::size_t>(i)]);
    return {Value(std::move(out))};
  }
  const Tensor list = reshape(values.tensor(), {count});
  Tensor otherwise = is_float(list.dtype()) ? full({1}, c.real("default_float", -0.0), list.dtype())
                                            : full({1}, c.integer("default_int64", -1), list.dtype());
  if (c.has("default_tensor")) otherwise = to(reshape(c.value("default_tensor").tensor(), {1}), list.dtype());
  return {{reshape(index_select(cat({list, otherwise}), 0, list_of(places)), x.shape()), values.type()}};
}

// --- trees
// ----------------------------------------------------------------------------------------------------

// A node's test of a feature, and where to go; below 0: the leaf -1 - n.
struct TreeNode {
  std::int64_t feature = 0, yes = 0, no = 0;
  int mode = 0;  // 0 <=, 1 <, 2 >=, 3 >, 4 ==, 5 !=, 6 one of a list
  double value = 0;
  bool missing_is_yes = false;
  std::vector<double> members;
};
struct TreeLeaf {
  std::int64_t target;
  double weight;
};

bool passes(const TreeNode& node, double x) {
  if (std::isnan(x)) return node.missing_is_yes || node.mode == 5;
  switch (node.mode) {
    case 0: return x <= node.value;
    case 1: return x < node.value;
    case 2: return x >= node.value;
    case 3: return x > node.value;
    case 4: return x == node.value;
    case 5: return x != node.value;
    default: return std::find(node.members.begin(), node.members.end(), x) != node.members.end();
  }
}

struct Forest {
  std::vector<TreeNode> nodes;
  std::vector<TreeLeaf> leaves;
  std::vector<std::int64_t> roots;
  std::int64_t targets = 1;
};

Forest forest_of(const Call& c, std::int64_t features) {
  Forest f;
  const auto modes = host<std::int64_t>(c.value("nodes_modes").tensor());
  const auto splits = host<double>(c.value("nodes_splits").tensor());
  const auto feature = c.integers("nodes_featureids"), yes = c.integers("nodes_truenodeids"),
             no = c.integers("nodes_falsenodeids"), yes_leaf = c.integers("nodes_trueleafs"),
             no_leaf = c.integers("nodes_falseleafs");
  const std::size_t n = modes.size();
  const auto missing = c.integers("nodes_missing_value_tracks_true", std::vector<std::int64_t>(n));
  const auto targets = c.integers("leaf_targetids");
  const auto weights = host<double>(c.value("leaf_weights").tensor());
  for (const std::size_t size : {splits.size(), feature.size(), yes.size(), no.size(), yes_leaf.size(),
                                 no_leaf.size(), missing.size()})
    if (size != n) c.fail("its lists of nodes are not equally long");
  if (targets.size() != weights.size()) c.fail("its lists of leaves are not equally long");
  f.targets = c.integer("n_targets", 1);
  if (f.targets < 1 || f.targets > std::int64_t{1} << 20) c.fail(str("it has ", f.targets, " targets"));
  std::vector<double> members;
  if (c.has("membership_values")) members = host<double>(c.value("membership_values").tensor());
  std::size_t member = 0;
  const auto place = [&](std::int64_t at, std::int64_t leaf) {
    const auto limit = static_cast<std::int64_t>(leaf != 0 ? targets.size() : n);
    if (at < 0 || at >= limit) c.fail(str("a branch leads to ", at, " of ", limit));
    return leaf != 0 ? -1 - at : at;
  };
  for (std::size_t i = 0; i < n; ++i) {
    TreeNode node{feature[i],
                  place(yes[i], yes_leaf[i]),
                  place(no[i], no_leaf[i]),
                  static_cast<int>(modes[i]),
                  splits[i],
                  missing[i] != 0,
                  {}};
    if (node.feature < 0 || node.feature >= features || modes[i] < 0 || modes[i] > 6)
      c.fail(str("node ", i, " tests feature ", node.feature, " of ", features, " in mode ", modes[i]));
    if (node.mode == 6) {  // its members, up to a NaN
      for (; member < members.size() && !std::isnan(members[member]); ++member)
        node.members.push_back(members[member]);
      ++member;
    }
    f.nodes.push_back(std::move(node));
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] < 0 || targets[i] >= f.targets)
      c.fail(str("a leaf is of target ", targets[i], " of ", f.targets));
    f.leaves.push_back({targets[i], weights[i]});
  }
  for (const std::int64_t root : c.integers("tree_roots")) {
    if (root < 0 || root >= static_cast<std::int64_t>(n)) c.fail(str("a tree begins at ", root, " of ", n));
    f.roots.push_back(root);
  }
  return f;
}

Tensor after_trees(const Call& c, const Tensor& y) {
  switch (c.integer("post_transform", 0)) {
    case 0: return y;
    case 1: return softmax(y, -1);
    case 2: return sigmoid(y);
    case 3: {  // zeros stay zeros
      const Tensor zero = equal(y, 0);
      const Tensor e = where(zero, zeros_like(y), exp(sub(y, max(y, {-1}, true))));
      const Tensor total = sum(e, {-1}, true);
      return div(e, where(equal(total, 0), ones_like(total), total));
    }
    default: break;
  }
  c.fail("its post_transform is PROBIT, or none of ONNX's");
}

Values tree_ensemble(const Call& c) {
  const Tensor& x = c.tensor(0);
  if (x.rank() != 2) c.fail(str("its input is ", x.shape()));
  const Forest f = forest_of(c, x.size(1));
  const std::int64_t aggregate = c.integer("aggregate_function", 1);  // 0 mean, 1 sum, 2 smallest, 3 largest
  if (aggregate < 0 || aggregate > 3) c.fail(str("its aggregate_function is ", aggregate));
  check_size(c, {x.size(0), f.targets});
  const std::vector<double> rows = host<double>(x);
  const auto width = static_cast<std::size_t>(x.size(1)), targets = static_cast<std::size_t>(f.targets);
  std::vector<double> out(static_cast<std::size_t>(x.size(0)) * targets);
  std::vector<std::uint8_t> seen(out.size());
  for (std::size_t row = 0; row < static_cast<std::size_t>(x.size(0)); ++row) {
    for (std::int64_t at : f.roots) {
      for (std::size_t steps = 0; at >= 0; ++steps) {
        if (steps > f.nodes.size()) c.fail("its branches lead in a circle");
        const TreeNode& node = f.nodes[static_cast<std::size_t>(at)];
        at = passes(node, rows[row * width + static_cast<std::size_t>(node.feature)]) ? node.yes : node.no;
      }
      const TreeLeaf& leaf = f.leaves[static_cast<std::size_t>(-1 - at)];
      const std::size_t place = row * targets + static_cast<std::size_t>(leaf.target);
      double& to = out[place];
      if (seen[place] == 0)
        to = leaf.weight;
      else
        to = aggregate == 2   ? std::min(to, leaf.weight)
             : aggregate == 3 ? std::max(to, leaf.weight)
                              : to + leaf.weight;
      seen[place] = 1;
    }
  }
  Tensor y = Tensor::from<double>({x.size(0), f.targets}, out);
  if (aggregate == 0) y = div(y, std::max(1.0, static_cast<double>(f.roots.size())));
  return {to(after_trees(c, y), x.dtype())};
}

}  // namespace

void add_tables(OperatorTable& t) {
  constexpr std::string_view kDomain = "ai.onnx.ml";
  t.add("ArrayFeatureExtractor", array_feature_extractor, 0, kDomain);
  t.add("Binarizer", binarizer, 0, kDomain);
  t.add("Scaler", scaler, 0, kDomain);
  t.add("Normalizer", normalizer, 0, kDomain);
  t.add("Imputer", imputer, 0, kDomain);
  t.add("LabelEncoder", label_encoder, 0, kDomain);
  t.add("TreeEnsemble", tree_ensemble, 0, kDomain);
}

}  // namespace veldt::onnx
