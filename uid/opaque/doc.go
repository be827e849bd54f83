// Package opaque makes opaque ids, for URLs and invoices, and turns them back. An id of package uid
// tells when and by which worker it was made, and rising ids tell how many there are and which one
// comes next. A database's key wants that, and an address, an invoice or a customer must not show
// it. So the table keeps the id, and everybody else gets its code:
//
//	orders, err := opaque.New("order", opaque.Key{Version: 1, Secret: secret})
//	...
//	code := orders.Hide(id)          // 9Q9SCXNADS1TV
//	id, err := orders.Reveal(code)
//
// A code is a keyed permutation of the id's 63 bits, FF1 of NIST SP 800-38G on AES. Two ids of a
// kind never have the same code, nothing is stored, and without the key codes look like random
// numbers.
//
// # What it does not do
//
// It is no access control. Every well-formed text reveals some id, so look the id up and check that
// the caller may see the row. A code is not signed and does not expire. The same id of the same
// kind always has the same code. Codes of a wrong key reveal wrong ids without an error. The key
// opens every code that was ever shown, and without the key none can be opened: keep it as long as
// codes are in use.
package opaque
