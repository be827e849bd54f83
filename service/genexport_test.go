package service

import "time"

// Look takes a sample now.
func (p *Page) Look() { p.look(time.Now()) }
