#!/usr/bin/env python3
"""The table of torch.promote_types for Veldt's dtypes.

usage: promote.py OUT.json      (needs torch)
"""
import json
import sys

import torch

NAMES = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16, "f16": torch.float16,
         "i64": torch.int64, "i32": torch.int32, "u8": torch.uint8, "i8": torch.int8,
         "bool": torch.bool}


def main(out):
    back = {dtype: name for name, dtype in NAMES.items()}
    back[torch.int16] = "i32"  # which Veldt does not have: the narrowest that holds u8 and i8
    table = {a: {b: back[torch.promote_types(NAMES[a], NAMES[b])] for b in NAMES} for a in NAMES}
    with open(out, "w") as f:
        json.dump(table, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
