package uidring

// MaxConns returns the bound of a generator's pool.
func MaxConns(g *Generator) int { return g.pool.Stats().MaxOpenConnections }
