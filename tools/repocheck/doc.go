// Package repocheck holds the tests that keep the repository's documents and modules true to the
// code: links resolve, the README's example is the one that is tested, both languages say the same,
// and the modules require what they may.
package repocheck
