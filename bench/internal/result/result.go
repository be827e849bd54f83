package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// File is what a suite writes: the cells of its tables, as measured.
type File struct {
	Meta Meta
	Rows []*Row
}

// Row is one cell of a table. Element i of Values is from round i.
type Row struct {
	Table, Name, Column string
	Unit                string // ns, M/s, B, s, or nothing for a plain number
	Values              []float64
	Err                 string `json:",omitempty"`
}

// Suites returns the suites' names in the order of the report. A name is also the file's, before
// ".json".
func Suites() []string {
	return []string{"throughput", "anchors", "processors", "latency", "tuning", "costs", "keys"}
}

// Get returns the cell; one without values if there is none.
func (f *File) Get(table, name, column string) *Row {
	for _, r := range f.Rows {
		if r.Table == table && r.Name == name && r.Column == column {
			return r
		}
	}
	return &Row{Table: table, Name: name, Column: column}
}

// Add adds a value, or the error in its place, to a cell. After an error a cell takes no values.
func (f *File) Add(table, name, column, unit string, v float64, err error) {
	r := f.Get(table, name, column)
	if r.Unit == "" && r.Values == nil && r.Err == "" {
		r.Unit = unit
		f.Rows = append(f.Rows, r)
	}
	switch {
	case err != nil:
		r.Values, r.Err = nil, err.Error()
	case r.Err == "":
		r.Values = append(r.Values, v)
	}
}

// Save writes f to dir, a line for each cell.
func (f *File) Save(dir string) error {
	meta, err := json.MarshalIndent(f.Meta, "", "\t")
	rows, more := json.Marshal(f.Rows)
	if err := errors.Join(err, more); err != nil {
		return fmt.Errorf("result: %s: %w", f.Meta.Suite, err)
	}
	rows = bytes.ReplaceAll(rows, []byte(`{"Table":`), []byte("\n{\"Table\":"))
	text := fmt.Appendf(nil, "{\"Meta\": %s,\n\"Rows\": %s}\n", meta, rows)
	return os.WriteFile(filepath.Join(dir, f.Meta.Suite+".json"), text, 0o644)
}

// Load reads the file of a suite from dir. A file that is not there is empty.
func Load(dir, suite string) (*File, error) {
	f := &File{}
	b, err := os.ReadFile(filepath.Join(dir, suite+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err == nil {
		err = json.Unmarshal(b, f)
	}
	if err != nil {
		return nil, fmt.Errorf("result: %s: %w", suite, err)
	}
	return f, nil
}
