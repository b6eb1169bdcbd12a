// Attributes that say nothing are refused where they stand.
// RUN: para-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{unknown reduction 'product'}}
module attributes {test.a = #para.sharding<[[]], partial = ["data"] product>} {
}

// -----

// expected-error @+1 {{a sharding is a list of axis names and a positive unit for each dimension, and a list of partial axes}}
module attributes {test.a = #para.sharding<[["data"], []], units = [0, 1]>} {
}

// -----

// expected-error @+1 {{a sharding is a list of axis names and a positive unit for each dimension, and a list of partial axes}}
module attributes {test.a = #para.sharding<[["data"]], blocks = [1, 1]>} {
}

// -----

// expected-error @+1 {{a sharding is a list of axis names and a positive unit for each dimension, and a list of partial axes}}
module attributes {test.a = #para.sharding<[[3]]>} {
}
