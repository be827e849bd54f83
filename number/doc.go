// Package number makes the numbers that people read: order, invoice and ticket numbers with a
// prefix and a date, which begin anew each day, month or year, of a fixed width, per shop, and hard
// to guess if asked for.
//
//	gen, err := segment.New(ctx, sqlsource.LeafAlloc(db, nil), nil)
//	orders, err := number.New(ctx, gen, "order",
//		"{shop upper 2}-{20060102}-{n 6 day}-{check mod37,36}", &number.Options{Zone: shanghai})
//	text, err := orders.Next(ctx, "BJ") // BJ-20261122-004213-2
//
// # Formats
//
// A format is literal text and fields in braces. It is one line of a config file.
//
//	{20060102} {2006-01} {002}   parts of date and time, as Go's layouts have them: 2006, 06, 01,
//	                             02, 002 (the day of the year), 15, 04, 05, with - / . : _ between
//	{week} {quarter}             the ISO year and week together, 202647, and the quarter, 1 to 4
//	{shop upper 2}               a key of Next: its name, alphabet and length, which may be 1-8
//	{n 6 day}                    the counter: its width, and its period: day, week, month,
//	                             quarter, year or never
//	{n plain 8 month hidden}     with an alphabet, and encrypted; gapless is for NewGapless
//	{version}                    one digit: the version of the key of a hidden counter
//	{check luhn}                 the check character: luhn, damm, mod11,10 or mod37,36
//
// Alphabets are digits, upper, alnum, crockford, plain (digits and capital letters without 0, 1, I,
// L and O) and one's own in brackets, [0-9A-F].
//
// New accepts a format only if every text has exactly one reading. A key of variable length has a
// separator after it that its alphabet does not have, or ends the number. The period is in the
// text: a counter that begins anew each day needs the day, month and year. Key and period are whole
// in the text, and each has a counter of its own, so a number is unique by its tag
// (order@20261122@BJ), and no clock takes part. A clock only chooses the day.
//
// # What the database keeps
//
// A name keeps the format of its first use, and the zone, and refuses others. It keeps a floor: no
// period below it is begun any more, so that a process whose clock is behind cannot begin a day
// anew whose counter was deleted. Delete old counters with segment.Periods.Clear, or with `uid
// number delete`, which raise the floor first.
//
// # What numbers are not
//
// They have gaps: a process that ends leaves what is left of its ranges, and a hundredth of the
// width at most is fetched at a time. A Gapless has none, and costs a row's lock for each.
// They rise within a process only, and hidden ones do not. A text is matched exactly as it is
// written: make it upper case before Parse if people type it.
//
// # Files
//
// format.go reads a format and reading.go says why every text has one reading. calendar.go has the
// periods, check.go the check characters, ff1.go and hide.go the encryption. number.go is the path
// of a call, page.go what the calls of one second and one period share. gapless.go has numbers
// without gaps.
package number
