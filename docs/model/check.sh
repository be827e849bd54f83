#!/bin/sh
# Checks every model of this folder with spin, and every variant of it, as many at a time as there
# are processors. A model says in lines of its own what is expected of it:
#
#   // expect: ok                               the model as it is must hold
#   // variants: -DBROKEN=1 expect: error       with these definitions spin must refute it
#   // variants: -DSIZE=1 -DDROP=1 expect: ok   with these it must hold
#   // ltl: name                                check this formula, with weak fairness, in each run
#   // depth: 100000                            the search depth (default 100000)
#
# "ok" means that spin searched all states and found no error. A search that was cut short counts as
# a failure. "error" means that spin found a violated property, and nothing else: a model that does
# not compile is a failure in either case.
#
# Usage: sh check.sh [MODEL.pml...]. The exit status is 0 if every check had the expected result.
# The script builds in a temporary folder. It needs spin and a C compiler.

set -u
here=$(cd "$(dirname "$0")" && pwd)

# One check is a command of its own: check.sh --one MODEL EXPECTATION [DEFINITION...]
if [ "${1-}" = --one ]; then
	model=$2 expect=$3
	shift 3
	name="$(basename "$model")${*:+ $*}"
	dir=$(mktemp -d) || exit 1
	trap 'rm -rf "$dir"' EXIT INT TERM
	cp "$model" "$dir/model.pml" && cd "$dir" || exit 1

	fail() {
		echo "FAIL  $name: $1"
		[ -s "$2" ] && sed 's/^/      /' "$2" | tail -n 15
		exit 1
	}
	ltl=$(sed -n 's|^// ltl: *||p' "$model")
	depth=$(sed -n 's|^// depth: *||p' "$model")
	spin "$@" -a model.pml >spin.txt 2>&1 || fail "spin does not accept it" spin.txt
	if [ -n "$ltl" ]; then mode='-a -f'; flags=-DNFAIR=3; else mode='' flags=-DSAFETY; fi
	${CC:-cc} -w -DMEMLIM=4096 -DVECTORSZ=4096 $flags -o pan pan.c >cc.txt 2>&1 ||
		fail "the C compiler does not accept it" cc.txt
	begin=$(date +%s)
	for formula in ${ltl:--}; do
		case $formula in
		-) ./pan -m"${depth:-100000}" >pan.txt 2>&1 ;;
		*) ./pan -m"${depth:-100000}" $mode -N "$formula" >pan.txt 2>&1 ;;
		esac || fail "the search broke off" pan.txt
		errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' pan.txt)
		states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' pan.txt)
		cut='max search depth too small\|out of memory\|reached memory limit\|Search not completed'
		if grep -q "$cut" pan.txt && [ "${errors:-0}" = 0 ]; then
			fail "the search is not complete" pan.txt
		fi
		[ "${errors:-0}" = 0 ] || break
	done
	why=$(sed -n 's/^pan:[0-9]*: //p' pan.txt | head -n 1)
	took=$(($(date +%s) - begin))
	case $expect:${errors:-none} in
	ok:0) echo "ok    $name: holds in ${states:-?} states (${took} s)" ;;
	ok:*) fail "is refuted: ${why:-no reason given}" pan.txt ;;
	error:0) fail "holds, although it is broken: the check cannot fail" pan.txt ;;
	error:none) fail "no verdict" pan.txt ;;
	error:*) echo "ok    $name: refuted, as it must be: $why" ;;
	*) fail "unknown expectation '$expect'" /dev/null ;;
	esac
	exit 0
fi

for tool in spin "${CC:-cc}"; do
	command -v "$tool" >/dev/null || { echo "check.sh: $tool is not installed" >&2; exit 1; }
done
[ $# -gt 0 ] || set -- "$here"/*.pml
list=$(mktemp) || exit 1
trap 'rm -f "$list"' EXIT INT TERM
for model; do
	[ -f "$model" ] || { echo "check.sh: $model: no such model" >&2; exit 1; }
	model=$(cd "$(dirname "$model")" && pwd)/$(basename "$model")
	grep -q '^// expect:' "$model" || { echo "check.sh: $model has no line '// expect:'" >&2; exit 1; }
	sed -n -e "s|^// expect: *\([a-z]*\).*|\"$model\" \1|p" \
		-e "s|^// variants: *\(.*[^ ]\) *expect: *\([a-z]*\).*|\"$model\" \2 \1|p" "$model" >>"$list"
done
# One line of the list is one check. xargs ends with a status other than 0 if one of them does.
xargs -P "$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)" -L 1 sh "$0" --one <"$list"
rc=$?
echo "$(wc -l <"$list" | tr -d ' ') checks of $# models"
[ "$rc" -eq 0 ] || { echo "check.sh: some checks failed" >&2; exit 1; }
