package service

import "time"

// Look takes n readings that end now.
func (p *Page) Look(n int) {
	for i := range n {
		p.look(time.Now().Add(time.Duration(i-n) * every))
	}
}
