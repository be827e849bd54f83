// Soak runs processes that take ids from every source of segments at once, and does to them and to
// the servers whatever can happen to them, for a given time.
//
//	go run ./e2e/segment/soak -duration 10m
//
// It starts everything it needs, on loopback and in temporary folders: three MariaDB servers and a
// PostgreSQL. Processes are killed, paused and restarted, of which the last gives ranges back;
// servers crash, shut down and hang. Halfway the two ticket servers are joined by a third, while
// all goes on; programs that begin later have the new list. Servers that restart come back with
// their old settings, and the expansion is called again.
//
// Its exit status is 0 if no id of a source came twice, the ids of a tag rose in every process,
// every source came back after every fault, and no process ended by itself; else 1. The faults and
// their times come from -seed.
package main
