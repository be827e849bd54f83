// Command scale measures how a fleet of processes starts: how long each process takes from the
// moment it asks for a worker id to its first id, how many statements that costs, and how many
// worker ids are used, for each assigner, on an empty database, one process after another, and
// after a power cut.
//
//	go run ./test/scale -out FILE
//
// The processes and the server are real. -show prints the tables of README.md from a file. For
// fleets that are too large for one machine it simulates the start, with the measured cost of a
// statement.
package main
