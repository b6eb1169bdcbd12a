// Without the program of a rank there is nothing to split.
// RUN: para-opt %s --verify-diagnostics --para-split-stages

// expected-error @+1 {{has no @spmd: the partition stage comes first}}
module attributes {para.mesh = #para.mesh<["pipeline"], [2]>} {
}
