# What the tests of several processes share: the launcher of an MPI ($kind), and how results are compared.

launch() {  # N PROGRAM ARGUMENTS..
  local count=$1
  shift
  if [[ $kind == openmpi ]]; then
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
      OMPI_MCA_btl_base_warn_component_unused=0 mpirun.openmpi --bind-to none -n "$count" "$@"
  else
    mpiexec.mpich -n "$count" "$@"
  fi
}
fail() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}
expect() {  # FILE WORDS
  grep -qF -- "$2" "$1" || {
    cat "$1" >&2
    fail "no '$2' in $1"
  }
}
same_weights() {  # FOLDER FOLDER: of runs; the tensors' bytes, without what the files say of themselves
  python3 - "$1" "$2" <<'END'
import struct, sys
def tensors(folder):
    data = open(folder + "/model.safetensors", "rb").read()
    return data[8 + struct.unpack("<Q", data[:8])[0]:]
sys.exit(tensors(sys.argv[1]) != tensors(sys.argv[2]))
END
}
same_losses() {  # FOLDER FOLDER: each loss of metrics.csv to 1e-6
  python3 - "$1" "$2" <<'END'
import csv, sys
rows = [list(csv.DictReader(open(folder + "/metrics.csv"))) for folder in sys.argv[1:]]
assert len(rows[0]) == len(rows[1]) > 0
for a, b in zip(*rows):
    for name in ("train_loss", "validation_loss"):
        if a.get(name):
            x, y = float(a[name]), float(b[name])
            assert abs(x - y) <= 1e-6 * abs(x), (name, a["step"], x, y)
END
}
