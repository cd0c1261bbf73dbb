// Package house holds the tests of the house as a whole: which package may
// import which, that the tree speaks of itself alone, and that the commands
// in the pages run. It has no code of its own.
package house
