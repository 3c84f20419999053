#!/usr/bin/env bash
# Shows, without Pawl, that the example is what its README says: the baseline is right, the two
# gains are right, and each of the other candidates fails in its own way. How fast each is gets
# printed, as CPU time of alternating runs, best of seven, and is judged by whoever reads it.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
tree=$work/tree
setup=$work/setup
run=$work/run
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
ulimit -c 0

# The background process of candidate 06 has a session of its own; it is found by its program.
end_strays() {
  local exe pid
  for exe in /proc/[0-9]*/exe; do
    pid=${exe#/proc/}
    case $(readlink "$exe" 2>/dev/null || true) in "$work"/*) kill -KILL "${pid%/exe}" || true ;; esac
  done
}
trap 'end_strays; rm -rf "$work"' EXIT

fail() { echo "FAIL: $*" >&2; exit 1; }
ok() { echo "ok: $*"; }
commit() { git -C "$tree" -c user.name=t -c user.email=t@example.org commit -q -a -m "$1"; }
patch_of() { echo "$here"/candidates/"$1"-*.patch; }
build() { make -s -C "$tree" 2>&1; }
prepare() { rm -rf "$run"; mkdir -p "$run"; "$setup/make_inputs" "$1" "$run/inputs"; }
perf() { timeout -k 1 "${2:-20}" "$1" "$run/inputs" "$run/outputs"; }
check() { "$setup/check" "$run" || fail "the check itself failed"; }
passes() { check; ! grep -q '"passed": false' "$run/quality.json"; }
failed_cases() { grep -c '"passed": false' "$run/quality.json" || true; }

# cpu_ratio A B: CPU time of A over that of B.
cpu_ratio() {
  local TIMEFORMAT='%U %S' round program
  for round in 1 2 3 4 5 6 7; do
    for program in "$1" "$2"; do
      echo "$program $({ time perf "$program" >/dev/null; } 2>&1)"
    done
  done | awk -v a="$1" '{ t = $2 + $3; k = $1 == a; if (!(k in m) || t < m[k]) m[k] = t }
                        END { printf "%.2f\n", m[1] / (m[0] + 1e-9) }'
}

# try N: puts candidate N on the incumbent and builds it.
try() {
  git -C "$tree" apply "$(patch_of "$1")" || fail "candidate $1 does not apply"
  build || fail "candidate $1 does not build"
  prepare "seed-$1"
}
drop() { git -C "$tree" checkout -q .; }
keep_gain() {
  local ratio
  try "$1"
  perf "$work/incumbent"
  mv "$run/outputs" "$run/before"
  perf "$tree/build/attention" && passes || fail "candidate $1 is wrong"
  diff -r "$run/before" "$run/outputs" || fail "candidate $1 is not exact"
  ratio=$(cpu_ratio "$work/incumbent" "$tree/build/attention")
  cp "$tree/build/attention" "$work/incumbent"
  commit "candidate $1"
  ok "candidate $1 is right and $ratio times as fast as the incumbent"
}

mkdir "$tree"
cp -r "$here"/. "$tree"/
rm -rf "$tree/build" "$tree/.autoresearch"
git -C "$tree" init -q
git -C "$tree" add -A
commit base
make -s -C "$tree" -f harness/Makefile OUT="$setup"
build
cp "$tree/build/attention" "$work/incumbent"

# Inputs: the same seed gives the same bytes; other seeds give other sizes, but the same work.
for seed in a b c d e f; do
  prepare "$seed"
  cp -r "$run/inputs" "$work/in-$seed"
done
prepare a
diff -r "$run/inputs" "$work/in-a" >/dev/null || fail "one seed gave two kinds of inputs"
[ "$(cat "$work"/in-?/cases.txt | sort -u | wc -l)" -gt 8 ] || fail "sizes do not follow the seed"
awk '{ w[FILENAME] += $2 * $3 * $4 * $5 * $6 }
     END { for (f in w) { if (!lo || w[f] < lo) lo = w[f]; if (w[f] > hi) hi = w[f] }
           exit !(hi / lo < 1.005) }' "$work"/in-?/cases.txt || fail "the work differs with the seed"
ok "inputs follow the seed, the amount of work does not"

for seed in 1 2 3 4 5; do
  prepare "$seed"
  perf "$work/incumbent" && passes || fail "the baseline is wrong for seed $seed"
done
ok "the baseline is right"

# Outputs that a hostile program could leave.
victim=$run/outputs/sd3_joint_long.bin
cp "$victim" "$work/good.bin"
refused() {
  if passes; then fail "the check accepts $1"; fi
  [ "$(failed_cases)" = 1 ] || fail "$1 fails more than its own case"
  grep -q -i -e 'nan' -e 'inf[^e]' "$run/quality.json" && fail "$1 gives figures that are not numbers"
  rm -rf "$victim"
}
rm "$victim"; refused "a missing output"
head -c 1000 "$work/good.bin" >"$victim"; refused "a short output"
cat "$work/good.bin" "$work/good.bin" >"$victim"; refused "a long output"
truncate -s 1T "$victim"; refused "a huge output"
mkfifo "$victim"; refused "a pipe"
mkdir "$victim"; refused "a folder"
ln -s "$work/good.bin" "$victim"; refused "a link"
cp "$work/good.bin" "$victim"; printf '\377\377\377\377' | dd of="$victim" conv=notrunc status=none
refused "a NaN"
cp "$work/good.bin" "$victim"; printf '\377\377\177\177' | dd of="$victim" conv=notrunc status=none
refused "a huge number"
cp "$work/good.bin" "$victim"; passes || fail "the check refuses the right output"
ok "the check refuses hostile outputs"

# Each candidate applies whatever became of the gains before it.
for kept in none 01 09 "01 09"; do
  for n in $kept; do [ "$n" = none ] || git -C "$tree" apply "$(patch_of "$n")"; done
  for file in "$here"/candidates/*.patch; do
    n=$(basename "$file" | cut -c1-2)
    case " $kept " in *" $n "*) continue ;; esac
    git -C "$tree" apply --check "$file" || fail "$file does not apply with $kept kept"
    sed -n 2p "$file" | grep -q -x -E 'Class: (exact|numerical|approximate)' || fail "$file: no class"
  done
  drop
done
ok "all candidates apply, whichever gains were kept"

keep_gain 01

try 02
perf "$tree/build/attention" && passes || fail "candidate 02 is wrong"
ratio=$(cpu_ratio "$work/incumbent" "$tree/build/attention")
ok "candidate 02 is right and $ratio times as fast as the incumbent"
drop

try 03
perf "$tree/build/attention"
if passes; then fail "the check accepts candidate 03"; fi
ratio=$(cpu_ratio "$work/incumbent" "$tree/build/attention")
ok "candidate 03 is $ratio times as fast and wrong in $(failed_cases) cases"
drop

try 04
perf "$tree/build/attention"
if passes; then fail "the check accepts candidate 04"; fi
ok "candidate 04 is wrong in $(failed_cases) cases"
drop

try 05
perf "$tree/build/attention"
if passes; then fail "the check accepts candidate 05"; fi
make -s -C "$tree" -f harness/Makefile OUT="$work/loosened"
"$work/loosened/check" "$run"
[ "$(failed_cases)" = 0 ] || fail "candidate 05 does not fool the check that it edited"
ok "candidate 05 passes its own check and fails the real one"
drop

try 06
perf "$tree/build/attention" 2 >"$work/log" 2>&1 || fail "candidate 06 should look like a success"
mv "$run" "$run-at-exit"  # what was there when the clock stopped; the forger works a second later
run=$run-at-exit
[ -s "$run/perf.json" ] && [ -s "$run/quality.json" ] || fail "candidate 06 forged nothing"
end_strays
if passes; then fail "the check accepts candidate 06"; fi
ok "candidate 06 forges both files and leaves no outputs in time"
run=$work/run
drop

try 07
status=0
perf "$tree/build/attention" 2 || status=$?
[ "$status" = 124 ] || fail "candidate 07 should hang, but ended with $status"
ok "candidate 07 hangs"
drop

try 08
status=0
perf "$tree/build/attention" >"$work/log" 2>&1 || status=$?
[ "$status" != 0 ] && [ "$status" != 124 ] || fail "candidate 08 should crash, but ended with $status"
grep -q "score buffer holds" "$work/log" || fail "candidate 08 crashed without its message"
ok "candidate 08 crashes"
drop

keep_gain 09
echo "all as described"
