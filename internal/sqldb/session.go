package sqldb

import "context"

// sessionKey is the key of a *session in a ctx.
type sessionKey struct{}

// session is the connection of one Do, or of those under the ctx of a Session. It has one goroutine
// at a time.
type session struct {
	db   *DB
	conn *Conn // nil: none yet, or the last Do has failed
}

// Session returns a ctx for several Dos, one after another, that are one attempt of something. They
// share a connection, which saves the statements that begin and end its use. A Do commits what it
// has changed or locked as always. Its reads stay in one transaction with those before where the
// application's sessions have no autocommit, so they may be as old as the first of them. A Do that
// fails ends the use of the connection, and the next one begins another. The caller calls end after
// the last of them. It must not wait for anything else meanwhile.
func (d *DB) Session(ctx context.Context) (with context.Context, end func()) {
	s := &session{db: d}
	return context.WithValue(ctx, sessionKey{}, s), func() { s.close(ctx) }
}

// do calls f on the connection. With all set it commits whatever f has done.
func (s *session) do(ctx context.Context, f func(*Conn) error, all bool) error {
	if s.conn == nil {
		conn, err := s.db.begin(ctx)
		if err != nil {
			return err
		}
		s.conn = &Conn{Dialect: s.db.Dialect, conn: conn, hosts: s.db.hosts, proven: s.db.proven}
	}
	c, done := s.conn, false
	defer func() { // also after a panic of f
		if !done {
			s.drop(ctx)
		}
	}()
	err := s.db.admit(ctx, c)
	if err == nil {
		err = f(c)
	}
	if err == nil && (all || c.changed) {
		err = c.Commit(ctx)
	}
	done = err == nil
	if err != nil && c.ReadOnly(err) {
		c.Discard()
	}
	return err
}

// drop gives a connection back whose transaction, if one is open, does not count.
func (s *session) drop(ctx context.Context) {
	if s.conn.end != "" {
		s.db.rollback(ctx, s.conn.conn)
	}
	s.conn.conn.Close()
	s.conn = nil
}

// close gives the connection back.
func (s *session) close(ctx context.Context) {
	if s.conn == nil {
		return
	}
	if s.conn.open && s.conn.end != "" {
		s.drop(ctx) // nothing but reads
		return
	}
	s.conn.conn.Close()
	s.conn = nil
}
