// Package faults tests what generators do when the database of their worker ids fails, on a real
// MariaDB: its network, the server, its tables, its disk, its backups. After each fault no id was
// handed out twice, callers got only documented errors, and the generators went on by themselves.
package faults
