package sqldb

// DialectOf returns the dialect of a name.
func DialectOf(name string) Dialect { return dialects[name] }
