// Programs that a cluster may have or not, in one binary for the test cluster: its resolver, the enforcement of network
// policies, and the proxy of a mesh. Called by a link's name, or with the name of one of them as its first word.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// programs holds what each name runs.
var programs = map[string]func() error{
	"coredns":           runResolver,
	"policy-controller": runPolicyController,
	"mesh-proxy":        runMeshProxy,
}

func main() {
	run, known := programs[filepath.Base(os.Args[0])]
	if !known && len(os.Args) > 1 {
		run, known = programs[os.Args[1]]
		os.Args = os.Args[1:]
	}
	if !known {
		fmt.Fprintln(os.Stderr, "usage: cluster-addons coredns|policy-controller|mesh-proxy [ARGUMENT...]")
		os.Exit(2)
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
