package typed_test

import (
	"encoding/json"
	"fmt"

	"github.com/uidring/uidring/uid/opaque"
	"github.com/uidring/uidring/uid/typed"
)

// An order's id, by the type that only names it.
type (
	orderKind struct{}
	OrderID   = typed.ID[orderKind]
)

func (orderKind) Prefix() string { return "ord" }

func Example() {
	type order struct {
		ID OrderID `json:"id"`
	}
	data, err := json.Marshal(order{ID: 1928176352140176})
	fmt.Println(string(data), err)

	_, err = typed.Parse[orderKind]("usr_01kmfjypewdwg")
	fmt.Println(err)
	// Output:
	// {"id":"ord_001psna58h6wg"} <nil>
	// typed: uid: bad id: "usr_01kmfjypewdwg" has the prefix "usr", want "ord"
}

type customerKind struct{}

func (customerKind) Prefix() string { return "cus" }

func (customerKind) Codec() *opaque.Codec {
	c, _ := opaque.New("customer", opaque.Key{Version: 1, Secret: []byte("a secret of 32 random bytes here")})
	return c // a program makes it once
}

func ExampleShown() {
	id := typed.ID[customerKind](1)
	shown := typed.Shown[customerKind](id)
	fmt.Println(id, shown)
	back, err := typed.ParseShown[customerKind](shown.String())
	fmt.Println(typed.ID[customerKind](back), err)
	// Output:
	// cus_0000000000001 cus_dq50y5tr9jghp
	// cus_0000000000001 <nil>
}
