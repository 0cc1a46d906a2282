// Messages about the dtypes that an entry of the waist takes and refuses.
#include "veldt/core/entries.h"

#include <vector>

#include "veldt/core/error.h"

namespace veldt {

std::string text_of(DTypes set) {
  std::vector<DType> all;
  for (int i = 0; i < 8; ++i)
    if (set.has(static_cast<DType>(i))) all.push_back(static_cast<DType>(i));
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0) text += i + 1 == all.size() ? " and " : ", ";
    text += name_of(all[i]);
  }
  return text;
}

void refuse_dtype(const char* device, const char* what, DType given, DTypes taken) {
  throw NoKernel(str("there is no kernel of ", what, " for ", given, " on ", device),
                 str("it has kernels for ", text_of(taken)), "convert the tensor: to(x, DType::f32)");
}

void refuse_dtypes(const char* device, const char* what, DType from, DType to) {
  throw NoKernel(str("there is no kernel of ", what, " from ", from, " to ", to, " on ", device),
                 "it has kernels for other pairs of dtypes",
                 str("convert the tensor first: to(x, DType::", to, ")"));
}

}  // namespace veldt
