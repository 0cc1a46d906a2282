// Converts columns of a CSV file to inputs and targets, labels and series.
#include "veldt/data/table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/io/csv.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/shape.h"

namespace veldt::data {
namespace {

std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

// Every name once.
std::vector<std::string> classes_of(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (std::all_of(names.begin(), names.end(), whole_number))
    std::stable_sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
      return *whole_number(a) < *whole_number(b);
    });
  return names;
}

}  // namespace

DatasetPtr table(const std::string& path, const TableOptions& options) {
  if (options.classes && options.target.empty())
    throw ConfigError(str("the table ", path, " has no classes"), "no target says which column they are in",
                      "set TableOptions::target");
  std::vector<std::string> inputs = options.inputs;
  if (inputs.empty()) {
    inputs = io::csv_columns(path);
    std::erase(inputs, options.target);
  }
  if (std::find(inputs.begin(), inputs.end(), options.target) != inputs.end())
    throw ConfigError(str("column ", options.target, " cannot be an input and the target"),
                      "a network would have nothing to learn", "leave it out of the inputs");
  const auto width = static_cast<std::int64_t>(inputs.size());
  if (options.target.empty()) return from_tensors({io::read_csv(path, inputs).values});
  if (!options.classes) {
    inputs.push_back(options.target);
    const Tensor all = io::read_csv(path, inputs).values;
    return from_tensors({contiguous(narrow(all, 1, 0, width)), contiguous(narrow(all, 1, width, 1))});
  }
  const io::CsvTable read = io::read_csv(path, inputs, {options.target});
  const std::vector<std::string>& names = read.texts[0];
  const std::vector<std::string> classes = classes_of(names);
  std::map<std::string, std::int64_t> numbers;
  for (const std::string& name : classes) numbers.try_emplace(name, std::ssize(numbers));
  std::vector<std::int64_t> labels;
  for (const std::string& name : names) labels.push_back(numbers.at(name));
  return from_tensors({read.values, Tensor::from<std::int64_t>({std::ssize(labels)}, labels)}, classes);
}

Series series(const std::string& path, const std::vector<std::string>& columns) {
  if (columns.empty())
    throw ConfigError(str("cannot read a series of no column from ", path), "none was named",
                      "name the columns that hold its numbers");
  const std::string first = io::csv_columns(path).front();
  if (std::find(columns.begin(), columns.end(), first) != columns.end())
    return {.values = io::read_csv(path, columns).values, .times = {}};
  io::CsvTable read = io::read_csv(path, columns, {first});
  return {.values = read.values, .times = std::move(read.texts[0])};
}

// Welford (1962): the sum of squares about the mean so far, which stays small.
Moments moments(const Dataset& set, std::size_t part) {
  if (set.size() < 1)
    throw ConfigError("a data set without examples has no mean", "it is empty", "give it examples");
  std::vector<double> mean, squares;
  Shape shape;
  for (std::int64_t i = 0; i < set.size(); ++i) {
    const Example example = set.get(i);
    if (part >= example.size() || (i > 0 && example[part].shape() != shape))
      throw ShapeError(str(set.name_of(i), " has no such tensor as the others"),
                       part >= example.size()
                           ? str("it has ", example.size(), " and number ", part, " was asked for")
                           : str("it has ", example[part].shape(), ", the first one ", shape),
                       "bring them to one shape by mapped()");
    const std::vector<double> values = to(example[part], DType::f64).values<double>();
    shape = example[part].shape();
    mean.resize(values.size());
    squares.resize(values.size());
    for (std::size_t k = 0; k < values.size(); ++k) {
      const double off = values[k] - mean[k];
      mean[k] += off / static_cast<double>(i + 1);
      squares[k] += off * (values[k] - mean[k]);
    }
  }
  for (double& s : squares) {
    s = std::sqrt(s / static_cast<double>(set.size()));
    if (s == 0) s = 1;
  }
  return {.mean = to(Tensor::from<double>(shape, mean), DType::f32),
          .deviation = to(Tensor::from<double>(shape, squares), DType::f32)};
}

}  // namespace veldt::data
