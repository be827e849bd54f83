package service

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// The bounds on what is remembered of fetches of ranges that failed.
const (
	troubleFor  = time.Minute // how long a failure counts if the key is not asked for again
	maxTroubles = 100         // the most keys; strangers can make keys up
)

// troubles remembers the keys for which /api/segment/range failed. Such a fetch goes straight to
// the source, so the tags of the generator do not show its failures. The zero value is ready to
// use. Its methods are safe for concurrent use.
//
// A failure ends with the next success, or after troubleFor. A load balancer that sends requests
// elsewhere because of it tries this server again then.
type troubles struct {
	mu    sync.Mutex // guards the fields below
	byKey map[string]trouble
	last  trouble // of the last fetch, whatever its key; no error: it succeeded
}

type trouble struct {
	err error
	at  time.Time
}

// record records how a fetch for key ended at now.
func (s *troubles) record(key string, err error, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = trouble{err, now}
	if err == nil {
		delete(s.byKey, key)
		return
	}
	s.expire(now)
	if s.byKey == nil {
		s.byKey = make(map[string]trouble)
	}
	if _, ok := s.byKey[key]; ok || len(s.byKey) < maxTroubles {
		s.byKey[key] = s.last
	}
}

// look returns the keys whose fetches fail at now, sorted, and the error of the last fetch.
func (s *troubles) look(now time.Time) (keys []string, last error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.expire(now); now.Sub(s.last.at) < troubleFor {
		last = s.last.err
	}
	return slices.Sorted(maps.Keys(s.byKey)), last
}

// expire forgets the failures that are over at now. The caller holds mu.
func (s *troubles) expire(now time.Time) {
	maps.DeleteFunc(s.byKey, func(_ string, t trouble) bool { return now.Sub(t.at) >= troubleFor })
}
