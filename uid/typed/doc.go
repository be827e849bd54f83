// Package typed gives ids a type that the compiler, a person and a program can see. An order's id
// is no user's, and its text says what it is: ord_01kmfjypewdwg.
//
//	type order struct{}
//
//	func (order) Prefix() string { return "ord" }
//
//	type OrderID = typed.ID[order]
//
//	id := OrderID(gen.Next(ctx))                        // with the error checked
//	id, err := typed.Parse[order]("ord_01kmfjypewdwg")  // usr_01kmfjypewdwg is refused
//
// The text is for JSON, URLs, flags and logs: the prefix, "_" and the 13 characters of uid.ID's
// Base32 in lower case. Texts of one prefix sort as the numbers do. In a database the id is the
// BIGINT that it always was, so that a column can become typed, or stop being so, without a
// migration.
//
// A Shown is the same for ids that must not tell when they were made and how many there are: its
// text is the code that package opaque gives the id.
//
// The zero ID has a text like any other, ord_0000000000000, and means that no id was set. NULL is
// none: scan a column that may be NULL into sql.Null[OrderID] or *OrderID.
//
// # Not a TypeID
//
// The texts look like those of TypeID (https://github.com/jetify-com/typeid) and are not: a TypeID
// has 26 characters after the prefix, which are the 128 bits of a UUIDv7. These have 13 of 63 bits,
// so that they fit a BIGINT. No parser of the one reads the other.
package typed
