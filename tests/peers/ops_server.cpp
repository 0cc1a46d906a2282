// Runs ops for another program: tests/peers/driver.py sends one call after the other through a pipe, and gets
// values and gradients back. A message is a line of JSON, then the bytes of the tensors that it names, one
// after the other.
#include <cstdio>
#include <iostream>

#include "tests/peers/call.h"

namespace veldt::peers {
namespace {

Tensor sent(const json& form) {
  const DType dtype = dtype_named(form.at("dtype").get<std::string>());
  const auto read_shape = [&](const char* name) { return read<Shape>(form.at(name), {}); };
  const auto count = form.at("count").get<std::int64_t>();
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * size_of(dtype));
  std::cin.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const Tensor memory = Tensor::from_bytes({count}, dtype, bytes);
  Tensor t = memory.alias(read_shape("shape"), read_shape("strides"), form.at("offset").get<std::int64_t>());
  if (form.at("grad").get<bool>()) t.set_requires_grad();
  return t;
}

Tensors sent_list(const json& forms) {
  Tensors list;
  for (const json& form : forms) list.push_back(form.is_null() ? Tensor() : sent(form));
  return list;
}

// sum(x * seed), over all that has a seed; undefined if nothing has.
Tensor seeded(const Tensors& list, const Tensors& seeds) {
  Tensor total;
  for (std::size_t i = 0; i < list.size() && i < seeds.size(); ++i) {
    if (!seeds[i].defined()) continue;
    const Tensor part = sum(list[i] * seeds[i]);
    total = total.defined() ? total + part : part;
  }
  return total;
}

struct Answer {
  Tensors values, first, second;
};

Answer answer(const Ops& ops, const json& message, const Tensors& tensors, const Tensors& seeds,
              const Tensors& second_seeds) {
  Answer out;
  const Call call{message.at("arguments"), tensors};
  out.values = ops.at(message.at("op").get<std::string>())(call);
  std::vector<Tensor> leaves;
  for (const Tensor& t : tensors)
    if (t.requires_grad()) leaves.push_back(t);
  const Tensor loss = seeded(out.values, seeds);
  if (!loss.defined()) return out;
  const Grads first = grad(loss, leaves, !second_seeds.empty());
  out.first.assign(first.begin(), first.end());
  if (second_seeds.empty()) return out;
  const Grads second = grad(seeded(out.first, second_seeds), leaves);
  out.second.assign(second.begin(), second.end());
  return out;
}

void send(const Answer& answer) {
  json line;
  Tensors all;
  const auto list = [&](const char* name, const Tensors& tensors) {
    line[name] = json::array();
    for (const Tensor& t : tensors) {
      all.push_back(t);
      line[name].push_back({{"dtype", name_of(t.dtype())},
                            {"shape", std::vector<std::int64_t>(t.shape().begin(), t.shape().end())},
                            {"grad", t.requires_grad()}});
    }
  };
  list("values", answer.values);
  list("first", answer.first);
  list("second", answer.second);
  std::cout << line.dump() << '\n';
  for (const Tensor& t : all) {
    const std::vector<std::byte> bytes = t.bytes();
    std::cout.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
}

void serve() {
  Ops ops;
  add_elementwise_ops(ops);
  add_tensor_ops(ops);
  add_layer_ops(ops);
  add_loss_ops(ops);
  json names = json::array();
  for (const auto& [name, unused] : ops) names.push_back(name);
  std::cout << names.dump() << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const json message = json::parse(line);
    const Tensors tensors = sent_list(message.at("tensors")), seeds = sent_list(message.at("seeds")),
                  second_seeds = sent_list(message.at("second_seeds"));
    try {
      send(answer(ops, message, tensors, seeds, second_seeds));
    } catch (const Error& error) {
      std::cout << json({{"error", error.what()}}).dump() << '\n';
    }
    std::cout.flush();
  }
}

}  // namespace
}  // namespace veldt::peers

int main(int argc, char** argv) {
  // One thread unless the driver asks for more: its own work needs the others.
  veldt::set_num_threads(argc > 1 ? std::stoi(argv[1]) : 1);
  std::ios::sync_with_stdio(false);
  veldt::peers::serve();
}
