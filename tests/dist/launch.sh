# What the scripts that start Veldt by an MPI launcher share. They set `kind`: openmpi or mpich.

launch() {  # N ARGUMENTS..
  local count=$1
  shift
  if [[ $kind == openmpi ]]; then
    # More processes than cores: Open MPI 4 is told so by the first of the two policies, 5 by the second.
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
      PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_btl_base_warn_component_unused=0 \
      mpirun.openmpi --bind-to none -n "$count" "$@"
  else
    mpiexec.mpich -n "$count" "$@"
  fi
}
fail() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}
expect() {  # FILE WORDS
  grep -qF -- "$2" "$1" || { cat "$1" >&2; fail "no '$2' in $1"; }
}
# The numbers of a safetensors file, without its header.
tensors() { tail -c "+$((9 + $(od -An -tu8 -N8 "$1")))" "$1"; }
same_weights() {  # FOLDER FOLDER: of runs
  cmp -s <(tensors "$1/model.safetensors") <(tensors "$2/model.safetensors")
}
same_losses() {  # FOLDER FOLDER: of runs; each loss of metrics.csv to 1e-6
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
elapsed() { awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.3f", b - a }'; }
less() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a < b) }'; }
wait_until() {  # SECONDS COMMAND..
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS <= end)) || return 1
    sleep 0.02
  done
}

write_xor_recipe() {  # STEPS
  printf '%s\n' a,b,y 0,0,no 0,1,yes 1,0,yes 1,1,no >xor.csv
  cat >xor.toml <<TEXT
[data]
kind = "table"
path = "xor.csv"
target = "y"
classes = true
batch = 4
[model]
layers = ["Linear(8)", "Tanh()", "Linear(2)"]
[optimizer]
kind = "adam"
lr = 0.05
[train]
steps = $1
evaluate_every = $1
TEXT
}
