package service

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/uidring/uidring/uid"
)

// Health returns a handler for readiness probes: 503 when a generator hands out no ids, 200
// otherwise, with the worst status, its reason and until when ids go on as JSON. A degraded
// generator is ready, as it works.
//
// Do not use it for liveness: a restart brings no id back, and gives up the rest of a window.
func Health(generators ...uid.Generator) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		worst := uid.Health{Status: uid.Up}
		for _, g := range generators {
			h := g.Stats().Health()
			if was := string(worst.Status); worse(was, string(h.Status)) != was {
				worst = h
			}
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		if worst.Status == uid.Down {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		// Fails only if the client is gone.
		_ = json.NewEncoder(w).Encode(struct {
			Status uid.Status `json:"status"`
			Reason string     `json:"reason,omitempty"`
			Until  time.Time  `json:"until,omitzero"`
		}{worst.Status, worst.Reason, worst.Until})
	})
}
