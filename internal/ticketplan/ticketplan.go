// Package ticketplan is the row by which the table of a ticket server says how the server counts.
// The command writes it when it adds servers to a set, and every program reads it.
package ticketplan

import "fmt"

// Mark is the prefix of the stub of a plan's row. No tag may have it.
const Mark = "uid-ticket-plan"

// Gap is how far above the highest id a plan starts: more than the servers hand out while the plan
// is announced.
const Gap = 1_000_000

// Plan says how a server counts from the id Start on. It is stored as a row of the server's ticket
// table, so that it survives restarts. If there are several such rows, the newest counts. The zero
// value is no plan. A plan that starts at 0 says how the server has counted from the beginning; its
// row has the id 0.
//
// Until the plan is carried out, the id of its row lies below Start. Writing the row again moves
// the counter, and from then on the row's id is Start or more. The row must stay: InnoDB before
// MySQL 8.0 and MariaDB 10.2.4 counts on from the highest row after a restart.
type Plan struct{ Step, Offset, Start int64 }

// String returns the stub of the plan's row.
func (p Plan) String() string {
	return fmt.Sprintf("%s %d/%d/%d", Mark, p.Step, p.Offset, p.Start)
}

// Parse is the inverse of String. For an empty stub it returns no plan.
func Parse(stub string) (p Plan, err error) {
	if stub == "" {
		return p, nil
	}
	_, err = fmt.Sscanf(stub, Mark+" %d/%d/%d", &p.Step, &p.Offset, &p.Start)
	if err != nil || p.String() != stub || p.Offset < 1 || p.Offset > p.Step || p.Start < 0 {
		return Plan{}, fmt.Errorf("the row with the stub %q is no plan", stub)
	}
	return p, nil
}

// From returns the end of a SELECT, from FROM on, of the rows of a server's plans. table is quoted.
// The first condition uses the index, and the second one respects case.
func From(table string) string {
	like := " LIKE '" + Mark + " %'"
	return " FROM " + table + " WHERE stub" + like + " AND CAST(stub AS BINARY)" + like
}

// FromNewest is From for the plan that counts. The ORDER BY is an expression, so that MySQL does
// not scan the primary key instead, past the deleted rows that REPLACE left.
func FromNewest(table string) string { return From(table) + " ORDER BY id + 0 DESC LIMIT 1" }
