// Package segments is the soak of segments: processes that take ids from every source of segments
// at once. For a given time it injects faults into the processes and the servers.
//
//	go run ./test/soak segments -duration 10m
//
// It starts everything it needs, on loopback and in temporary folders: three MariaDB servers and a
// PostgreSQL. Processes are killed, paused, and restarted so that they give ranges back. Servers
// crash, shut down and hang. Halfway a third ticket server joins the other two, while the processes
// run; processes that start later have the new list. Servers that restart come back with their old
// settings, and the expansion is called again.
//
// Its exit status is 0 if no id of a source was repeated, the ids of a tag increased in every
// process, every source came back after every fault, and no process ended by itself, else 1. The
// faults and their times come from -seed.
package segments
