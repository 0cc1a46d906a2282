#!/usr/bin/env bash
# The sweeps of docs/book run in a small form, on the real data: the table has a row for each combination and the columns
# of the page, and the orders that the page tells of hold.
# Usage: book_test.sh REPOSITORY VELDT DATA   (exits with 77 without the data)
set -euo pipefail
repository=$1 veldt=$2 data=${3:-}
[[ -d $data/mnist && -d $data/text && -d $data/timeseries ]] || { printf 'no data in %s\n' "$data"; exit 77; }
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
failures=0
fail() { printf 'FAIL: %s\n' "$*"; failures=$((failures + 1)); }

# The sweeps of a page, one a line.
sweeps_of() {
  awk '/^```/ { inside = !inside; next }
       !inside { next }
       joined != "" { $0 = joined $0; joined = "" }
       /\\$/ { joined = substr($0, 1, length($0) - 1); next }
       /^veldt sweep / { print }' "$repository/docs/book/$1.md"
}

# The number in COLUMN of the table's row that begins with these VALUES, as of all keys: value COLUMN VALUE,VALUE
# (without quotes, and with a semicolon for a comma that stands in quotes).
value() {
  awk -F '"' '{ line = ""; for (i = 1; i <= NF; ++i) { if (i % 2 == 0) gsub(",", ";", $i); line = line $i } print line }' "$table" |
    awk -F, -v name="$1" -v begin="$2," 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == name) at = i }
      index($0, begin) == 1 { print $at }'
}

# small PAGE NUMBER ROWS 's/LONG/SHORT/' ..: runs the page's sweep of that number after these changes, each of which
# has to change it.
small() {
  local page=$1 number=$2 rows=$3 command before count
  shift 3
  command=$(sweeps_of "$page" | sed -n "${number}p")
  for change; do
    before=$command
    command=$(sed -E "$change" <<<"$command")
    [[ $command != "$before" ]] || fail "$page: '$change' changes nothing in: $command"
  done
  command=${command/--data data/--data $data}
  command=${command/#veldt/$veldt}
  (cd "$repository" && bash -c "$command --out $root/$page$number") >"$root/out" 2>"$root/err" ||
    { fail "$page: $command exits with $?"; tail -5 "$root/err"; return; }
  table=$root/$page$number/sweep.csv
  count=$(($(wc -l <"$table") - 1))
  ((count == rows)) || fail "$page: $count rows, $rows expected"
  [[ -s $root/$page$number/sweep.svg ]] || fail "$page: no chart"
  # The columns of the page's table are those of the small one.
  grep -qF "$(head -1 "$root/out" | sed 's/  *waiting//' | awk '{ print $1 "  " }')" "$repository/docs/book/$page.md" ||
    fail "$page: its table does not begin with $(head -1 "$root/out" | awk '{ print $1 }')"
}

# above WORSE BETTER: numbers.
above() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && b != "" && b > a) }' || fail "$3: $2 is not above $1"; }

small initialisers 1 4 's/depth=2,8,32/depth=2,8/' 's/ReLU,Tanh/ReLU/' 's/--seeds 3//' \
  's/normal\(0.01\),xavier_normal,kaiming_normal,orthogonal/normal(0.01),kaiming_normal/' 's/$/ --set train.steps=300/'
above "$(value val_accuracy 'normal(0.01),8,ReLU')" "$(value val_accuracy kaiming_normal,8,ReLU)" initialisers

small optimizers 1 2 's/sgd,adam,.*muon/sgd,adam/' 's/3e-4,3e-3,3e-2/3e-3/' 's/--seeds 2//' 's/epochs=1/steps=200/'
above "$(value val_accuracy sgd)" "$(value val_accuracy adam)" optimizers
small optimizers 2 2 's/0,0.5,0.9,0.99/0,0.9/' 's/1e-3,1e-2,1e-1/1e-2/' 's/--seeds 2//' 's/epochs=1/steps=300/'
above "$(value val_accuracy 0,1e-2)" "$(value val_accuracy 0.9,1e-2)" momentum

small batch_sizes 1 2 's/16,64,256,1024/16,256/' 's/1e-3,1e-2,1e-1/1e-2/' 's/--seeds 2//' 's/epochs=2/epochs=1/'
above "$(value val_accuracy 256,1e-2)" "$(value val_accuracy 16,1e-2)" 'batch sizes'

small schedules 1 2 's/constant,cosine,.*\)'"'"'/constant,one_cycle'"'"'/' 's/--seeds 3//' 's/epochs=2/steps=400/'
above "$(value val_accuracy constant)" "$(value val_accuracy one_cycle)" schedules

small recurrent 1 2 's/RNN,LSTM,GRU/RNN,LSTM/' 's/steps=1500/steps=30/' 's/every=500/every=30/' 's/hidden=128/hidden=32/'
[[ -n $(value sample_words LSTM) ]] || fail 'recurrent: the text was not measured'
small recurrent 2 2 's/width=64,128/width=16,32/' 's/steps=1500/steps=30/' 's/every=500/every=30/' 's/$/ --set depth=1 --set optimizer.warmup=10/'
[[ -n $(value sample_words 16) ]] || fail 'a transformer: its text was not measured'
small recurrent 3 3 's/--seeds 3//' 's/$/ --set train.epochs=3/'
small recurrent 4 3 's/--seeds 3//'
above "$(value val_loss LSTM)" "$(value val_loss RNN)" 'temperatures: the loss of an LSTM'
small recurrent 5 3 's/--seeds 3//' 's/$/ --set train.epochs=3/'

# Of ten epochs of a file with wrong targets, absolute errors lose less than squared ones.
spoil=$(awk '/^awk /, /csv$/' "$repository/docs/book/losses.md")
mkdir -p "$root/own/data/timeseries"
cp "$data/timeseries/daily-min-temperatures.csv" "$root/own/data/timeseries/"
(cd "$root/own" && bash -c "$spoil") || fail "losses: $spoil exits with $?"
data=$root/own/data small losses 1 4 's/huber,huber.*,l1/l1/' 's/--seeds 3/--set train.epochs=10/'
above "$(value test_mae timeseries/spoiled.csv,l1)" "$(value test_mae timeseries/spoiled.csv,mse)" losses

# Its example ends with 0 if momentum helps SGD, and its own optimizer equals the library's.
example=$(dirname "$veldt")/example_optimizer_sweep
if [[ -x $example ]]; then
  command=$(grep -m1 '^build/release/bin/example_optimizer_sweep data/mnist ' "$repository/docs/book/own_optimizer.md")
  (cd "$root" && "$example" "$data/mnist" 100 1 >out 2>err) || fail "own_optimizer: $command exits with $? in its small form"
  [[ $(head -1 "$root/out" | awk '{ print $1, $2, $3, $4 }') == 'optimizer momentum weight_decay lr' ]] ||
    fail 'own_optimizer: its table has other columns'
  [[ $(wc -l <"$root/optimizer_sweep.csv") == 113 && -s $root/optimizer_sweep.svg ]] || fail 'own_optimizer: not all is there'
fi

small workers 1 2 's/0,1,2,4/0,2/' 's/epochs=1/steps=60/'
[[ -n $(value waiting 0) ]] || fail 'workers: no share of waiting'
# CIFAR's 60,000 files would take a minute to unpack: the same network on digits, where both orders show in seconds.
digits='s/--data/--set data.kind=mnist --set data.path=mnist --set data.prepare=[] --data/'
small filters 1 2 's/1,3,5/1,3/' 's/depth=1,2,3/depth=1/' 's/--seeds 2//' 's/epochs=1/steps=100/' 's/width=16/width=8/' "$digits"
above "$(value val_accuracy 1,1)" "$(value val_accuracy 3,1)" filters

small augmentation 1 2 's/,\["random_rotation.*_erasing\([^"]*"\]//' 's/32, 32, 4/28, 28, 4/' 's/epochs=3/steps=150/' 's/width=16/width=8/' "$digits"
above "$(value 'test_accuracy shift(4)' '[]')" "$(value 'test_accuracy shift(4)' '[random_crop(28; 28; 4)]')" augmentation
small augmentation 2 2 's/epochs=3/steps=30/' 's/width=16/width=8/' "$digits"
[[ -n $(value 'test_accuracy brightness(0.5)' 'mixup(0.2)') ]] || fail 'augmentation: nothing was measured in the dark'
exit $((failures > 0))
