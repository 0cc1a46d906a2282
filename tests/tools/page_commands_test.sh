#!/usr/bin/env bash
# Every command of the pages runs: README.md, docs/*.md and the help's examples in docs/cli.md. Those of `veldt` run as
# they stand, one page after the other in a folder with small inputs of the names that the pages use; training and
# fitting end after a few steps. Of ./dev and CMake it is checked that the verb, or the preset, is there.
# Usage: page_commands_test.sh REPOSITORY VELDT
set -euo pipefail
source=$1 veldt=$2
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

# A block's lines that begin with a command, joined where they go on, without what is said beside them.
commands_of() {
  awk '/^```/ { inside = !inside; next }
       !inside { next }
       joined != "" { $0 = joined $0; joined = "" }
       /\\$/ { joined = substr($0, 1, length($0) - 1); next }
       { sub(/^ +/, "") }
       /^(build\/release\/bin\/)?veldt |^\.\/dev|^cmake / { sub(/  +.*/, ""); sub(/ +#.*/, ""); print }' "$1"
}

# A grey picture of SIDE x SIDE levels.
picture() {
  local file=$1 side=$2 i
  {
    printf 'P2\n%d %d\n255\n' "$side" "$side"
    for ((i = 0; i < side * side; ++i)); do printf '%d ' $((i * 37 % 140 + i / side)); done
  } >"$root/picture.pgm"
  "$veldt" resize "$root/picture.pgm" -o "$file" --scale 1 --quiet >/dev/null
}

# COUNT digits as idx files.
digits() {
  local name=$1 count=$2 i
  {
    printf "\\0\\0\\x08\\x03\\0\\0\\0\\x$(printf %x "$count")\\0\\0\\0\\x1c\\0\\0\\0\\x1c"
    for ((i = 0; i < count; ++i)); do
      head -c $((56 * (i % 10))) /dev/zero | tr '\0' '\377'
      head -c $((784 - 56 * (i % 10))) /dev/zero
    done
  } >"data/mnist/$name-images-idx3-ubyte"
  {
    printf "\\0\\0\\x08\\x01\\0\\0\\0\\x$(printf %x "$count")"
    for ((i = 0; i < count; ++i)); do printf "\\x$((i % 10))"; done
  } >"data/mnist/$name-labels-idx1-ubyte"
}

# What the commands of the pages read.
inputs() {
  local name i
  mkdir -p assets icons sprites pictures data/kodak data/mnist data/text data/timeseries runs home/.config/fish/completions build/release/bin
  ln -s "$source/recipes" recipes
  ln -s "$veldt" build/release/bin/veldt
  for name in photo.png small.png kodim05.png a.png truth.png 7.png digit.png photo.jpg; do picture $name 24; done
  picture cub.png 112
  for name in noisy.png data/kodak/1.png data/kodak/2.png data/kodak/3.png; do cp cub.png $name; done
  cp cub.png assets/cub.png
  for name in b.png redrawn.png logo.png drawing.png icon.png icons/1.png sprites/1.png; do picture $name 24; done
  "$veldt" csv encode cub.png -o pixels.csv --threshold 0.4 --quiet
  base64 -d >clip.gif <<<R0lGODlhBAAEAIEAAAAAAP///wAAAAAAACH/C05FVFNDQVBFMi4wAwEAAAAh+QQADwAAACwAAAAABAAEAAAIDAABCBQYYGDBgQIDAgAh+QQADwAAACwBAAEAAgACAIEAAAD///8AAAAAAAAIBgABBBAYEAA7
  base64 -d >clip.apng <<<iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAAAAACMmsGiAAAACGFjVEwAAAACAAAAAPONk3AAAAAaZmNUTAAAAAAAAAAEAAAABAAAAAAAAAAAAAMAFAAAOwre+wAAABVJREFUeJxjYGBgYGBg+M/AwMQAAwANGwECGF7yOQAAABpmY1RMAAAAAQAAAAIAAAACAAAAAQAAAAEAAwAUAAB4pj+6AAAAEmZkQVQAAAACeJxjYPjPxMAAAAQIAQLeazlCAAAAAElFTkSuQmCC
  base64 -d >logo.gif <<<R0lGODlhAgACAIABAP8AAP///yH5BAAAAAAALAAAAAACAAIAAAICRF4AOw==
  base64 -d >scan.tiff <<<SUkqAAgAAAAIAAABAwABAAAAAgAAAAEBAwABAAAAAQAAAAIBAwABAAAACAAAAAMBAwABAAAAAQAAAAYBAwABAAAAAQAAABEBBAABAAAAegAAABYBAwABAAAAAQAAABcBBAABAAAAAgAAAAAAAAAAAAAAAAAAAAAAAAAAAABAgAA=
  {
    printf 'RIFF\x24\x7d\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data\0\x7d\0\0'
    for ((i = 0; i < 1000; ++i)); do printf '\0\0\0\x20\0\x30\0\x20\0\0\0\xe0\0\xd0\0\xe0\0\0\0\x20\0\x30\0\x20\0\0\0\xe0\0\xd0\0\xe0'; done
  } >bach.wav
  # Graphs: x times mask, and the means of a picture's channels.
  base64 -d >net.onnx <<<CAgSADpMChEKAXgKBG1hc2sSAXkiA011bBIBZ1oPCgF4EgoKCAgBEgQKAggCWhIKBG1hc2sSCgoICAESBAoCCAJiDwoBeRIKCggIARIECgIIAkIECgAQEQ==
  base64 -d >mobilenet.onnx <<<CAgSADpaChkKAXgSAXkiEUdsb2JhbEF2ZXJhZ2VQb29sEgFnWhwKAXgSFwoVCAESEQoDEgFuCgIIAwoCCAgKAggIYhwKAXkSFwoVCAESEQoDEgFuCgIIAwoCCAEKAggBQgQKABAR
  base64 -d >a.npy <<<k05VTVBZAQB2AHsnZGVzY3InOiAnPGY0JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsKSwgfSAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAIA/AAAAQA==
  cp a.npy b.npy
  cp photo.jpg cat.jpg
  cp "$source"/tests/golden/torch/checkpoint.pt .
  cp checkpoint.pt resnet18.pth
  digits train 60
  digits t10k 20
  for ((i = 0; i < 400; ++i)); do printf 'ROMEO: line %d of a play\n' "$i"; done >data/text/tinyshakespeare.txt
  {
    printf 'Month,Passengers\n'
    for ((i = 0; i < 144; ++i)); do printf '%d-%02d,%d\n' $((1949 + i / 12)) $((i % 12 + 1)) $((100 + i + i % 12 * 5)); done
  } >data/timeseries/airline-passengers.csv
  cp data/timeseries/airline-passengers.csv .
  cp "$source"/examples/data/flowers.csv data/
  for ((i = 0; i < 200; ++i)); do
    printf 'the third of march nineteen eighty %d .. and may: jump quickly over boxes with a vizier\t1984-03-%02d\n' "$i" \
      $((i % 28 + 1))
  done >data/dates.tsv
}

# What makes it short, at the end, where it counts; and what it may exit with.
run() {
  local command=$1 code=0 wanted=0
  case $command in
    *'--device cuda'*) wanted='[05]' ;;  # 5 where there is no GPU
    *'--min-psnr'*) wanted='[01]' ;;     # 1 if it is missed
    *'--as resnet18'*) wanted=4 ;;       # a smaller network lies under that name here
    *'export resnet18'* | *'explain resnet18'*) wanted=3 ;;     # so it has made no file
    *'veldt watch '*) command="timeout --preserve-status -s INT 1 $command" wanted=130 ;;
    *'-o cub.svg'* | *.glsl*) wanted='[02]' ;;  # 2 of greys, and of many numbers, which these models have
    *'fit '*--explain* | *'fit '*--dry-run*) ;;
    *'config show fit'*) ;;
    *'veldt fit '*--time*) command=${command/--time 60s/--time 1s} command=${command/--time 15/--time 1} ;;
    *'veldt fit '*) command+=' --steps 3' ;;
    *'veldt pack '*) command+=' --steps 3' ;;
    *'veldt sweep '*)
      command=${command/--random 20/--random 2} command=${command/--seeds 3/--seeds 1}
      command+=' --data data --set train.epochs=8 --set train.evaluate_every=6'
      [[ $command == *'--over data.batch'* ]] || command+=' --set data.batch=20'
      ;;
    *'--find-rate'*) command+=' --data data' ;;
    *'veldt train '*mnist_student*) command+=' --data data --set train.epochs=12' ;;  # it sees a tenth of the digits
    *'veldt train '*mnist*) command+=' --data data --set train.epochs=1 --set data.batch=10' ;;
    *'veldt train '*unet* | *'veldt train '*resnet*) command+=' --data data --set train.steps=4 --set values.width=4' ;;
    *'veldt train '*dates*) command+=' --data data --set train.steps=12 --set optimizer.warmup=2 --set values.size=16' ;;
    *'veldt train '*) command+=' --data data --set train.steps=12' ;;
    *'veldt data show '* | *'veldt eval '* | *'veldt quantize '*) command+=' --data data' ;;
  esac
  printf '%s\n' "$command" >>ran
  HOME=$PWD/home PATH=$PWD/build/release/bin:$PATH timeout 120 \
    bash -c "set -e; m=siren; fpath=(home); $command" >out 2>err </dev/null || code=$?
  [[ $code == $wanted ]] && return
  printf 'FAIL: %s exits with %d:\n' "$command" "$code"
  head -5 err
  failures=$((failures + 1))
}

failures=0
cd "$root"
inputs
# What an earlier command of the user has made.
for fitted in photo.png cub.png small.png bach.wav; do run "veldt fit $fitted -o ${fitted%.*}.safetensors"; done
run 'veldt fit cub.png -o logo.safetensors --checkpoint runs/cub'
run 'veldt fit cub.png -o cat.safetensors'
run 'veldt fit cub.png -o lion.safetensors --init cat.safetensors'
run 'veldt pack photo.png -o photo.vp --family photograph'
run 'veldt train recipes/mnist.toml'
run 'veldt quantize runs/mnist --data data -o mnist_int8.safetensors'
run 'veldt train recipes/airline.toml'
run 'veldt train recipes/char_lstm.toml'
run 'veldt train recipes/unet.toml'
run 'veldt train recipes/flowers.toml'
run 'veldt train recipes/dates.toml'
run 'veldt sweep recipes/mnist.toml --over optimizer.lr=1e-3,4e-3,1e-2 --seeds 3'

presets=$(sed -n 's/^ *"name": "\(.*\)",$/\1/p' "$source/CMakePresets.json")
verbs=$("$source/dev" help | sed -n 's/^  \([a-z]*\)  .*/\1/p')
for page in "$source"/README.md "$source"/CONTRIBUTING.md "$source"/docs/*.md "$source"/recipes/README.md; do
  while IFS= read -r command; do
    case $command in
      ./dev*)
        read -r _ verb _ <<<"$command"
        grep -qx "$verb" <<<"$verbs" || { printf 'FAIL: %s: there is no ./dev %s\n' "$page" "$verb" && failures=$((failures + 1)); }
        ;;
      cmake*--preset*)
        preset=${command#*--preset } && preset=${preset%% *}
        grep -qx "$preset" <<<"$presets" || { printf 'FAIL: %s: there is no preset %s\n' "$page" "$preset" && failures=$((failures + 1)); }
        ;;
      cmake*) ;;
      *NAME*) ;;  # a name to be filled in
      *) run "$command" ;;
    esac
  done < <(commands_of "$page")
done
(($(wc -l <ran) > 60)) || { printf 'FAIL: only %d commands were found\n' "$(wc -l <ran)" && exit 1; }
((failures == 0)) || { printf '%d failed\n' "$failures" && exit 1; }
