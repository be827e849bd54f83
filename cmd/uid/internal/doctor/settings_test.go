package doctor

import (
	"regexp"
	"testing"
)

// TestRecomputes: the pattern matches the versions whose InnoDB forgets the next key. It means the
// same to the databases and to Go.
func TestRecomputes(t *testing.T) {
	t.Parallel()
	old := regexp.MustCompile(recomputes)
	for version, want := range map[string]bool{
		"5.7.44": true, "5.5.68-MariaDB": true, "10.0.38-MariaDB": true, "10.1.48-MariaDB-1~xenial": true,
		"10.2.3-MariaDB": true, "10.2.4-MariaDB": false, "10.2.30-MariaDB": false, "10.3.0-MariaDB": false,
		"10.11.6-MariaDB": false, "11.0.2-MariaDB": false, "8.0.36": false, "8.4.0": false, "9.1.0": false,
	} {
		if got := old.MatchString(version); got != want {
			t.Errorf("%s recomputes keys: %v, want %v", version, got, want)
		}
	}
}

// TestTiDBKeys: keys that are skipped are a warning, keys that repeat are a failure.
func TestTiDBKeys(t *testing.T) {
	t.Parallel()
	const one = "CREATE TABLE `WORKER_NODE` (...) /*T![auto_id_cache] AUTO_ID_CACHE=1 */"
	for _, tt := range []struct {
		version, create string
		want            Verdict
	}{
		{"8.0.11-TiDB-v7.5.0", "CREATE TABLE `WORKER_NODE` (...)", Warn},
		{"8.0.11-TiDB-v8.5.0", "CREATE TABLE `WORKER_NODE` (...) /*T![auto_id_cache] AUTO_ID_CACHE=100 */", Warn},
		{"5.7.25-TiDB-v6.4.0", one, OK}, {"5.7.25-TiDB-v6.5.0", one, Fail}, {"8.0.11-TiDB-v7.5.0", one, Fail},
		{"8.0.11-TiDB-v8.1.2", one, Fail}, {"8.0.11-TiDB-v8.2.0", one, OK}, {"8.0.11-TiDB-v8.5.3", one, OK},
		{"8.0.11-TiDB-None", one, Fail},
	} {
		got := OK
		for _, f := range tidbKeys(tt.version, tt.create) {
			got = f.Verdict
		}
		if got != tt.want {
			t.Errorf("%s, %s: %s, want %s", tt.version, tt.create, got, tt.want)
		}
	}
}
