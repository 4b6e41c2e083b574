#!/usr/bin/env bash
# What Flux's variable substitution makes of the dollar signs of a training job.
#
# Expected: as in bash. `${RANK-0}` has a default as `${RANK:-0}` does, `${NAME:?message}` fails where NAME is not set,
#   `${DEBUG:+--verbose}` is `--verbose` where DEBUG is set, and `$$(POD_IP)`, by which Kubernetes writes a literal `$(POD_IP)`,
#   is no business of Flux.
# Happens: `${RANK-0}` is a parse error. `${NAME:?message}` becomes the message, without an error. `${DEBUG:+--verbose}`
#   becomes the value of DEBUG. `$$` becomes `$` wherever it stands, so that Kubernetes' escape is gone and the kubelet expands
#   the variable after all.
# Versions: github.com/fluxcd/pkg/envsubst 1.8.0
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > main.go <<'GO'
package main

import (
	"fmt"

	"github.com/fluxcd/pkg/envsubst"
)

func main() {
	known := map[string]string{"DEBUG": "1"}
	for _, text := range []string{"$DEBUG", "${RANK:-0}", "${RANK-0}", "${NAME:?message}", "${DEBUG:+--verbose}", "$$(POD_IP)", "$(POD_IP)"} {
		result, err := envsubst.Eval(text, func(name string) (string, bool) {
			value, found := known[name]
			return value, found
		})
		if err != nil {
			result = fmt.Sprint("error: ", err)
		}
		fmt.Println(text, "->", result)
	}
}
GO
go mod init finding
go get github.com/fluxcd/pkg/envsubst@v1.8.0
go run . | tee seen
diff seen - <<'SEEN'
$DEBUG -> $DEBUG
${RANK:-0} -> 0
${RANK-0} -> error: missing closing brace
${NAME:?message} -> message
${DEBUG:+--verbose} -> 1
$$(POD_IP) -> $(POD_IP)
$(POD_IP) -> $(POD_IP)
SEEN
