// Soak runs generators in many processes on one MariaDB, does to the processes, the network and the server whatever can happen to
// them, for as long as it is told, and checks that every id that any process ever handed out came once.
//
//	go run ./e2e/soak -duration 10m
//
// It starts everything it needs, on loopback and in temporary folders, and ends with exit status 0 if no id came twice, every
// generator came back after every fault without a restart, and no process ended by itself; else with 1. The faults and their times
// come from -seed, which it prints; what the scheduler and the network make of them is their own.
//
// Processes write their ids to pipes as they get them. A ledger keeps a bit for each: see package ledger for its memory.
package main
