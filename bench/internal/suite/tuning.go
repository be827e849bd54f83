package suite

import (
	"fmt"

	"github.com/uidring/uidring/uid"
)

// setting is a row of the table of run lengths.
type setting struct {
	name    string
	options uid.Options
}

// settings returns the rows: the default of one lane is the last of its five, of many the third.
func settings() []setting {
	var out []setting
	for _, lanes := range []int{1, uid.AutoLanes} {
		name, standard := "one lane", 2048
		if lanes != 1 {
			name, standard = "many lanes", 512
		}
		for _, run := range []int{1, 64, 256, 512, 2048} {
			text := fmt.Sprintf("%s, RunLength %d", name, run)
			if run == standard {
				text += ", the default"
			}
			out = append(out, setting{text, uid.Options{Lanes: lanes, RunLength: run}})
		}
	}
	return out
}
