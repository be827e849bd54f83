// Package uidgorm fills the keys of GORM's models with ids.
//
//	err := db.Use(uidgorm.New(gen, nil))
//
// From then on every INSERT that GORM composes has its ids: Create, CreateInBatches, Save,
// FirstOrCreate and associations, of structs, slices and maps. A zero primary key of type uid.ID or
// typed.ID needs no tag, nor does one of a type made of it: *uid.ID, sql.Null[uid.ID], a struct
// that embeds it. A tag says the rest:
//
//	type Order struct {
//		ID     uid.ID `uid:"gene=UserID"`   // ends in the gene of UserID, which routes both
//		Number uid.ID `uid:"orders"`        // by the generator of that name in Options.Named
//		Code   string `uid:"base32"`        // the 13 characters of uid.Base32
//		Spread uid.ID `uid:"scatter"`       // ID.Scatter: for databases that shard by range
//		UserID uid.ID                       // not a primary key, no tag: left alone
//		Legacy uid.ID `gorm:"primaryKey" uid:"-"` // left alone
//	}
//
// Parts of a tag are separated by commas: `uid:"orders,gene=UserID,base32"`. `uid:""` is an id by
// the table's generator. A field may be an integer of 64 bits, a pointer to one, or what scans one,
// such as sql.Null[uid.ID]; with base32 it is a text. A valid zero is filled as NULL is. A type
// that is defined as uid.ID is an integer to Go, and needs a tag.
//
// An integer key without a tag stays GORM's own, which has the database count it.
//
// # What is filled, and when
//
// One Fill per generator, or one FillGene per field and gene, gets the ids of all rows of a batch,
// with the statement's ctx, before BEGIN and before the BeforeCreate hooks. SkipHooks does not turn
// it off. An id is never overwritten, and a column that Omit leaves out gets none. When an id
// cannot be had, the statement fails and its INSERT is not sent. A DryRun takes no ids. What
// has no room for an id is an error: a nil map, a nil pointer, a pointer to a pointer, and a struct
// that is passed by value.
//
// A foreign key of a belongs-to association is not filled by its type: it is the key of another
// table. The same goes for the keys of a join table after SetupJoinTable. A foreign key without
// such an association looks like a key of the model's own. Where it is the only primary key it is
// filled, unless it has the tag "-". Where it is one of several that may be the model's own, the
// model is refused until a tag tells: `uid:""` or `uid:"-"`. The field that is named ID needs none.
//
// A gene may be set by a hook, or by a belongs-to association that the row holds and that is
// created in the same call. The id is taken after those have run, and its errors come after them
// too. All other errors come before the statement's own first SQL. The INSERT of a has-one or
// has-many association is a statement of its own, inside the transaction of its parent's.
//
// # Numbers that people read
//
// A text field with the tag number:"order,key=ShopID" gets a number of package number, by the name
// under which Options.Numbers has it, in the same INSERT:
//
//	type Order struct {
//		ID     uid.ID
//		ShopID string
//		Number string `gorm:"size:24;uniqueIndex" number:"order,key=ShopID"`
//	}
//
// There is a key=FIELD for each key of the format, in its order, a text or an integer. One Fill for
// each key gets the numbers of a batch, before BEGIN, or after the hooks and associations for rows
// whose keys those set: inside the transaction, so that a pool of one connection is too small. A
// key that is not set then is an error, and zero is not set. A number is
// never overwritten, and one whose INSERT fails is not used again. Where ON CONFLICT keeps the row
// that exists, the struct may hold a number that is not stored.
//
// # Generators by table
//
// Options.Tables names generators by table. The statement's table, such as orders_3 after
// db.Table("orders_3"), comes before the model's.
//
// # Errors in tags, and keys that are left to chance
//
// The first INSERT of a model says what is wrong with its tags, among them one on an embedded
// struct such as gorm.Model, and one on a field that is read-only. Plugin.Check says so at start,
// and refuses keys that the database would make: an integer without a tag, gorm.Model's above all,
// and on SQLite what is not its own INTEGER key, may be left out and has no NOT NULL, which becomes
// NULL. The tag uid:"-" leaves a key, also all of an embedded struct:
//
//	plugin := uidgorm.New(gen, nil)
//	err := errors.Join(db.Use(plugin), plugin.Check(db, &Order{}, &Line{}))
//
// # On conflict
//
// A row that exists already keeps its id. After an INSERT with ON CONFLICT DO UPDATE the struct has
// the ids that are stored: the plug-in has RETURNING read them back, where the database has it
// (PostgreSQL, SQLite, MariaDB). MySQL has none, DO NOTHING returns nothing, and neither does an
// update with a condition: there the struct may hold an id that is not stored. Associations that
// would refer to it are refused: one SELECT finds out whether the ids are stored, where the number
// of rows does not tell. That goes for a new row of a belongs-to association as well, which GORM
// stores with DO NOTHING: load a row that may exist before it is referred to. A nested INSERT that
// fails ends the transaction. UpdateAll, which Save uses for a slice, replaces the columns that are
// no primary key, those that are filled too: load such a row before it is saved, or list the
// columns in DoUpdates.
//
// # What is not filled
//
// SQL that the program wrote itself, and maps without a model: db.Table("orders").Create(map).
package uidgorm
