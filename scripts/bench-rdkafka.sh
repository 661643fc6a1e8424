#!/usr/bin/env bash
# Builds rdkafka_performance, librdkafka's benchmark program, from Debian's source package, for the bench harness.
#
#   scripts/bench-rdkafka.sh
#
# The program is linked with the library of the Debian package librdkafka1, which must be installed (kcat brings it). The
# source comes with apt-get from where its packages come from; nothing is installed, and apt's own sources stay as they are.
# Needs apt-get, gcc and tar. The result is ~/.cache/samsa-bench/rdkafka_performance, where bench/ looks for it.
set -eu
cache=${XDG_CACHE_HOME:-$HOME/.cache}/samsa-bench
mkdir -p "$cache"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
library=$(ldconfig -p | awk '/librdkafka\.so\.1/ { print $NF; exit }')
[ -n "$library" ] || { echo "librdkafka.so.1 is missing: apt-get install librdkafka1" >&2; exit 1; }
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
site=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -v security | head -n 1)
echo "deb-src $site $release main" >sources.list
mkdir -p lists/partial
options=(-o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$work/lists" -o APT::Sandbox::User=root)
apt-get "${options[@]}" update -q >apt.log 2>&1 || { cat apt.log >&2; exit 1; }
apt-get "${options[@]}" source -q --download-only librdkafka >>apt.log 2>&1 || { cat apt.log >&2; exit 1; }
mkdir source
tar xzf librdkafka_*.orig.tar.gz -C source --strip-components 1
# The program includes a header that configure writes; what it says there only concerns builds of the library.
printf '#define WITH_SNAPPY 1\n#define ENABLE_DEVEL 0\n' >source/config.h
gcc -O2 -Isource -Isource/src -o "$cache/rdkafka_performance" source/examples/rdkafka_performance.c "$library" -lpthread -lm
echo "$cache/rdkafka_performance"
