// Ops that move, choose, reduce and multiply whole tensors, and those that make them.
#include "tests/peers/call.h"

namespace veldt::peers {
namespace {

using Reducing = Tensor(const Tensor&, const Dims&, bool);

void add_shape(Ops& ops) {
  ops["reshape"] = op(reshape);
  ops["flatten"] = op(flatten);
  ops["transpose"] = op(transpose);
  ops["permute"] = op(permute);
  ops["expand"] = op(expand);
  ops["slice"] = op(slice);
  ops["select"] = op<Tensor, const Tensor&, int, std::int64_t>(veldt::select);
  ops["unsqueeze"] = op(unsqueeze);
  ops["squeeze"] = with_call([](const Call& call) {
    return call.count() == 1 ? squeeze(call.tensor(0)) : squeeze(call.tensor(0), call.at<int>(1));
  });
  ops["contiguous"] = op(contiguous);
  ops["clone"] = op<Tensor, const Tensor&>(veldt::clone);
  ops["cat"] = op(cat);
  ops["stack"] = op(stack);
  ops["split"] = op(split);
  ops["chunk"] = op(chunk);
  ops["narrow"] = op(narrow);
  ops["flip"] = op(flip);
  ops["roll"] = op(roll);
  ops["repeat"] = op(repeat);
  ops["repeat_interleave"] = op(repeat_interleave);
  ops["movedim"] = op(movedim);
  ops["unflatten"] = op(unflatten);
  ops["pad"] = with_call([](const Call& call) {
    const auto amounts = call.at<std::vector<std::int64_t>>(1);
    return call.count() == 3 ? pad(call.tensor(0), amounts, call.at<double>(2))
                             : pad(call.tensor(0), amounts, call.at<PadMode>(3));
  });
  ops["pixel_shuffle"] = op(pixel_shuffle);
  ops["pixel_unshuffle"] = op(pixel_unshuffle);
  ops["meshgrid"] = op(meshgrid);
  ops["tril"] = op(tril);
  ops["triu"] = op(triu);
  ops["diagonal"] = op(diagonal);
  ops["diag"] = op(diag);
}

void add_reductions(Ops& ops) {
  const std::pair<const char*, Reducing*> functions[] = {{"sum", sum}, {"mean", mean},          {"max", max},
                                                         {"min", min}, {"prod", prod},          {"any", any},
                                                         {"all", all}, {"logsumexp", logsumexp}};
  for (const auto& [name, function] : functions) ops[name] = op(function);
  ops["variance"] = op(variance);
  ops["stddev"] = op(stddev);
  ops["norm"] = op(norm);
  ops["argmax"] = op(argmax);
  ops["argmin"] = op(argmin);
  ops["sum_to"] = op(sum_to);
  ops["softmax"] = op(softmax);
  ops["log_softmax"] = op(log_softmax);
  ops["cumsum"] = op(cumsum);
  ops["cumprod"] = op(cumprod);
  ops["cummax"] = op(cummax);
  ops["cummin"] = op(cummin);
  ops["isclose"] = op(isclose);
  ops["cosine_similarity"] = op(cosine_similarity);
  ops["pairwise_distance"] = op(pairwise_distance);
  ops["normalize"] = op(normalize);
}

void add_indexing(Ops& ops) {
  ops["sort"] = op(sort);
  ops["argsort"] = op(argsort);
  ops["topk"] = op(topk);
  ops["gather"] = op(gather);
  ops["index_select"] = op(index_select);
  ops["scatter"] = with_call([](const Call& call) {
    const Tensor x = call.tensor(0), index = call.tensor(2);
    return call.arguments.at(3).is_object() ? scatter(x, call.at<int>(1), index, call.tensor(3))
                                            : scatter(x, call.at<int>(1), index, call.at<Scalar>(3));
  });
  ops["scatter_add"] = op(scatter_add);
  ops["index_add"] = op(index_add);
  ops["masked_fill"] = op(masked_fill);
  ops["masked_select"] = op(masked_select);
  ops["nonzero"] = op(nonzero);
  ops["one_hot"] = op(one_hot);
}

void add_products(Ops& ops) {
  ops["matmul"] = op(matmul);
  ops["dot"] = op(dot);
  ops["outer"] = op(outer);
  ops["linear"] = op(linear);
  ops["einsum"] =
      with_call([](const Call& call) { return einsum(call.at<std::string>(0), call.at<Tensors>(1)); });
}

void add_creation(Ops& ops) {
  ops["zeros"] = op(zeros);
  ops["ones"] = op(ones);
  ops["full"] = op(full);
  ops["arange"] = op<Tensor, Scalar, Scalar, Scalar, std::optional<DType>, Device>(arange);
  ops["linspace"] = op(linspace);
  ops["eye"] = op(eye);
}

}  // namespace

void add_tensor_ops(Ops& ops) {
  add_shape(ops);
  add_reductions(ops);
  add_indexing(ops);
  add_products(ops);
  add_creation(ops);
}

}  // namespace veldt::peers
