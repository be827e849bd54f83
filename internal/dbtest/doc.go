// Package dbtest runs throwaway servers for tests: a MariaDB, PostgreSQL, ZooKeeper or etcd process
// of the test's own, on a free loopback port and a temporary data directory, that the test may
// kill, pause, stop and start again. Proxy is the bad network that goes between such a server and
// the code under test.
//
// It uses the standard library and the servers' own programs, nothing else, so that every module's
// tests can import it.
//
// A server whose programs are not installed skips the test with one line. With
// UIDRING_REQUIRE_SERVERS=1 in the environment it fails the test instead, which is how continuous
// integration makes sure that no suite is skipped unseen.
//
// On Linux the kernel kills a server when the test binary dies, however it dies. Elsewhere a test
// binary that is killed outright leaves its servers running.
package dbtest
