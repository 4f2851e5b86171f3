//go:build tools

// Package tools names the program that is built here, so that `go mod tidy` keeps what it needs.
package tools

import _ "github.com/weaveworks/weave/prog/weaver"
