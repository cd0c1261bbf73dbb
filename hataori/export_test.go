package hataori

// For tests that see the package from outside.
var Available = available
