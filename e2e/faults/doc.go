// Package faults tests what generators do when the database of their worker ids fails, on
// a real MariaDB: the network between, the server, its tables, its disk, its backups. After each
// fault no id has come twice, callers got the errors that the documents promise, and the generators
// went on by themselves.
package faults
