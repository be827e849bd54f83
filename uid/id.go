package uid

// ID is a unique 63-bit id. Ids of one layout order by time first.
type ID int64
