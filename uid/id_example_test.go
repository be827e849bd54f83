package uid_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/uidring/uidring/uid"
)

func ExampleID() {
	id := uid.ID(1234567890123456789)
	fmt.Println(id, uid.Base32.Text(id), uid.Base62.Text(id))
	// Output:
	// 1234567890123456789 128GGYHYYK08N 1TCKi1nFuNh
}

// In JSON an id is a string, since JavaScript would round the number to 1234567890123456800. A
// number that may have been rounded is refused.
func ExampleID_MarshalJSON() {
	type order struct {
		ID uid.ID `json:"id"`
	}
	data, err := json.Marshal(order{ID: 1234567890123456789})
	fmt.Println(string(data), err)

	var o order
	err = json.Unmarshal(data, &o)
	fmt.Println(o.ID, err)
	err = json.Unmarshal([]byte(`{"id": 1234567890123456800}`), &o)
	fmt.Println(errors.Is(err, uid.ErrBadID))
	err = json.Unmarshal([]byte(`{"id": 1.5}`), &o)
	fmt.Println(err)
	// Output:
	// {"id":"1234567890123456789"} <nil>
	// 1234567890123456789 <nil>
	// true
	// uid: bad id: decimal text "1.5" has '.' at index 1, want a digit
}

func ExampleParseID() {
	fmt.Println(uid.ParseID("1234567890123456789"))
	fmt.Println(uid.ParseID("9223372036854775808"))
	// Output:
	// 1234567890123456789 <nil>
	// 0 uid: bad id: decimal text "9223372036854775808" is above 9223372036854775807
}

// Base32 as a person typed it: lower case, the letters l and o for 1 and 0.
func ExampleEncoding_Parse() {
	fmt.Println(uid.Base32.Parse("l28ggyhyyko8n"))
	fmt.Println(uid.Base62.Parse("1TCKi1nFuNh"))
	// Output:
	// 1234567890123456789 <nil>
	// 1234567890123456789 <nil>
}
