# franz-go's integration tests over connections that die young.

chaos=1
. "$here/conformance/kgo.sh"
chaos=
